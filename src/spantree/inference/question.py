"""What is asked of a batch, and the answer: where checks, kernels and errors meet."""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.distributions import Distribution

from spantree.checks import Backend, Root, check_arguments, is_single_root
from spantree.errors import raise_for_lengths, raise_for_status
from spantree.kernels.backend import evaluate

__all__ = ["Question", "answer", "require_lengths"]


class Question(NamedTuple):
    """What is asked of a batch, beside its numbers."""

    single_root: bool
    validate: bool
    backend: str
    batch_shape: tuple[int, ...]

    @classmethod
    def about(
        cls,
        log_weights: Tensor,
        lengths: Tensor | None,
        root: Root,
        validate_args: bool | None,
        backend: Backend,
    ) -> "Question":
        """Checks the arguments that all public functions share, and gathers them."""
        single_root = is_single_root(root)
        check_arguments(log_weights, lengths, backend)
        if validate_args is None:
            validate_args = Distribution._validate_args  # pyright: ignore[reportPrivateUsage]
        return cls(single_root, bool(validate_args), backend, tuple(log_weights.shape[:-2]))


def answer(
    log_weights: Tensor,
    lengths: Tensor | None,
    directions: tuple[Tensor, ...],
    question: Question,
    *,
    with_jet: bool = True,
) -> tuple[Tensor, Tensor]:
    """Log Z and the jet, without derivatives; raises for values that are not fine."""
    require_lengths(lengths, log_weights.shape[-1] - 1, question.batch_shape)
    log_partition, jet, status = evaluate(
        log_weights,
        lengths,
        directions,
        single_root=question.single_root,
        backend=question.backend,
        with_jet=with_jet,
    )
    if question.validate and status is not None:
        raise_for_status(
            status, log_weights, lengths, question.batch_shape, single_root=question.single_root
        )
    return log_partition, jet


def require_lengths(lengths: Tensor | None, longest: int, batch_shape: tuple[int, ...]) -> None:
    """Raises ValueError unless all ``(B,)`` lengths lie in ``1..longest``."""
    if lengths is not None and lengths.numel():
        least, most = torch.aminmax(lengths.to(torch.int64))
        if int(least) < 1 or int(most) > longest:
            raise_for_lengths(lengths, longest, batch_shape)
