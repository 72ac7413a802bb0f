"""Entropy by N determinants: D. Smith and J. Eisner (2007), O(N⁴)."""

import torch
from torch import Tensor

from benchmarks.past.laplacian import laplacian, scaled_weights

__all__ = ["entropy"]


def entropy(log_weights: Tensor, *, root: str = "single") -> Tensor:
    """H(p) ``(B,)`` of ``(B, n, n)`` graphs.

    H = log Z − Σ_j Z_j / Z, where Z_j is the determinant after every edge into node j has been
    multiplied by its log-weight: N determinants beside that of Z.
    """
    weights, _ = scaled_weights(log_weights)
    n = weights.shape[-1]
    # A column's constant is in log Z and in the log-weights, and cancels.
    logs = weights.log().where(weights > 0.0, 0.0)
    onto_one_node = torch.eye(n, dtype=torch.bool)[1:, None, :]  # (N, 1, n)
    changed = torch.where(onto_one_node, (weights * logs)[:, None], weights[:, None])
    sign, magnitude = torch.linalg.slogdet(laplacian(changed, root))
    sign_of_z, log_partition = torch.linalg.slogdet(laplacian(weights, root))
    ratios = sign * sign_of_z[:, None] * (magnitude - log_partition[:, None]).exp()
    return log_partition - ratios.sum(-1)
