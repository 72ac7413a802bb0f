"""What goes wrong with the values of a batch, and how it is said."""

import torch
from torch import Tensor

__all__ = ["raise_for_lengths", "raise_for_status", "raise_for_weights"]


def raise_for_lengths(lengths: Tensor, longest: int, batch_shape: tuple[int, ...]) -> None:
    """Raises ValueError naming the first length outside ``1..longest``."""
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
        *index, head, dependent = found[0].tolist()
        where = f" at batch item ({', '.join(map(str, index))}{',' * (len(index) == 1)})"
        raise ValueError(
            f"{name} must hold finite numbers >= 0 on every edge, found "
            f"{float(weights[tuple(found[0])])}{where if index else ''}, edge {head} -> {dependent}"
        )


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
    children = edges[0].nonzero().flatten().tolist()
    child, lost = min(
        ((c, _not_reached(below, start=c)) for c in children), key=lambda x: len(x[1])
    )
    return (
        f"no spanning tree with a single root edge exists{place}{more}: no child of the root "
        f"reaches all nodes; the best, {child}, does not reach {lost}"
    )


def _not_reached(edges: Tensor, start: int) -> list[int]:
    reached = torch.zeros(len(edges), dtype=torch.bool)
    reached[start] = True
    for _ in range(len(edges)):
        reached = reached | edges[reached].any(dim=0)
    return (~reached[1:]).nonzero().flatten().add(1).tolist()
