"""What goes wrong with the values of a batch, and how it is said."""

from collections.abc import Iterator

import torch
from torch import Tensor

__all__ = [
    "raise_for_heads",
    "raise_for_labels",
    "raise_for_lengths",
    "raise_for_status",
    "raise_for_weights",
]


def raise_for_lengths(lengths: Tensor, longest: int, batch_shape: tuple[int, ...]) -> None:
    """Raises ValueError naming the first length outside ``1..longest``."""
    lengths = lengths.to(torch.int64)  # whose range holds `longest`, and which torch can compare
    wrong = ((lengths < 1) | (lengths > longest)).nonzero()
    if len(wrong):
        item = int(wrong[0, 0])
        raise ValueError(
            f"lengths must lie in 1..{longest}, got {int(lengths[item])}{_where(item, batch_shape)}"
        )


def raise_for_status(
    status: Tensor,
    log_weights: Tensor,
    lengths: Tensor | None,
    batch_shape: tuple[int, ...],
    *,
    single_root: bool,
) -> None:
    """Raises ValueError for the first item of ``(B, n, n)`` log-weights that is not fine."""
    wrong = status.nonzero()
    if not len(wrong):
        return
    item = int(wrong[0, 0])
    length = log_weights.shape[-1] - 1 if lengths is None else int(lengths[item])
    scores = log_weights[item, : length + 1, : length + 1].detach().cpu()
    where = _where(item, batch_shape)
    edge = _first_non_number(scores)
    if edge is not None:
        head, dependent = edge
        raise ValueError(
            "log_weights must not hold NaN or +inf on an edge, found "
            f"{float(scores[head, dependent])}{where}, edge {head} -> {dependent}"
        )
    more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
    raise ValueError(_no_tree(scores > -torch.inf, where.removeprefix(" at"), more, single_root))


def raise_for_weights(name: str, weights: Tensor, wrong: Tensor) -> None:
    """Raises ValueError for the first of ``(*batch, n, n)`` weights that is wrong."""
    found = wrong.nonzero()
    if len(found):
        *_, head, dependent = index = tuple(found[0].tolist())
        item = int(wrong.flatten(-2).any(-1).flatten().nonzero()[0])
        raise ValueError(
            f"{name} must hold finite numbers >= 0 on every edge, found {float(weights[index])}"
            f"{_where(item, tuple(wrong.shape[:-2]))}, edge {head} -> {dependent}"
        )


def raise_for_heads(
    fine: Tensor, heads: Tensor, labels: Tensor | None, present: Tensor, *, single_root: bool
) -> None:
    """Raises ValueError saying why the first of some trees that are not fine is no tree.

    Args:
        fine: ``(*sample, *batch)``, which are.
        heads: ``(*sample, *batch, n)``, with -1 where unknown in partial trees or padding.
        labels: like ``heads``, or None.
        present: ``(*batch, n, n)``, which edges there are, or ``(*batch, n, n, Y)``.
        single_root: whether exactly one edge may leave the root.
    """
    wrong = (~fine).flatten().nonzero()
    if not len(wrong):
        return
    first = int(wrong[0, 0])
    n = heads.shape[-1]
    axes = 2 if labels is None else 3
    edges = present.expand(*fine.shape, *present.shape[-axes:]).reshape(-1, *present.shape[-axes:])
    tree = heads.reshape(-1, n)[first].tolist()
    labeling = None if labels is None else labels.reshape(-1, n)[first].tolist()
    problem = _not_a_tree(tree, labeling, edges[first].cpu(), single_root)
    raise ValueError(
        f"heads must be spanning trees of the graphs they are asked about: "
        f"{problem}{_where(first, tuple(fine.shape)).replace('batch item', 'index')}"
    )


