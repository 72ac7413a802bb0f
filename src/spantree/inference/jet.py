"""The jet of log Z: one primitive from which every other quantity is made.

With theta the log-weights,

    J_0(theta)            = grad log Z                  the edge marginals
    J_k(theta; U1..Uk)    = grad^(k+1) log Z [U1, ..., Uk, .]

and the family is closed under differentiation: along theta, J_k(..; U1..Uk) turns into
J_{k+1}(..; U1..Uk, C), whether C is a tangent or a cotangent, because all derivatives of log Z are
symmetric; in U_i it is linear. So a few short rules carry derivatives of every order through every
transform. They stand in `autodiff` for eager mode and, because `torch.compile` cannot look into the
kernel, in `compiled` as operators.
"""

import torch
from torch import Tensor

from spantree.inference import autodiff, compiled
from spantree.inference.question import Question, answer
from spantree.inference.transforms import is_traced, may_be_differentiated

__all__ = ["first", "zeroth"]


def zeroth(
    log_weights: Tensor, lengths: Tensor | None, question: Question, *, with_marginals: bool
) -> tuple[Tensor, Tensor]:
    """Log Z ``(...)`` and the marginals ``(..., n, n)``, empty if neither asked for nor needed."""
    flat, flat_lengths = _flattened(log_weights, lengths)
    if is_traced():
        log_partition, marginals = compiled.traced_zeroth(flat, flat_lengths, question)
    elif may_be_differentiated(flat):
        log_partition, marginals = autodiff.Zeroth.apply(flat, flat_lengths, question)
    else:
        # An autograd function costs more than the elimination of a short sentence.
        log_partition, marginals = answer(flat, flat_lengths, (), question, with_jet=with_marginals)
    log_partition = log_partition.reshape(question.batch_shape)
    return log_partition, marginals.reshape(log_weights.shape) if with_marginals else marginals


def first(
    log_weights: Tensor, direction: Tensor, lengths: Tensor | None, question: Question
) -> Tensor:
    """J_1 ``(*extra, ..., n, n)`` in directions of that shape."""
    flat, flat_lengths = _flattened(log_weights, lengths)
    several = direction.shape[: direction.dim() - log_weights.dim()].numel()
    flat_direction = direction.to(flat.dtype).reshape(several, *flat.shape)
    if is_traced():
        jet = compiled.traced_first(flat, flat_lengths, flat_direction, question)
    elif not (may_be_differentiated(flat) or may_be_differentiated(flat_direction)):
        jet = answer(flat, flat_lengths, (flat_direction,), question)[1]
    else:
        jet = autodiff.Higher.apply(flat, flat_lengths, question, flat_direction)
    return jet.reshape(direction.shape)


def _flattened(log_weights: Tensor, lengths: Tensor | None) -> tuple[Tensor, Tensor | None]:
    """One batch axis, and float32 in the place of half precisions."""
    n = log_weights.shape[-1]
    if log_weights.dtype not in (torch.float32, torch.float64):
        log_weights = log_weights.float()
    count = log_weights.shape[:-2].numel()
    return log_weights.reshape(count, n, n), None if lengths is None else lengths.reshape(count)
