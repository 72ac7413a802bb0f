"""The door to the C++ decoder: tensors in, tensors out."""

import torch
from torch import Tensor

from spantree.kernels import _native
from spantree.kernels.memory import laid_out, laid_out_lengths

__all__ = ["best_trees", "label_trees"]


def best_trees(
    log_weights: Tensor,
    lengths: Tensor | None,
    count: int,
    *,
    single_root: bool,
    with_scores: bool = True,
) -> tuple[Tensor, Tensor, Tensor | None]:
    """The best trees of a batch of graphs, in order.

    Args:
        log_weights: ``(B, n, n)``, float32 or float64, on the CPU.
        lengths: ``(B,)`` in ``1..n-1``, or None if all are ``n - 1``.
        count: how many trees of each graph.
        single_root: whether exactly one edge leaves the root.
        with_scores: if not, the scores come back empty.

    Returns:
        Heads ``(count, B, n)``, -1 for the root, for padding and where there is no further tree;
        float64 scores ``(count, B)``, rounded once from the exact sum, -inf where there is no tree;
        and None, or if some item is not fine the status of each ``(B,)``, as `native.run` has it.
    """
    items, n = log_weights.shape[0], log_weights.shape[-1]
    log_weights, lengths = laid_out(log_weights), laid_out_lengths(lengths)
    heads = torch.empty(count, items, n, dtype=torch.int64)
    scores = torch.empty(count if with_scores else 0, items, dtype=torch.float64)
    status = torch.zeros(items, dtype=torch.int8)
    all_fine = _native.decode(
        log_weights.data_ptr(),
        lengths.data_ptr() if lengths is not None else 0,
        heads.data_ptr(),
        scores.data_ptr() if with_scores else 0,
        status.data_ptr(),
        items,
        n,
        count,
        log_weights.element_size(),
        single_root,
        torch.get_num_threads(),
    )
    return heads, scores, None if all_fine else status


def label_trees(
    log_weights: Tensor, lengths: Tensor | None, trees: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """The best labelled trees, in order, out of as many best trees.

    Args:
        log_weights: ``(B, n, n, Y)``, float32 or float64, on the CPU.
        lengths: ``(B,)`` in ``1..n-1``, or None if all are ``n - 1``.
        trees: ``(count, B, n)``, by `best_trees` for the best label of every edge.

    Returns:
        Heads and labels ``(count, B, n)`` and float64 scores ``(count, B)``, as `best_trees` has.
    """
    items, n, _, kinds = log_weights.shape
    log_weights, trees = laid_out(log_weights), laid_out(trees)
    lengths = laid_out_lengths(lengths)
    heads, labels = torch.empty_like(trees), torch.empty_like(trees)
    scores = torch.empty(trees.shape[:2], dtype=torch.float64)
    _native.label(
        log_weights.data_ptr(),
        lengths.data_ptr() if lengths is not None else 0,
        trees.data_ptr(),
        heads.data_ptr(),
        labels.data_ptr(),
        scores.data_ptr(),
        trees.shape[0],
        items,
        n,
        kinds,
        log_weights.element_size(),
        torch.get_num_threads(),
    )
    return heads, labels, scores
