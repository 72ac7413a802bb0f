"""First- and zeroth-order expectations: sums, and products, over the edges of a random tree."""

import torch
from torch import Tensor

from spantree.inference.ensemble import Ensemble
from spantree.inference.features import contract, dense_part, features_of

__all__ = ["expectation", "log_product_expectation"]


def expectation(ensemble: Ensemble, marginals: Tensor, features: Tensor) -> Tensor:
    """E[Σ of the features over the tree's edges] = ⟨μ, r⟩; T1 of the paper, normalised.

    O(N² R) beyond the marginals, or the number of non-zeros if sparse.

    Args:
        ensemble: the graphs.
        marginals: theirs.
        features: see `features`.

    Returns:
        ``(*batch, R)``, or ``(*batch,)`` for scalar features.
    """
    canonical = features_of("features", features, ensemble.log_weights, ensemble.edge_axes)
    result = contract(marginals, canonical, ensemble.edge_axes)
    return result.squeeze(-1) if canonical.scalar else result


def log_product_expectation(ensemble: Ensemble, log_partition: Tensor, log_q: Tensor) -> Tensor:
    """The logarithm of E[Π of q over the tree's edges]: log Z(w∘q) − log Z(w), zeroth order.

    Args:
        ensemble: the graphs.
        log_partition: theirs.
        log_q: like features; ``-inf`` where q is 0.

    Returns:
        ``(*batch, Q)`` or ``(*batch,)``, ``-inf`` where every tree has an edge of q = 0.
    """
    canonical = features_of("log_q", log_q, ensemble.log_weights, ensemble.edge_axes)
    factors = dense_part(canonical, 0, canonical.size, tuple(ensemble.edge_shape))
    if ensemble.question.validate and not bool((factors < torch.inf).all()):
        raise ValueError("log_q must not hold NaN or +inf on an edge")
    # A product that is 0 for every tree is an answer and not an error.
    reweighted = ensemble.reweighted(ensemble.log_weights + factors, validate=False)
    product = reweighted.log_partition()
    possible = product > -torch.inf
    log_mean = product.where(possible, 0.0) - log_partition.where(possible, 0.0)
    result = log_mean.where(possible, -torch.inf).movedim(0, -1)
    return result.squeeze(-1) if canonical.scalar else result
