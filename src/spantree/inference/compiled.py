"""The jet as operators that `torch.compile` can put into a graph without looking inside.

The rules are those of `autodiff`. An operator has none for forward mode and would drop tangents
without a word, so these are taken off before it and put back behind it.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad

from spantree.inference.question import Question, answer

__all__ = ["higher", "traced_first", "traced_zeroth", "zeroth"]


@torch.library.custom_op("spantree::zeroth", mutates_args=())
def zeroth(
    log_weights: Tensor,
    lengths: Tensor | None,
    single_root: bool,
    validate: bool,
    backend: str,
    batch_shape: list[int],
) -> tuple[Tensor, Tensor]:
    """Log Z ``(B,)`` and J_0 ``(B, n, n)``."""
    question = Question(single_root, validate, backend, tuple(batch_shape))
    return answer(log_weights, lengths, (), question)


@torch.library.custom_op("spantree::higher", mutates_args=())
def higher(
    log_weights: Tensor,
    lengths: Tensor | None,
    directions: list[Tensor],
    single_root: bool,
    validate: bool,
    backend: str,
    batch_shape: list[int],
) -> Tensor:
    """J_k ``(K, B, n, n)``."""
    question = Question(single_root, validate, backend, tuple(batch_shape))
    return answer(log_weights, lengths, tuple(directions), question)[1]


@zeroth.register_fake
def _(log_weights: Tensor, *_: Any) -> tuple[Tensor, Tensor]:
    return log_weights.new_empty(log_weights.shape[:1]), log_weights.new_empty(log_weights.shape)


@higher.register_fake
def _(log_weights: Tensor, lengths: Tensor | None, directions: list[Tensor], *_: Any) -> Tensor:
    return log_weights.new_empty(directions[0].shape)


def _remember_zeroth(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    log_weights, lengths, *ctx.question = inputs
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(log_weights, lengths, output[1])


def _zeroth_backward(ctx: Any, grad: Tensor | None, grad_marginals: Tensor | None) -> Any:
    log_weights, lengths, marginals = ctx.saved_tensors
    result = None if grad is None else grad[:, None, None] * marginals
    if grad_marginals is not None:
        second = higher(log_weights, lengths, [grad_marginals[None]], *ctx.question)[0]
        result = second if result is None else result + second
    return result, None, None, None, None, None


def _remember_higher(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    log_weights, lengths, directions, *ctx.question = inputs
    ctx.save_for_backward(log_weights, lengths, *directions)


def _higher_backward(ctx: Any, grad: Tensor) -> Any:
    log_weights, lengths, *directions = ctx.saved_tensors
    along_log_weights = higher(log_weights, lengths, [*directions, grad], *ctx.question)
    along_directions = [
        higher(
            log_weights,
            lengths,
            [grad if j == i else u for j, u in enumerate(directions)],
            *ctx.question,
        )
        for i in range(len(directions))
    ]
    return along_log_weights.sum(dim=0), None, along_directions, None, None, None, None


zeroth.register_autograd(_zeroth_backward, setup_context=_remember_zeroth)
higher.register_autograd(_higher_backward, setup_context=_remember_higher)


def traced_zeroth(
    log_weights: Tensor, lengths: Tensor | None, question: Question
) -> tuple[Tensor, Tensor]:
    """Log Z and J_0, by operators."""
    primal, tangent = _unpacked(log_weights)
    log_partition, marginals = zeroth(primal, lengths, *question)
    if tangent is None:
        return log_partition, marginals
    along = torch.where(marginals == 0, 0.0, marginals * tangent).sum(dim=(-2, -1))
    second = higher(primal, lengths, [tangent[None]], *question)[0]
    return _dual(log_partition, along), _dual(marginals, second)


def traced_first(
    log_weights: Tensor, lengths: Tensor | None, direction: Tensor, question: Question
) -> Tensor:
    """J_1 ``(K, B, n, n)``, by operators."""
    primal, tangent = _unpacked(log_weights)
    along, turning = _unpacked(direction)
    jet = higher(primal, lengths, [along], *question)
    total = None
    if tangent is not None:
        further = tangent.expand_as(along).contiguous()
        total = higher(primal, lengths, [along, further], *question)
    if turning is not None:
        turned = higher(primal, lengths, [turning.contiguous()], *question)
        total = turned if total is None else total + turned
    return jet if total is None else _dual(jet, total)


def _unpacked(tensor: Tensor) -> tuple[Tensor, Tensor | None]:
    """A tensor and its tangent, if there is one."""
    if forward_ad._current_level < 0:  # pyright: ignore[reportPrivateUsage]
        return tensor, None
    return forward_ad.unpack_dual(tensor, level=0)


def _dual(tensor: Tensor, tangent: Tensor) -> Tensor:
    return forward_ad.make_dual(tensor, tangent, level=0)
