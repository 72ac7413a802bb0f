"""From a list of edges to a graph: the one place that judges edges, whatever they came from."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray

from spantree.graphs.named import Ignored, NamedGraph
from spantree.graphs.problems import GraphError
from spantree.graphs.roots import choose_root
from spantree.graphs.sizes import check_size

__all__ = ["EdgeList", "Merge", "assemble", "check_merge", "encode"]

Merge = Literal["sum", "max"]
Where = Callable[[int], str]


@dataclass
class EdgeList:
    """Edges by the numbers of their nodes.

    Attributes:
        sources: ``(E,)`` integers into ``names``.
        targets: the same.
        log_weights: ``(E,)`` float64, with -inf for weight 0; neither NaN nor +inf.
        names: of all nodes, also of those without an edge.
        where: tells the place of the i-th edge in its source, such as ``line 3``.
    """

    sources: NDArray[np.int64]
    targets: NDArray[np.int64]
    log_weights: NDArray[np.float64]
    names: Sequence[Hashable]
    where: Where

    def edge(self, i: int) -> str:
        """The i-th edge, for messages."""
        return f"{self.names[self.sources[i]]!r} -> {self.names[self.targets[i]]!r}"

    def keep(self, kept: NDArray[np.bool_]) -> None:
        """Drops the other edges."""
        rows, where = kept.nonzero()[0], self.where
        self.sources, self.targets = self.sources[kept], self.targets[kept]
        self.log_weights = self.log_weights[kept]
        self.where = lambda i: where(int(rows[i]))


def encode(
    sources: Iterable[Hashable], targets: Iterable[Hashable], where: Where
) -> tuple[NDArray[np.int64], NDArray[np.int64], list[Hashable]]:
    """Numbers for names, in the order in which they first appear: sources, then targets."""
    codes: dict[Hashable, int] = {}
    columns = []
    for what, column in (("source", sources), ("target", targets)):
        column = column if isinstance(column, list) else list(column)
        try:
            numbers = [codes.setdefault(name, len(codes)) for name in column]
        except TypeError:
            row = next(i for i, name in enumerate(column) if not _is_hashable(name))
            raise GraphError(
                f"{where(row)}: the {what} must be a name that can be hashed, "
                f"got {type(column[row]).__name__}"
            ) from None
        columns.append(np.array(numbers, dtype=np.int64))
        missing = next((name for name in codes if _is_missing(name)), codes)
        if missing is not codes:
            row = next(i for i, name in enumerate(column) if _is_missing(name))
            raise GraphError(f"{where(row)}: the {what} is missing")
    return columns[0], columns[1], list(codes)


def assemble(edges: EdgeList, *, root: Any, undirected: bool, merge: Merge | None) -> NamedGraph:
    """The graph with these edges; O(n² + E log E).

    Self-loops are left out and counted, as no tree has one; so are edges into the root, and edges
    of weight 0 once duplicates are dealt with.

    Raises:
        GraphError: for duplicate edges, unless ``merge`` says how to deal with them; for a root
            that is not there, or not clear; for a graph that is too large.
    """
    check_merge(merge)
    loops = edges.sources == edges.targets
    edges.keep(~loops)
    _merge_duplicates(edges, undirected, merge)
    empty = np.isneginf(edges.log_weights)
    edges.keep(~empty)
    n = len(edges.names)
    check_size(n)
    if n < 2:
        raise GraphError(f"a graph must have a root and another node, got {n} node(s)")
    top = choose_root(edges.names, edges.sources, edges.targets, root, undirected=undirected)
    order = np.arange(n)
    order[: top + 1] = np.roll(order[: top + 1], 1)
    place = np.empty(n, dtype=np.int64)
    place[order] = np.arange(n)
    heads, dependents = place[edges.sources], place[edges.targets]
    matrix = np.full((n, n), -np.inf)
    matrix[heads, dependents] = edges.log_weights
    if undirected:
        matrix[dependents, heads] = edges.log_weights
    matrix[:, 0] = -np.inf
    into_root = 0 if undirected else int((dependents == 0).sum())
    ignored = Ignored(int(loops.sum()), into_root, int(empty.sum()))
    names = tuple(edges.names[i] for i in order.tolist())
    return NamedGraph(torch.from_numpy(matrix), names, undirected, ignored)


def check_merge(merge: Merge | None) -> None:
    """Raises unless this is a way to deal with duplicate edges."""
    if merge is not None and merge not in get_args(Merge):
        raise ValueError(f"merge must be None, 'sum' or 'max', got {merge!r}")


def _merge_duplicates(edges: EdgeList, undirected: bool, merge: Merge | None) -> None:
    """Leaves one edge of several between the same nodes, in the place of the first."""
    low, high = edges.sources, edges.targets
    if undirected:
        low, high = np.minimum(low, high), np.maximum(low, high)
    keys = low * len(edges.names) + high
    order = np.argsort(keys, kind="stable")
    new = np.ones(len(keys), dtype=bool)
    new[1:] = keys[order][1:] != keys[order][:-1]
    if new.all():
        return
    group = np.cumsum(new) - 1
    firsts = order[new]
    if merge is None:
        repeat = int(order[~new].min())
        first = int(firsts[group[(order == repeat).nonzero()[0][0]]])
        kind = "undirected " if undirected else ""
        raise GraphError(
            f"{edges.where(repeat)}: the {kind}edge {edges.edge(repeat)} repeats that of "
            f"{edges.where(first)}",
            "merge duplicate edges with merge='sum' or merge='max'",
            "merge duplicate edges with --merge sum or --merge max",
        )
    merged = edges.log_weights[firsts]
    gather = np.logaddexp if merge == "sum" else np.maximum
    gather.at(merged, group[~new], edges.log_weights[order[~new]])
    edges.log_weights[firsts] = merged
    kept = np.zeros(len(keys), dtype=bool)
    kept[firsts] = True
    edges.keep(kept)


def _is_missing(name: Hashable) -> bool:
    # Not a number is not equal to itself; that of pandas, NA, does not even say so.
    return name is None or type(name).__name__ == "NAType" or name != name


def _is_hashable(name: Any) -> bool:
    try:
        hash(name)
    except TypeError:
        return False
    return True
