"""Noise on edges, for perturb-and-MAP."""

import math

import torch
from torch import Generator, Tensor

from spantree.inference.ensemble import Ensemble

__all__ = ["perturb"]


def perturb(
    ensemble: Ensemble, noise_scale: float, sample_shape: torch.Size, generator: Generator | None
) -> Ensemble:
    """The graphs with independent Gumbel noise times ``noise_scale`` on every log-weight.

    Returns:
        Graphs with the batch shape ``(*sample_shape, *batch)``; constants.
    """
    if not isinstance(noise_scale, (int, float)):
        raise TypeError(f"noise_scale must be a number, got {type(noise_scale).__name__}")
    if not (noise_scale >= 0 and math.isfinite(noise_scale)):
        raise ValueError(f"noise_scale must be a finite number >= 0, got {noise_scale}")
    log_weights = ensemble.log_weights.detach()
    noise = _gumbel(torch.Size((*sample_shape, *log_weights.shape)), generator)
    return ensemble.reweighted(log_weights + noise_scale * noise.to(log_weights.device))


def _gumbel(shape: torch.Size, generator: Generator | None) -> Tensor:
    uniform = torch.rand(shape, generator=generator, dtype=torch.float64)
    # rand() gives multiples of 2⁻⁵³; 0 stands for all below the first of them.
    uniform = uniform.where(uniform > 0, 2.0**-54)
    return -(-torch.log1p(-uniform)).log()
