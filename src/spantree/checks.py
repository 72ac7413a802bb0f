"""Shape and type checks of the public door.

They look at shapes, dtypes and options only, so they run under any transform; values are judged by
the kernels as they pass (see `errors`).
"""

from collections.abc import Sequence
from numbers import Real
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
    "check_edges",
    "check_features",
    "check_generator",
    "check_heads",
    "check_indices",
    "check_mask",
    "check_order",
    "check_sample_shape",
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
    check_edges("log_weights", log_weights, 2)
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
                f"lengths must have shape {tuple(log_weights.shape[:-2])} like the batch, "
                f"got {tuple(lengths.shape)}"
            )
        check_device("lengths", lengths, log_weights.device)


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


def check_edges(name: str, tensor: Tensor, edge_axes: int) -> None:
    """Raises unless ``tensor`` has a value for every edge, with ``edge_axes`` axes for these."""
    _check_float(name, tensor)
    shape = tuple(tensor.shape)
    edge = shape[len(shape) - edge_axes :]
    if len(shape) < edge_axes or edge[0] != edge[1] or edge[0] < 2 or edge[-1] < 1:
        wanted = (
            "(..., n, n) with n >= 2" if edge_axes == 2 else "(..., n, n, Y) with n >= 2, Y >= 1"
        )
        raise ValueError(f"{name} must have shape {wanted}, got {shape}")


def check_heads(
    name: str, heads: Tensor, n: int, batch_shape: tuple[int, ...], device: torch.device
) -> None:
    """Raises unless ``heads``, or labels, are integers that broadcast to ``(..., *batch, n)``."""
    _check_integers(name, heads)
    try:
        torch.broadcast_shapes(heads.shape[:-1], batch_shape)
        fits = heads.dim() > 0 and heads.shape[-1] == n
    except RuntimeError:
        fits = False
    if not fits:
        inside = ", ".join(map(str, (*batch_shape, n)))
        raise ValueError(f"{name} must have shape (..., {inside}), got {tuple(heads.shape)}")
    check_device(name, heads, device)


def check_indices(name: str, indices: Tensor, shape: tuple[int, ...], device: torch.device) -> None:
    """Raises unless ``indices`` are ``(K, axes)`` places within ``shape``."""
    _check_integers(name, indices)
    if indices.dim() != 2 or indices.shape[-1] != len(shape):
        raise ValueError(f"{name} must have shape (K, {len(shape)}), got {tuple(indices.shape)}")
    check_device(name, indices, device)
    outside = ((indices < 0) | (indices >= torch.tensor(shape, device=device))).any(-1)
    if bool(outside.any()):
        found = tuple(indices[outside][0].tolist())
        raise ValueError(f"{name} must hold indices within {shape}, found {found}")


def check_order(order: float) -> None:
    """Raises unless ``order`` is a number; its range is for the quantity to judge."""
    if not isinstance(order, Real):
        raise TypeError(f"order must be a number, got {type(order).__name__}")


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


def check_generator(generator: torch.Generator | None) -> None:
    """Raises unless sampling, which happens on the CPU, can draw from ``generator``."""
    if generator is None:
        return
    if not isinstance(generator, torch.Generator):
        raise TypeError(
            f"generator must be a torch.Generator or None, got {type(generator).__name__}"
        )
    if generator.device.type != "cpu":
        raise ValueError(
            f"generator must be on the CPU, where trees are drawn, got device {generator.device}"
        )


def check_sample_shape(sample_shape: Sequence[int]) -> torch.Size:
    """The shape, or raises TypeError or ValueError."""
    if not isinstance(sample_shape, Sequence) or isinstance(sample_shape, str):
        raise TypeError(
            "sample_shape must be a sequence of integers such as (100,), "
            f"got {type(sample_shape).__name__}"
        )
    for size in sample_shape:
        check_count("a size in sample_shape", size, least=0)
    return torch.Size(sample_shape)


def check_count(name: str, count: int, *, least: int = 1) -> None:
    """Raises unless ``count`` is an integer, and not too small."""
    if not isinstance(count, int) or isinstance(count, bool):
        raise TypeError(f"{name} must be an int, got {count!r}")
    if count < least:
        raise ValueError(f"{name} must be at least {least}, got {count}")


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
