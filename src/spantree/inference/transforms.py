"""What is going on around a call: whether it is recorded, transformed, or differentiated."""

import torch
from torch import Tensor
from torch.autograd import forward_ad
from torch.utils._python_dispatch import is_in_torch_dispatch_mode

__all__ = ["is_traced", "is_transformed", "may_be_differentiated"]


def is_traced() -> bool:
    """Whether operations are recorded, so that the kernel must appear as an operator."""
    return torch.compiler.is_compiling() or is_in_torch_dispatch_mode()


def is_transformed() -> bool:
    """Whether tensors may be wrappers, as they are under the transforms of `torch.func`."""
    return torch._C._are_functorch_transforms_active()


def may_be_differentiated(tensor: Tensor) -> bool:
    """Whether anybody could ask for the derivative of what is computed from this."""
    return (
        (tensor.requires_grad and torch.is_grad_enabled())
        or is_traced()
        or is_transformed()
        or forward_ad._current_level >= 0  # pyright: ignore[reportPrivateUsage]
    )
