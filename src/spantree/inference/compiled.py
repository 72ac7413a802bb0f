"""The jet as operators that `torch.compile` can put into a graph without looking inside.

The rules are those of `autodiff`, which serve forward mode and vmap too, as operators cannot.
"""

from typing import Any

import torch
from torch import Tensor

from spantree.inference.question import Question, answer

__all__ = ["higher", "zeroth"]


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
