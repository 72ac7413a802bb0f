"""Chooses who computes: the C++ kernel on the CPU, its twin in torch operations elsewhere."""

import torch
from torch import Tensor

from spantree.kernels import elimination, native

__all__ = ["evaluate"]

# The dispatch keys included and excluded in a thread that does nothing unusual.
_DIFFERENTIATING = (
    torch._C._dispatch_tls_local_include_set(),
    torch._C._dispatch_tls_local_exclude_set(),
)


def evaluate(
    log_weights: Tensor,
    lengths: Tensor | None,
    directions: tuple[Tensor, ...] = (),
    *,
    single_root: bool,
    backend: str,
    with_jet: bool = True,
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Log Z, the jet of order ``len(directions)`` and the status of ``(B, n, n)`` graphs.

    Args:
        log_weights: ``(B, n, n)``, float32 or float64.
        lengths: ``(B,)`` in ``1..n-1``, or None if all are ``n - 1``.
        directions: each ``(K, B, n, n)``.
        single_root: whether exactly one edge leaves the root.
        backend: ``"auto"``, ``"native"`` or ``"torch"``.
        with_jet: if not, the jet may come back empty.

    Returns:
        log Z ``(B,)``, the jet ``(B, n, n)`` or ``(K, B, n, n)``, and the status ``(B,)`` of the
        items, or None if all are fine.
    """
    on_cpu = log_weights.device.type == "cpu"
    if on_cpu and backend != "torch" and len(directions) <= native.MAX_ORDER:
        return native.run(
            log_weights, lengths, directions, single_root=single_root, with_jet=with_jet
        )
    return _by_twin(log_weights, lengths, directions, single_root=single_root)


def _by_twin(
    log_weights: Tensor,
    lengths: Tensor | None,
    directions: tuple[Tensor, ...],
    *,
    single_root: bool,
) -> tuple[Tensor, Tensor, Tensor | None]:
    count, n = log_weights.shape[0], log_weights.shape[-1]
    if lengths is None:
        lengths = torch.full((count,), n - 1, device=log_weights.device)
    lengths = lengths.to(torch.int64)
    scores = log_weights.detach().double()
    unreadable = scores.isnan() | (scores == torch.inf)
    wrong = (unreadable & elimination.possible_pairs(lengths, n)).any(-1).any(-1)
    # Any graph with a tree will do in the place of one that cannot be read.
    scores = scores.masked_fill(wrong[:, None, None], 0.0)
    found = elimination.eliminate(scores, lengths, single_root=single_root)
    log_partition, jet, dead = found.log_partition, found.marginals, found.infeasible
    if directions:
        jet = _twin_jet(scores, lengths, directions, single_root)
    if not found.trusted.all() and len(directions) <= native.MAX_ORDER:
        log_partition, jet, dead = _with_wide_numbers(
            scores, lengths, directions, (log_partition, jet, dead), found.trusted, single_root
        )
    log_partition = log_partition.masked_fill(wrong, torch.nan).to(log_weights.dtype)
    jet = jet.masked_fill(wrong[:, None, None], torch.nan).to(log_weights.dtype)
    status = dead.to(torch.int8) * native.NO_TREE + wrong.to(torch.int8) * native.NOT_A_NUMBER
    return log_partition, jet, status if status.any() else None


def _twin_jet(
    scores: Tensor, lengths: Tensor, directions: tuple[Tensor, ...], single_root: bool
) -> Tensor:
    """J_k ``(K, B, n, n)``: several directions are several copies of the graphs."""
    copies, count = directions[0].shape[:2]
    # Within an operator of a compiled graph torch is told not to differentiate; here it must.
    with torch._C._ForceDispatchKeyGuard(*_DIFFERENTIATING), torch.inference_mode(False):
        jet = elimination.jet(
            scores.repeat(copies, 1, 1),
            tuple(u.detach().double().flatten(0, 1).clone() for u in directions),
            lengths.repeat(copies),
            single_root=single_root,
        )
    return jet.unflatten(0, (copies, count))


def _with_wide_numbers(
    scores: Tensor,
    lengths: Tensor,
    directions: tuple[Tensor, ...],
    found: tuple[Tensor, Tensor, Tensor],
    trusted: Tensor,
    single_root: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """Replaces what doubles cannot hold by what the C++ kernel says of these items."""
    items = (~trusted).nonzero().flatten()
    log_partition, jet, status = native.run(
        scores[items].cpu(),
        lengths[items].cpu(),
        tuple(u[:, items].double().cpu() for u in directions),
        single_root=single_root,
    )
    device = scores.device
    dead = torch.zeros(len(items), dtype=torch.bool) if status is None else status == native.NO_TREE
    batch_axis = 1 if directions else 0
    return (
        found[0].index_copy(0, items, log_partition.to(device)),
        found[1].index_copy(batch_axis, items, jet.to(device)),
        found[2].index_copy(0, items, dead.to(device)),
    )
