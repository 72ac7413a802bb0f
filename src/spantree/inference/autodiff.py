"""The rules of the jet as autograd functions: reverse and forward mode, and vmap, to any order.

Two families, each closed under differentiation, with the directions symmetric in both:

    Higher(theta; U1..Uk)  = J_k(theta; U1..Uk)                  (B, n, n)
    Pairing(theta; U1..Uk) = <J_{k-1}(theta; U1..Uk-1), Uk>      (B,)

`Zeroth` gives log Z and J_0. Directions, and with them results, may have one further axis in front:
several directions for the same graphs.

Inside a forward rule only autograd functions may compute: torch drops the tangents of an outer
forward mode in every plain operation there (pytorch issue 197867). Hence `Pairing` and `_Sum`.
"""

# Each function names the inputs it has; the base class knows of `*args` only.
# pyright: reportIncompatibleMethodOverride=false

import inspect
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from spantree.inference.question import Question, answer

__all__ = ["Higher", "Zeroth"]


class Zeroth(Function):
    """(log_weights, lengths, question) -> (log Z, J_0)."""

    @staticmethod
    def forward(
        log_weights: Tensor, lengths: Tensor | None, question: Question
    ) -> tuple[Tensor, Tensor]:
        return answer(log_weights, lengths, (), question)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
        log_weights, lengths, ctx.question = inputs
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(log_weights, lengths, output[1])
        ctx.save_for_forward(log_weights, lengths)

    @staticmethod
    def backward(ctx: Any, grad_log_partition: Tensor | None, grad_marginals: Tensor | None) -> Any:
        log_weights, lengths, marginals = ctx.saved_tensors
        grad = None
        if grad_log_partition is not None:
            grad = grad_log_partition[:, None, None] * marginals
        if grad_marginals is not None:
            second = Higher.apply(log_weights, lengths, ctx.question, grad_marginals)
            grad = second if grad is None else grad + second
        return grad, None, None

    @staticmethod
    def jvp(ctx: Any, tangent: Tensor | None, *_: None) -> tuple[Tensor | None, Tensor | None]:
        if tangent is None:
            return None, None
        fixed = (*ctx.saved_tensors, ctx.question)
        return Pairing.apply(*fixed, tangent), Higher.apply(*fixed, tangent)

    @staticmethod
    def vmap(
        info: Any,
        in_dims: tuple[int | None, ...],
        log_weights: Tensor,
        lengths: Tensor | None,
        question: Question,
    ) -> tuple[tuple[Tensor, Tensor], tuple[int, int]]:
        size = info.batch_size
        log_partition, marginals = Zeroth.apply(
            _folded(log_weights, in_dims[0], size),
            _folded(lengths, in_dims[1], size),
            question._replace(batch_shape=(size, *question.batch_shape)),
        )
        unfolded = marginals.reshape(size, -1, *marginals.shape[1:])
        return (log_partition.reshape(size, -1), unfolded), (0, 0)


class _Jet(Function):
    """What `Higher` and `Pairing` share: (log_weights, lengths, question, U1..Uk) -> Tensor."""

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        log_weights, lengths, ctx.question, *directions = inputs
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(log_weights, lengths, *directions)
        ctx.save_for_forward(log_weights, lengths, *directions)


class Higher(_Jet):
    """J_k in the directions U1..Uk."""

    @staticmethod
    def forward(
        log_weights: Tensor, lengths: Tensor | None, question: Question, *directions: Tensor
    ) -> Tensor:
        several = max(u.dim() for u in directions) > log_weights.dim()
        along = torch.broadcast_tensors(*directions)
        jet = answer(
            log_weights, lengths, along if several else tuple(u[None] for u in along), question
        )[1]
        return jet if several else jet.squeeze(0)

    @staticmethod
    def backward(ctx: Any, grad: Tensor | None) -> Any:
        return _backward(ctx, grad, lambda fixed, along: Higher.apply(*fixed, *along, grad))

    @staticmethod
    def jvp(ctx: Any, *tangents: Tensor | None) -> Tensor | None:
        return _forward(Higher, ctx, tangents)

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *inputs: Any) -> tuple[Tensor, int]:
        return _mapped(Higher, info.batch_size, in_dims, *inputs)


class Pairing(_Jet):
    """The inner product of J_{k-1} in the directions U1..Uk-1 with Uk."""

    @staticmethod
    def forward(
        log_weights: Tensor, lengths: Tensor | None, question: Question, *directions: Tensor
    ) -> Tensor:
        *others, last = directions
        if others:
            jet = Higher.forward(log_weights, lengths, question, *others)
        else:
            jet = answer(log_weights, lengths, (), question)[1]
        # Off the edges the direction may hold anything.
        return torch.where(jet == 0, 0.0, jet * last).sum(dim=(-2, -1))

    @staticmethod
    def backward(ctx: Any, grad: Tensor | None) -> Any:
        def rule(fixed: tuple[Any, ...], along: list[Tensor]) -> Tensor:
            jet = Higher.apply(*fixed, *along) if along else Zeroth.apply(*fixed)[1]
            return grad[..., None, None] * jet  # pyright: ignore[reportOptionalSubscript]

        return _backward(ctx, grad, rule)

    @staticmethod
    def jvp(ctx: Any, *tangents: Tensor | None) -> Tensor | None:
        return _forward(Pairing, ctx, tangents)

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *inputs: Any) -> tuple[Tensor, int]:
        return _mapped(Pairing, info.batch_size, in_dims, *inputs)


