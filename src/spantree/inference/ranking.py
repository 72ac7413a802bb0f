"""The best trees of a batch in order: where checks, the decoder and errors meet.

The kernel works on the CPU; tensors of other devices are copied there and back. `torch.compile` and
`torch.func` cannot look into it and see an operator in its place. Trees are no smooth function of
the weights; what can be differentiated is their score, see `decoding`.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from spantree.errors import raise_for_status
from spantree.inference.question import Question, require_lengths
from spantree.inference.transforms import is_traced, is_transformed
from spantree.kernels import decoding, native

__all__ = ["Trees", "rank_trees"]


class Trees(NamedTuple):
    """Trees and their scores.

    Attributes:
        heads: ``(*sample, *batch, n)``.
        labels: the same shape, or None for graphs without labels.
        scores: ``(*sample, *batch)`` float64.
    """

    heads: Tensor
    labels: Tensor | None
    scores: Tensor


def rank_trees(
    log_weights: Tensor,
    lengths: Tensor | None,
    count: int,
    question: Question,
    *,
    with_scores: bool = True,
) -> Trees:
    """The ``count`` best trees of graphs ``(*batch, n, n)``, or ``(*batch, n, n, Y)`` with labels.

    -1 and -inf stand where there are not so many. Scores are rounded once, and are constants; if
    not asked for they may come back empty.
    """
    edge = log_weights.shape[len(question.batch_shape) :]
    items = torch.Size(question.batch_shape).numel()
    flat = log_weights.detach().reshape(items, *edge)
    flat_lengths = None if lengths is None else lengths.reshape(items)
    find = _operator if is_traced() or is_transformed() else _decode
    heads, labels, scores = find(
        flat,
        flat_lengths,
        count,
        with_scores,
        question.single_root,
        question.validate,
        question.batch_shape,
    )
    shape = (count, *question.batch_shape)
    return Trees(
        heads.reshape(*shape, edge[0]),
        labels.reshape(*shape, edge[0]) if len(edge) == 3 else None,
        scores.reshape(scores.shape[0], *question.batch_shape),
    )


def _decode(
    log_weights: Tensor,
    lengths: Tensor | None,
    count: int,
    with_scores: bool,
    single_root: bool,
    validate: bool,
    batch_shape: tuple[int, ...],
) -> tuple[Tensor, Tensor, Tensor]:
    """Heads and labels ``(count, B, n)``, the latter empty without labels, and scores."""
    device, n = log_weights.device, log_weights.shape[1]
    require_lengths(lengths, n - 1, batch_shape)
    log_weights = log_weights.cpu()
    if log_weights.dtype not in (torch.float32, torch.float64):
        log_weights = log_weights.float()
    lengths = None if lengths is None else lengths.cpu()
    labeled = log_weights.dim() == 4
    plain = log_weights.amax(-1) if labeled else log_weights
    heads, scores, status = decoding.best_trees(
        plain, lengths, count, single_root=single_root, with_scores=with_scores
    )
    if validate and status is not None:
        raise_for_status(status, plain, lengths, batch_shape, single_root=single_root)
    labels = torch.empty(0, dtype=torch.int64)
    if labeled:
        heads, labels, scores = decoding.label_trees(log_weights, lengths, heads)
    if status is not None:
        scores = scores.masked_fill(status == native.NOT_A_NUMBER, torch.nan)
    return heads.to(device), labels.to(device), scores.to(device)


@torch.library.custom_op("spantree::rank_trees", mutates_args=())
def _operator(
    log_weights: Tensor,
    lengths: Tensor | None,
    count: int,
    with_scores: bool,
    single_root: bool,
    validate: bool,
    batch_shape: list[int],
) -> tuple[Tensor, Tensor, Tensor]:
    return _decode(
        log_weights, lengths, count, with_scores, single_root, validate, tuple(batch_shape)
    )


@_operator.register_fake
def _(
    log_weights: Tensor, lengths: Tensor | None, count: int, with_scores: bool, *_: Any
) -> tuple[Tensor, Tensor, Tensor]:
    items, n = log_weights.shape[:2]
    heads = log_weights.new_empty(count, items, n, dtype=torch.int64)
    labels = torch.empty_like(heads) if log_weights.dim() == 4 else heads.new_empty(0)
    scored = count if with_scores or log_weights.dim() == 4 else 0
    return heads, labels, log_weights.new_empty(scored, items, dtype=torch.float64)


@_operator.register_vmap
def _(
    info: Any,
    in_dims: tuple[int | None, ...],
    log_weights: Tensor,
    lengths: Tensor | None,
    count: int,
    with_scores: bool,
    single_root: bool,
    validate: bool,
    batch_shape: list[int],
) -> tuple[tuple[Tensor, Tensor, Tensor], tuple[int, int, int]]:
    """One more axis of graphs."""
    size = info.batch_size

    def spread(tensor: Tensor, axis: int | None) -> Tensor:
        moved = tensor[None] if axis is None else tensor.movedim(axis, 0)
        return moved.expand(size, *moved.shape[1:]).flatten(0, 1)

    heads, labels, scores = _operator(
        spread(log_weights, in_dims[0]),
        None if lengths is None else spread(lengths, in_dims[1]),
        count,
        with_scores,
        single_root,
        validate,
        [size, *batch_shape],
    )
    labels = labels.unflatten(1, (size, -1)) if labels.dim() == 3 else labels.expand(1, size, 0)
    return (heads.unflatten(1, (size, -1)), labels, scores.unflatten(1, (size, -1))), (1, 1, 1)
