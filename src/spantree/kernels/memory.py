"""Tensors as the C++ kernel reads them: by a pointer alone, so all must lie in memory as it is."""

import torch
from torch import Tensor

__all__ = ["laid_out", "laid_out_lengths"]


def laid_out(values: Tensor) -> Tensor:
    """The same numbers without strides, and without a sign that torch has put off to apply.

    The imaginary part of a conjugate is such a lazy negation: its memory holds the opposite.
    """
    return values.resolve_neg().contiguous()


def laid_out_lengths(lengths: Tensor | None) -> Tensor | None:
    """Lengths as int64 in a row, or None."""
    return None if lengths is None else lengths.to(torch.int64).contiguous()