def raise_for_labels(labels: Tensor, count: int) -> None:
    """Raises ValueError for the first of ``(*sample, *batch, n)`` labels outside -1..count-1."""
    found = ((labels < -1) | (labels >= count)).nonzero()
    if len(found):
        *index, node = found[0].tolist()
        where = f" at index {tuple(index)}" if index else ""
        raise ValueError(
            f"labels must lie in 0..{count - 1}, or be -1 where unknown: node {node} has label "
            f"{int(labels[(*index, node)])}{where}"
        )


def _not_a_tree(
    heads: list[int], labels: list[int] | None, present: Tensor, single_root: bool
) -> str:
    n = len(heads)
    real = [node for node in range(1, n) if bool(present[:, node].any())]
    for node in real:
        if not -1 <= heads[node] < n:
            return f"node {node} has head {heads[node]}, which is no node"
        if heads[node] == node:
            return f"node {node} is its own head"
        if heads[node] >= 0:
            edge = present[heads[node], node]
            if not bool(edge.any()):
                return f"the graph has no edge {heads[node]} -> {node}"
            if labels is not None and not 0 <= labels[node] < len(edge):
                return f"node {node} has label {labels[node]}, not one of 0..{len(edge) - 1}"
            if labels is not None and not bool(edge[labels[node]]):
                return f"the edge {heads[node]} -> {node} has no label {labels[node]}"
    for node in real:
        above, steps = heads[node], 0
        while above > 0 and steps < n:
            above, steps = heads[above], steps + 1
        if above > 0:
            return f"node {node} is in a cycle, or below one"
    children = [node for node in real if heads[node] == 0]
    if single_root and len(children) > 1:
        return f"nodes {children} all hang on the root, and root='single' allows one"
    unknown = [node for node in real if heads[node] < 0]
    return f"nodes {unknown} have no head"


def _where(item: int, batch_shape: tuple[int, ...]) -> str:
    if not batch_shape:
        return ""
    index = [int(i) for i in torch.unravel_index(torch.tensor(item), batch_shape)]
    return f" at batch item ({', '.join(map(str, index))}{',' * (len(index) == 1)})"


def _first_non_number(scores: Tensor) -> tuple[int, int] | None:
    wrong = scores.isnan() | (scores == torch.inf)
    wrong[:, 0] = False
    found = wrong.fill_diagonal_(False).nonzero().tolist()
    return tuple(found[0]) if found else None


def _no_tree(edges: Tensor, where: str, more: str, single_root: bool) -> str:
    """Says why a graph has no tree, given its ``(n, n)`` edges."""
    edges[:, 0] = False
    edges.fill_diagonal_(False)
    place = f" for batch item{where.removeprefix(' batch item')}" if where else ""
    lost = _not_reached(edges, start=0)
    if lost:
        return f"no spanning tree exists{place}{more}: nodes {lost} cannot be reached from the root"
    assert single_root, "a graph whose nodes can all be reached has a tree"
    below = edges.clone()
    below[0] = False
    child, lost = min(_not_reached_by_children(edges[0], below), key=lambda x: len(x[1]))
    return (
        f"no spanning tree with a single root edge exists{place}{more}: no child of the root "
        f"reaches all nodes; the best, {child}, does not reach {lost}"
    )


def _not_reached_by_children(children: Tensor, below: Tensor) -> Iterator[tuple[int, list[int]]]:
    """Children of the root and the nodes that they do not reach."""
    seen: set[int] = set()
    for child in children.nonzero().flatten().tolist():
        if child in seen:
            continue  # what an earlier child reaches reaches no more than that one
        lost = _not_reached(below, start=child)
        seen.update(set(range(1, len(below))) - set(lost))
        yield child, lost


def _not_reached(edges: Tensor, start: int) -> list[int]:
    """The nodes to which no path leads, in O(N²): every node passes on what it reaches once."""
    reached = torch.zeros(len(edges), dtype=torch.bool)
    reached[start] = True
    fresh = reached.clone()
    while bool(fresh.any()):
        fresh = edges[fresh].any(dim=0) & ~reached
        reached |= fresh
    return (~reached[1:]).nonzero().flatten().add(1).tolist()
