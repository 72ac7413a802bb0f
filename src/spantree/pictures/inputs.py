"""What a picture is made of: probabilities of edges, the best tree, the names of the nodes."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from spantree.pictures.lettering import clean

__all__ = ["ROOT_NAME", "Graph", "gather", "heads_of", "marginals_of", "names_of"]

ROOT_NAME = "ROOT"


class Graph(NamedTuple):
    """One graph, checked.

    Attributes:
        marginals: ``(n, n)`` float64, 0 where there can be no edge.
        heads: the head of every node, -1 where unknown.
        names: n names, the root's first.
    """

    marginals: NDArray[np.float64]
    heads: list[int]
    names: list[str]


def gather(marginals: Any, heads: Any, names: Sequence[Any] | None) -> Graph:
    """Checks what a picture is given; all may be tensors, arrays or lists."""
    probabilities = marginals_of(marginals)
    n = len(probabilities)
    known = [-1] * n if heads is None else heads_of(heads)
    if len(known) != n:
        raise ValueError(f"heads must have shape ({n},) like the marginals, got ({len(known)},)")
    return Graph(probabilities, known, names_of(names, n))


def marginals_of(marginals: Any) -> NDArray[np.float64]:
    """The probabilities as an array ``(n, n)``; column 0 and the diagonal are ignored."""
    tensor = torch.as_tensor(marginals).detach().to("cpu", torch.float64)
    shape = tuple(tensor.shape)
    if len(shape) != 2 or shape[0] != shape[1] or shape[0] < 2:
        raise ValueError(f"marginals must have shape (n, n) with n >= 2, got {shape}")
    array = tensor.numpy().copy()
    array[:, 0] = 0.0
    np.fill_diagonal(array, 0.0)
    wrong = np.argwhere(~((array >= 0) & (array <= 1 + 1e-5)))  # a float32 may round up
    if len(wrong):
        head, dependent = wrong[0].tolist()
        raise ValueError(
            "marginals must hold probabilities in 0..1, "
            f"found {array[head, dependent]} at edge {head} -> {dependent}"
        )
    return np.minimum(array, 1.0)


def heads_of(heads: Any) -> list[int]:
    """The heads as a list; -1 for the root."""
    tensor = torch.as_tensor(heads)
    if tensor.dim() != 1 or len(tensor) < 2:
        raise ValueError(f"heads must have shape (n,) with n >= 2, got {tuple(tensor.shape)}")
    if tensor.dtype.is_floating_point or tensor.dtype.is_complex or tensor.dtype == torch.bool:
        raise TypeError(f"heads must hold integers, got dtype {tensor.dtype}")
    known = [-1, *tensor.tolist()[1:]]
    for node, head in enumerate(known):
        if not -1 <= head < len(known) or head == node:
            raise ValueError(
                f"heads must hold other nodes in 0..{len(known) - 1}, or -1 where unknown, "
                f"got {head} for node {node}"
            )
    return known


def names_of(names: Sequence[Any] | None, n: int) -> list[str]:
    """The names of n nodes; those of all but the root will do, and numbers if there are none."""
    if names is None:
        return [ROOT_NAME, *map(str, range(1, n))]
    if isinstance(names, str):
        raise TypeError(f"names must be a sequence of names, got the string {names!r}")
    given = [clean(str(name)) for name in names]
    if len(given) == n - 1:
        return [ROOT_NAME, *given]
    if len(given) != n:
        raise ValueError(
            f"names must hold {n} names, the root's first, or the {n - 1} of the other nodes, "
            f"got {len(given)}"
        )
    return given