class _Sum(Function):
    """The sum of tensors that broadcast."""

    @staticmethod
    def forward(*terms: Tensor) -> Tensor:
        return sum(terms[1:], terms[0]).clone()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        ctx.shapes = [term.shape for term in inputs]

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return tuple(grad.sum_to_size(shape) for shape in ctx.shapes)

    @staticmethod
    def jvp(ctx: Any, *tangents: Tensor | None) -> Tensor:
        return _Sum.apply(*(t for t in tangents if t is not None))

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *terms: Tensor) -> tuple[Tensor, int]:
        moved = [_leading(t, dim, info.batch_size) for t, dim in zip(terms, in_dims, strict=True)]
        most = max(t.dim() for t in moved)
        aligned = [t.reshape(len(t), *(1,) * (most - t.dim()), *t.shape[1:]) for t in moved]
        return _Sum.apply(*aligned), 0


# Every call of a function binds its arguments to the signature of forward, which torch has worked
# out afresh unless it is written down: 12 µs, as long as the elimination of a short sentence takes.
for _function in (Zeroth, Higher, Pairing, _Sum):
    _function.forward.__signature__ = inspect.signature(_function.forward)  # pyright: ignore


def _backward(
    ctx: Any, grad: Tensor | None, rule: Callable[[tuple[Any, ...], list[Tensor]], Tensor]
) -> Any:
    """Cotangents of all inputs; ``rule(fixed, directions)`` is that of the input left out."""
    log_weights, lengths, *directions = ctx.saved_tensors
    fixed = (log_weights, lengths, ctx.question)
    if grad is None:
        return None, None, None, *(None for _ in directions)
    wanted = ctx.needs_input_grad
    grad_log_weights = None
    if wanted[0]:
        grad_log_weights = rule(fixed, directions).sum_to_size(log_weights.shape)
    grad_directions = [
        rule(fixed, directions[:i] + directions[i + 1 :]).sum_to_size(u.shape) if needed else None
        for i, (u, needed) in enumerate(zip(directions, wanted[3:], strict=True))
    ]
    return grad_log_weights, None, None, *grad_directions


def _forward(family: type[_Jet], ctx: Any, tangents: tuple[Tensor | None, ...]) -> Tensor | None:
    """The tangent of the result: one more direction for theta, another one for a direction."""
    log_weights, lengths, *directions = ctx.saved_tensors
    fixed = (log_weights, lengths, ctx.question)
    along_log_weights, _, _, *along_directions = tangents
    terms = [
        family.apply(*fixed, *directions[:i], along, *directions[i + 1 :])
        for i, along in enumerate(along_directions)
        if along is not None
    ]
    if along_log_weights is not None:
        terms.append(family.apply(*fixed, *directions, along_log_weights))
    return _Sum.apply(*terms) if len(terms) > 1 else terms[0] if terms else None


def _mapped(
    family: type[_Jet],
    size: int,
    in_dims: tuple[int | None, ...],
    log_weights: Tensor,
    lengths: Tensor | None,
    question: Question,
    *directions: Tensor,
) -> tuple[Tensor, int]:
    """Directions mapped over the same graphs become several directions, which share the work."""
    several = any(
        u.dim() - (dim is not None) == 4 for u, dim in zip(directions, in_dims[3:], strict=True)
    )
    moved = [_leading(u, dim, size) for u, dim in zip(directions, in_dims[3:], strict=True)]
    if several:
        count = max(u.shape[1] for u in moved if u.dim() == 5)
        moved = [u if u.dim() == 5 else u[:, None].expand(-1, count, -1, -1, -1) for u in moved]
    if in_dims[0] is None and in_dims[1] is None:
        along = [u.flatten(0, 1) for u in moved] if several else moved
        result = family.apply(log_weights, lengths, question, *along)
        return result.unflatten(0, (size, -1)) if several else result, 0
    along = [u.transpose(0, 1).flatten(1, 2) if several else u.flatten(0, 1) for u in moved]
    result = family.apply(
        _folded(log_weights, in_dims[0], size),
        _folded(lengths, in_dims[1], size),
        question._replace(batch_shape=(size, *question.batch_shape)),
        *along,
    )
    axis = 1 if several else 0
    return result.unflatten(axis, (size, -1)), axis


def _leading(tensor: Tensor, dim: int | None, size: int) -> Tensor:
    """Moves the mapped axis to the front, or makes one."""
    return tensor.expand(size, *tensor.shape) if dim is None else tensor.movedim(dim, 0)


def _folded(tensor: Tensor | None, dim: int | None, size: int) -> Tensor | None:
    """Makes the mapped axis part of the batch axis."""
    return None if tensor is None else _leading(tensor, dim, size).flatten(0, 1)
