"""The door to the C++ kernel: tensors in, tensors out."""

import torch
from torch import Tensor

from spantree.kernels import _native
from spantree.kernels.memory import laid_out, laid_out_lengths

__all__ = ["MAX_ORDER", "NOT_A_NUMBER", "NO_TREE", "run"]

MAX_ORDER: int = _native.MAX_ORDER
NO_TREE: int = _native.NO_TREE
NOT_A_NUMBER: int = _native.NOT_A_NUMBER

# Graphs so short are solved side by side only, and so few of them leave most lanes idle.
FEW, SHORT = 2, 24


def run(
    log_weights: Tensor,
    lengths: Tensor | None,
    directions: tuple[Tensor, ...] = (),
    *,
    single_root: bool,
    with_jet: bool = True,
    always_wide: bool = False,
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Log Z and the jet of order ``len(directions)`` of a batch of graphs.

    Args:
        log_weights: ``(B, n, n)``, float32 or float64, on the CPU.
        lengths: ``(B,)``, or None if all are ``n - 1``.
        directions: at most ``MAX_ORDER`` tensors ``(K, B, n, n)`` of the same dtype.
        single_root: whether exactly one edge leaves the root.
        with_jet: whether the jet is wanted; log Z alone costs a quarter.
        always_wide: compute everything with exponents of their own (a check of that path).

    Returns:
        log Z ``(B,)``; the jet, ``(B, n, n)`` without directions and ``(K, B, n, n)`` with; and
        None, or if some item is not fine the status of each ``(B,)``: 0, ``NO_TREE``, or
        ``NOT_A_NUMBER`` for NaN or +inf on an edge.
    """
    count, n = log_weights.shape[0], log_weights.shape[-1]
    if directions and len(directions[0]) > 1 and count <= FEW and n <= SHORT and not always_wide:
        return _side_by_side(log_weights, lengths, directions, single_root=single_root)
    order = len(directions) if with_jet else -1
    log_weights, lengths = laid_out(log_weights), laid_out_lengths(lengths)
    directions = tuple(laid_out(u) for u in directions)
    log_partition = log_weights.new_empty(count)
    shape = directions[0].shape if directions else log_weights.shape
    jet = log_weights.new_empty(shape if with_jet else 0)
    status = torch.zeros(count, dtype=torch.int8)
    all_fine = _native.run(
        log_weights.data_ptr(),
        lengths.data_ptr() if lengths is not None else 0,
        [u.data_ptr() for u in directions],
        log_partition.data_ptr(),
        jet.data_ptr() if with_jet else 0,
        status.data_ptr(),
        0,
        0,
        count,
        n,
        directions[0].shape[0] if directions else 1,
        log_weights.element_size(),
        order,
        single_root,
        always_wide,
        torch.get_num_threads(),
    )
    return log_partition, jet, None if all_fine else status


def _side_by_side(
    log_weights: Tensor,
    lengths: Tensor | None,
    directions: tuple[Tensor, ...],
    *,
    single_root: bool,
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Several directions as one direction each of several copies; the same bits."""
    copies, count = directions[0].shape[:2]
    log_partition, jet, status = run(
        log_weights.repeat(copies, 1, 1),
        None if lengths is None else lengths.repeat(copies),
        tuple(u.flatten(0, 1)[None] for u in directions),
        single_root=single_root,
    )
    status = None if status is None else status[:count]
    return log_partition[:count], jet.reshape(directions[0].shape), status
