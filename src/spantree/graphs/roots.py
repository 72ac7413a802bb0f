"""Which node is the root."""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spantree.graphs.problems import GraphError, close_matches, listed
from spantree.graphs.reachability import mothers

__all__ = ["choose_root", "find_root"]


def choose_root(
    names: Sequence[Hashable],
    sources: NDArray[np.int64],
    targets: NDArray[np.int64],
    root: Any,
    *,
    undirected: bool,
) -> int:
    """The index of the root.

    With None, the first node of an undirected graph, and of a directed one the only node without
    incoming edges; where that does not decide, GraphError with the candidates.
    """
    if root is not None:
        return find_root(names, root)
    if undirected:
        return 0
    inner = np.zeros(len(names), dtype=bool)
    inner[targets] = True
    tops = (~inner).nonzero()[0].tolist()
    if len(tops) == 1:
        return int(tops[0])
    if len(tops):
        raise GraphError(
            f"the root is not clear: {len(tops)} nodes have no incoming edge, "
            f"{listed(names[i] for i in tops)}",
            "name one with root=..., or add a root node with an edge to each",
            "name one with --root NODE, or add a root node with an edge to each",
        )
    matrix = np.zeros((len(names), len(names)), dtype=bool)
    matrix[sources, targets] = True
    able = mothers(matrix).nonzero()[0].tolist()
    who = f"those that reach all others are {listed(names[i] for i in able)}" if len(able) else (
        "and none reaches all others"
    )  # fmt: skip
    raise GraphError(
        f"the root is not clear: every node has an incoming edge; {who}",
        "name the root with root=...",
        "name the root with --root NODE",
    )


def find_root(names: Sequence[Hashable], root: Any) -> int:
    """The index of the node with this name or, where the name is no text, with this text."""
    by_text = []
    for i, name in enumerate(names):
        if name == root:
            return i
        if isinstance(root, str) and str(name) == root:
            by_text.append(i)
    if len(by_text) == 1:
        return by_text[0]
    raise GraphError(f"no node is called {root!r}; {close_matches(root, names)}")
