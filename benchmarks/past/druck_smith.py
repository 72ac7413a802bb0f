"""Gradient of the GE criterion by the whole covariance: G. Druck and D. Smith (2009), O(N⁴).

The paper's T2^h takes the same way.
"""

import torch
from torch import Tensor

from benchmarks.past.laplacian import by_edge, laplacian, scaled_weights

__all__ = ["edge_covariance", "generalized_expectation_gradient"]

GRAPHS_AT_ONCE = 2  # the fastest at N = 25: more leaves the caches


def edge_covariance(log_weights: Tensor, *, root: str = "single") -> tuple[Tensor, Tensor]:
    """The covariance of any two edges ``(B, n², n²)``, and the marginals ``(B, n, n)``."""
    weights, _ = scaled_weights(log_weights)
    n = weights.shape[-1]
    lone = by_edge(torch.linalg.inv(laplacian(weights, root)), root)
    # A place for the root, which is nobody's dependent.
    v = torch.cat([torch.zeros_like(lone[:, :1]), lone], 1) * weights[:, None]  # [l, i, j]
    marginals = v.diagonal(dim1=1, dim2=3)  # (B, i, j)
    # [i, j, k, l] = −v[l, i, j] v[j, k, l]
    covariance = torch.mul(-v.permute(0, 2, 3, 1)[:, :, :, None, :], v[:, None])
    covariance = covariance.reshape(len(v), n * n, n * n)
    covariance.diagonal(dim1=1, dim2=2).add_(marginals.flatten(1))
    return covariance, marginals


def generalized_expectation_gradient(
    log_weights: Tensor, features: Tensor, target: Tensor, *, root: str = "single"
) -> Tensor:
    """Gradient ``(B, n, n)`` of ½‖E[f] − f*‖², f ``(B, n, n, F)``, f* ``(B, F)``."""
    gradients = []
    batches = (x.split(GRAPHS_AT_ONCE) for x in (log_weights, features, target))
    for scores, f, goal in zip(*batches, strict=True):
        covariance, marginals = edge_covariance(scores, root=root)
        residual = (marginals[:, None].flatten(2) @ f.flatten(1, 2)).squeeze(1) - goal
        along = f.flatten(1, 2) @ residual[..., None]
        gradients.append((covariance @ along).reshape(scores.shape))
    return torch.cat(gradients)
