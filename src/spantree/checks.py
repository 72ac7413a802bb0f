"""Shape and type checks of the public door.

They look at shapes, dtypes and options only, so they run under any transform; values are judged by
the kernels as they pass (see `errors`).
"""

from typing import Literal, get_args

import torch
from torch import Tensor

__all__ = ["Backend", "Root", "check_arguments", "check_direction", "is_single_root"]

Root = Literal["single", "multi"]
Backend = Literal["auto", "native", "torch"]


def is_single_root(root: Root) -> bool:
    """Interprets the option ``root``, here and nowhere else."""
    if root not in get_args(Root):
        raise ValueError(f"root must be 'single' or 'multi', got {root!r}")
    return root == "single"


def check_arguments(log_weights: Tensor, lengths: Tensor | None, backend: Backend) -> None:
    """Raises TypeError or ValueError unless the arguments fit together."""
    if not isinstance(log_weights, Tensor):
        raise TypeError(f"log_weights must be a torch.Tensor, got {type(log_weights).__name__}")
    if not log_weights.dtype.is_floating_point:
        raise TypeError(f"log_weights must have a floating-point dtype, got {log_weights.dtype}")
    shape = tuple(log_weights.shape)
    if len(shape) < 2 or shape[-1] != shape[-2] or shape[-1] < 2:
        raise ValueError(f"log_weights must have shape (..., n, n) with n >= 2, got {shape}")
    if backend not in get_args(Backend):
        raise ValueError(f"backend must be one of {str(get_args(Backend))[1:-1]}, got {backend!r}")
    if backend == "native" and log_weights.device.type != "cpu":
        raise ValueError(
            f"backend 'native' needs log_weights on the CPU, got device {log_weights.device}"
        )
    if lengths is not None:
        _check_lengths(lengths, shape[:-2], log_weights.device)


def _check_lengths(lengths: Tensor, batch_shape: tuple[int, ...], device: torch.device) -> None:
    if not isinstance(lengths, Tensor):
        raise TypeError(f"lengths must be a torch.Tensor, got {type(lengths).__name__}")
    if lengths.dtype.is_floating_point or lengths.dtype.is_complex or lengths.dtype == torch.bool:
        raise TypeError(f"lengths must have an integer dtype, got {lengths.dtype}")
    if tuple(lengths.shape) != batch_shape:
        raise ValueError(
            f"lengths must have shape {batch_shape} like the batch, got {tuple(lengths.shape)}"
        )
    if lengths.device != device:
        raise ValueError(
            f"lengths must be on the device of log_weights, {device}, got {lengths.device}"
        )


def check_direction(direction: Tensor, log_weights: Tensor) -> None:
    """Raises unless ``direction`` is one or several directions for ``log_weights``."""
    if not isinstance(direction, Tensor):
        raise TypeError(f"direction must be a torch.Tensor, got {type(direction).__name__}")
    if not direction.dtype.is_floating_point:
        raise TypeError(f"direction must have a floating-point dtype, got {direction.dtype}")
    shape = tuple(log_weights.shape)
    if tuple(direction.shape[-len(shape) :]) != shape:
        inside = ", ".join(map(str, shape))
        raise ValueError(
            f"direction must have shape (..., {inside}) ending in that of log_weights, "
            f"got {tuple(direction.shape)}"
        )
    if direction.device != log_weights.device:
        raise ValueError(
            f"direction must be on the device of log_weights, {log_weights.device}, "
            f"got {direction.device}"
        )
