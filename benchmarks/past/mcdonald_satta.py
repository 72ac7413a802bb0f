"""Expected features by a determinant for every edge: R. McDonald and G. Satta (2007), O(N⁵).

That was their first version; they revised it.
"""

import torch
from torch import Tensor

from benchmarks.past.laplacian import laplacian, scaled_weights

__all__ = ["edge_marginals", "expectation"]

GRAPHS_AT_ONCE = 256


def edge_marginals(log_weights: Tensor, *, root: str = "single") -> Tensor:
    """``(B, n, n)``: the determinant without an edge's competitors over that with them."""
    weights, _ = scaled_weights(log_weights)
    log_partition = torch.linalg.slogdet(laplacian(weights, root)).logabsdet
    item, head, dependent = (weights > 0.0).nonzero().unbind(-1)
    marginals = torch.zeros_like(weights)
    for part in torch.arange(len(item)).split(GRAPHS_AT_ONCE):
        b, i, j = item[part], head[part], dependent[part]
        alone = weights[b]
        at = torch.arange(len(part))
        alone[at, :, j] = 0.0
        alone[at, i, j] = weights[b, i, j]
        having = torch.linalg.slogdet(laplacian(alone, root)).logabsdet
        marginals[b, i, j] = (having - log_partition[b]).exp()
    return marginals


def expectation(log_weights: Tensor, features: Tensor, *, root: str = "single") -> Tensor:
    """E[f] ``(B, F)`` of features ``(B, n, n, F)``."""
    marginals = edge_marginals(log_weights, root=root)
    return (marginals.flatten(1)[:, None] @ features.flatten(1, 2)).squeeze(1)
