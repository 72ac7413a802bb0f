"""Gradient of the GE criterion edge by edge: G. Druck, G. Mann and A. McCallum (2009), O(N⁵).

Cov(edge, f) = P(edge) (E[f | edge] − E[f]), and E[f | edge] takes the marginals of all edges given
this one: an inverse for every edge.
"""

import torch
from torch import Tensor

from benchmarks.past.laplacian import by_edge, laplacian, scaled_weights

__all__ = ["generalized_expectation_gradient"]

GRAPHS_AT_ONCE = 64


def marginals_of(weights: Tensor, root: str) -> Tensor:
    """``(..., n, n)``, by one inverse."""
    lone = by_edge(torch.linalg.inv(laplacian(weights, root)), root)[..., 1:]
    gradient = lone.diagonal(dim1=-3, dim2=-1)
    return weights * torch.cat([torch.zeros_like(gradient[..., :1]), gradient], -1)


def generalized_expectation_gradient(
    log_weights: Tensor, features: Tensor, target: Tensor, *, root: str = "single"
) -> Tensor:
    """Gradient ``(B, n, n)`` of ½‖E[f] − f*‖², f ``(B, n, n, F)``, f* ``(B, F)``."""
    return torch.stack(
        [_of_one(*item, root) for item in zip(log_weights, features, target, strict=True)]
    )


def _of_one(log_weights: Tensor, features: Tensor, target: Tensor, root: str) -> Tensor:
    weights, _ = scaled_weights(log_weights)
    marginals = marginals_of(weights, root)
    expected = marginals.flatten() @ features.flatten(0, 1)
    along = features @ (expected - target)  # of every edge
    mean = (marginals * along).sum()
    gradient = torch.zeros_like(weights)
    # What cannot be in a tree cannot be conditioned on.
    possible = (marginals > 0.0).nonzero()
    for edges in possible.split(GRAPHS_AT_ONCE):
        given = weights.repeat(len(edges), 1, 1)
        at = torch.arange(len(edges))
        head, dependent = edges.unbind(-1)
        given[at, :, dependent] = 0.0
        given[at, head, dependent] = 1.0
        conditional = (marginals_of(given, root) * along).sum((-2, -1))
        gradient[head, dependent] = marginals[head, dependent] * (conditional - mean)
    return gradient
