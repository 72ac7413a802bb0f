"""Shape and type checks of the public door.

They look at shapes, dtypes and options only, so they run under any transform; values are judged by
the kernels as they pass (see `errors`).
"""

from typing import Literal, get_args

import torch
from torch import Tensor

__all__ = [
    "Backend",
    "Root",
    "check_arguments",
    "check_count",
    "check_device",
    "check_direction",
    "check_features",
    "check_heads",
    "check_labeled",
    "check_mask",
    "is_single_root",
]

Root = Literal["single", "multi"]
Backend = Literal["auto", "native", "torch"]


def is_single_root(root: Root) -> bool:
    """Interprets the option ``root``, here and nowhere else."""
    if root not in get_args(Root):
        raise ValueError(f"root must be 'single' or 'multi', got {root!r}")
    return root == "single"


def check_arguments(log_weights: Tensor, lengths: Tensor | None, backend: Backend) -> None:
    """Raises TypeError or ValueError unless the arguments fit together."""
    _check_float("log_weights", log_weights)
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
        _check_integers("lengths", lengths)
        if lengths.shape != log_weights.shape[:-2]:
            raise ValueError(
                f"lengths must have shape {shape[:-2]} like the batch, got {tuple(lengths.shape)}"
            )
        check_device("lengths", lengths, log_weights.device)


def check_labeled(log_weights: Tensor) -> None:
    """Raises unless these can be the log-weights of labelled edges."""
    _check_float("log_weights", log_weights)
    shape = tuple(log_weights.shape)
    if len(shape) < 3 or shape[-2] != shape[-3] or shape[-2] < 2 or shape[-1] < 1:
        raise ValueError(
            f"log_weights must have shape (..., n, n, Y) with n >= 2 and Y >= 1, got {shape}"
        )


def check_direction(direction: Tensor, log_weights: Tensor) -> None:
    """Raises unless ``direction`` is one or several directions for ``log_weights``."""
    _check_float("direction", direction)
    shape = tuple(log_weights.shape)
    if tuple(direction.shape[-len(shape) :]) != shape:
        inside = ", ".join(map(str, shape))
        raise ValueError(
            f"direction must have shape (..., {inside}) ending in that of log_weights, "
            f"got {tuple(direction.shape)}"
        )
    check_device("direction", direction, log_weights.device)


def check_features(name: str, features: Tensor, device: torch.device) -> None:
    """Raises unless these can be features; their shape is for `inference.features` to judge."""
    _check_float(name, features)
    check_device(name, features, device)


def check_heads(name: str, heads: Tensor, event: tuple[int, ...], device: torch.device) -> None:
    """Raises unless ``heads``, or labels, are integers ``(*sample, *event)``."""
    _check_integers(name, heads)
    shape = tuple(heads.shape)
    if tuple(shape[-len(event) :]) != event:
        inside = ", ".join(map(str, event))
        raise ValueError(f"{name} must have shape (..., {inside}) like the batch, got {shape}")
    check_device(name, heads, device)


def check_mask(name: str, mask: Tensor, shape: tuple[int, ...], device: torch.device) -> None:
    """Raises unless ``mask`` says yes or no to every edge."""
    if not isinstance(mask, Tensor):
        raise TypeError(f"{name} must be a torch.Tensor, got {type(mask).__name__}")
    if mask.dtype != torch.bool:
        raise TypeError(f"{name} must have dtype torch.bool, got {mask.dtype}")
    try:
        fits = torch.broadcast_shapes(tuple(mask.shape), shape) == torch.Size(shape)
    except RuntimeError:
        fits = False
    if not fits:
        raise ValueError(
            f"{name} must have shape {shape} like log_weights, or broadcast to it, "
            f"got {tuple(mask.shape)}"
        )
    check_device(name, mask, device)


def check_count(name: str, count: int) -> None:
    """Raises unless ``count`` is a positive integer."""
    if not isinstance(count, int) or isinstance(count, bool):
        raise TypeError(f"{name} must be an int, got {type(count).__name__}")
    if count < 1:
        raise ValueError(f"{name} must be at least 1, got {count}")


def check_device(name: str, tensor: Tensor, device: torch.device) -> None:
    """Raises unless ``tensor`` is where the log-weights are."""
    if tensor.device != device:
        raise ValueError(
            f"{name} must be on the device of log_weights, {device}, got {tensor.device}"
        )


def _check_float(name: str, tensor: Tensor) -> None:
    if not isinstance(tensor, Tensor):
        raise TypeError(f"{name} must be a torch.Tensor, got {type(tensor).__name__}")
    if not tensor.dtype.is_floating_point:
        raise TypeError(f"{name} must have a floating-point dtype, got {tensor.dtype}")


def _check_integers(name: str, tensor: Tensor) -> None:
    if not isinstance(tensor, Tensor):
        raise TypeError(f"{name} must be a torch.Tensor, got {type(tensor).__name__}")
    if tensor.dtype.is_floating_point or tensor.dtype.is_complex or tensor.dtype == torch.bool:
        raise TypeError(f"{name} must have an integer dtype, got {tensor.dtype}")
