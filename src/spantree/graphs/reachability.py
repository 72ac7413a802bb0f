"""Which nodes can be reached from which, and what that means for trees. O(n²) each."""

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from spantree.graphs.problems import GraphError, listed

__all__ = ["mothers", "reached_from", "require_tree"]

Mask = NDArray[np.bool_]


def reached_from(start: int, edges: Mask, seen: Mask | None = None) -> Mask:
    """Which nodes ``(n,)`` paths from ``start`` lead to, through nodes not ``seen`` before.

    Args:
        start: the node to begin with; counts as reached.
        edges: ``(n, n)``, ``[head, dependent]``.
        seen: ``(n,)``, which nodes not to enter.
    """
    reached = np.zeros(len(edges), dtype=bool) if seen is None else seen.copy()
    before = reached.copy()
    frontier = np.array([start])
    reached[start] = True
    while len(frontier):
        found = edges[frontier].any(axis=0) & ~reached
        reached |= found
        frontier = found.nonzero()[0]
    return reached & ~before


def mothers(edges: Mask) -> Mask:
    """Which nodes ``(n,)`` reach all others.

    If any node does, so does the one that the last of a series of searches, each through the nodes
    left over by those before, begins with; and then all nodes that reach that one.
    """
    last = _last_start(edges)
    if not reached_from(last, edges).all():
        return np.zeros(len(edges), dtype=bool)
    return reached_from(last, edges.T)


def require_tree(log_weights: Tensor, names: Sequence[Hashable], *, single_root: bool) -> None:
    """Raises GraphError, with the names of what is amiss, unless the graph has a tree.

    NaN counts as an edge; that is for others to report.
    """
    edges = ~np.isneginf(log_weights.detach().cpu().numpy())
    np.fill_diagonal(edges, False)
    edges[:, 0] = False
    lost = (~reached_from(0, edges)).nonzero()[0].tolist()
    if len(lost):
        raise GraphError(
            f"no spanning tree exists: {len(lost)} of {len(names) - 1} nodes cannot be reached "
            f"from the root {names[0]!r}: {listed(names[i] for i in lost)}"
        )
    if not single_root:
        return
    # If any node reaches all others without the root, so does the child of the root above it.
    below = edges[1:, 1:]
    start = _last_start(below)
    lost = (~reached_from(start, below)).nonzero()[0].tolist()
    if not lost:
        return
    raise GraphError(
        f"no spanning tree with a single edge from the root {names[0]!r} exists: "
        f"without the root no node reaches all others; {names[start + 1]!r}, for one, does not "
        f"reach {listed(names[i + 1] for i in lost)}",
        "allow several with root='multi'",
        "leave out --single-root to allow several",
    )


def _last_start(edges: Mask) -> int:
    """A node that reaches all others, if any node does."""
    seen, start = np.zeros(len(edges), dtype=bool), 0
    for node in range(len(edges)):
        if not seen[node]:
            seen |= reached_from(node, edges, seen)
            start = node
    return start
