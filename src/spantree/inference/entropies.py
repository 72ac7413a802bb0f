"""Entropies, cross-entropies and divergences of tree distributions.

All of them are log Z less an expected log-weight, i.e. differences of numbers that can be large
beside the result. A *gauge* keeps these small: every tree has one edge into each node, so a
constant may be taken from the log-weights of each column, and added to log Z, without changing
anything. With the expected log-weight of the column for a constant, what is left to subtract is of
the size of the result.
"""

import torch
from torch import Tensor

from spantree.inference.ensemble import Ensemble

__all__ = ["cross_entropy", "entropy", "kl_divergence", "log_norm", "renyi_entropy"]

# Where the order is this close to 1 the Rényi entropy is an integral instead of a quotient of
# small numbers. Gauss-Legendre with 8 nodes is exact to the last digits there.
NEAR_ONE = 1e-4
GAUSS_LEGENDRE = (  # nodes in (0, 1) and weights, symmetric about 1/2
    (0.019855071751231884, 0.050614268145188130),
    (0.101666761293186630, 0.111190517226687235),
    (0.237233795041835507, 0.156853322938943644),
    (0.408282678752175098, 0.181341891689180992),
)


def entropy(ensemble: Ensemble, log_partition: Tensor, marginals: Tensor) -> Tensor:
    """H(p) = log Z − ⟨μ, θ⟩ ``(*batch,)``; its gradient in θ is −J_1(θ), O(N³) as well."""
    scores = ensemble.log_weights.where(ensemble.present, 0.0)
    return log_partition - _expected(marginals, scores, ensemble.edge_axes)


def cross_entropy(
    marginals: Tensor, log_partition_of_q: Tensor, log_weights_of_q: Tensor, edge_axes: int
) -> Tensor:
    """−E_p[log q] = log Z_q − ⟨μ_p, θ_q⟩ ``(*batch,)``.

    +inf where p has mass that q forbids. The gradient is then that of the rest of the sum: it
    moves p and q as if the forbidden edges had not been counted, and is finite.
    """
    allowed = log_weights_of_q > -torch.inf
    finite = log_partition_of_q - _expected(
        marginals, log_weights_of_q.where(allowed, 0.0), edge_axes
    )
    return _infinite_where((marginals > 0) & ~allowed, finite, edge_axes)


def kl_divergence(
    log_partitions: tuple[Tensor, Tensor],
    marginals: Tensor,
    log_weights: tuple[Tensor, Tensor],
    edge_axes: int,
) -> Tensor:
    """KL(p‖q) = log Z_q − log Z_p + ⟨μ_p, θ_p − θ_q⟩ ``(*batch,)``.

    The difference of the log-weights is taken first, so that near distributions have a divergence
    near 0, and equal ones one of exactly 0. Infinite as `cross_entropy` is.
    """
    theta_p, theta_q = log_weights
    allowed = (theta_p > -torch.inf) & (theta_q > -torch.inf)
    difference = theta_p.where(allowed, 0.0) - theta_q.where(allowed, 0.0)
    shift = log_partitions[1] - log_partitions[0]
    finite = shift + _expected(marginals, difference, edge_axes)
    return _infinite_where((marginals > 0) & (theta_q == -torch.inf), finite, edge_axes)


def renyi_entropy(ensemble: Ensemble, log_partition: Tensor, order: float) -> Tensor:
    """The logarithm of Σ_d p(d)^α / (1 − α), from log Z(αθ) and log Z(θ) alone.

    Order 0 is the logarithm of the number of trees. Around 1 the quotient would lose its digits to
    the difference above it, which is an integral of d log Z(tθ)/dt = ⟨μ_t, θ⟩ and is computed so.
    """
    gap = 1.0 - order
    if abs(gap) > NEAR_ONE:
        return (ensemble.tempered(order).log_partition() - order * log_partition) / gap
    scores = ensemble.log_weights.where(ensemble.present, 0.0)
    mean = torch.zeros_like(log_partition)
    for node, weight in GAUSS_LEGENDRE:
        for at in (node, 1.0 - node):
            _, marginals = ensemble.tempered(1.0 - gap * at).solve()
            mean = mean + weight * _expected(marginals, scores, ensemble.edge_axes)
    return log_partition - mean


def log_norm(ensemble: Ensemble, log_partition: Tensor, order: float) -> Tensor:
    """The logarithm of the ℓ_k norm (Σ_d p(d)^k)^(1/k)."""
    return ensemble.tempered(order).log_partition() / order - log_partition


def _expected(marginals: Tensor, values: Tensor, edge_axes: int) -> Tensor:
    """⟨μ, v⟩, through the gauge that keeps its derivatives well scaled."""
    heads = tuple(axis for axis in range(-edge_axes, 0) if axis != 1 - edge_axes)
    constants = (marginals * values).detach().sum(heads, keepdim=True)
    # Columns without edges have constant 0, the others marginals that sum to 1.
    rest = (marginals * (values - constants)).sum(tuple(range(-edge_axes, 0)))
    return constants.sum(tuple(range(-edge_axes, 0))) + rest


def _infinite_where(violated: Tensor, finite: Tensor, edge_axes: int) -> Tensor:
    # Added, not selected, so that the gradient of what is finite passes.
    penalty = torch.zeros_like(finite).masked_fill(violated.flatten(-edge_axes).any(-1), torch.inf)
    return finite + penalty
