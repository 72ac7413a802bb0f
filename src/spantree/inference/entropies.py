"""Entropies, cross-entropies and divergences of tree distributions.

All of them are log Z less an expected log-weight, i.e. differences of numbers that can be large
beside the result. A *gauge* keeps these small: every tree has one edge into each node, so a
constant may be taken from the log-weights of each column, and added to log Z, without changing
anything. With the expected log-weight of the column for a constant, what is left to subtract is of
the size of the result.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from spantree.inference.ensemble import Ensemble

__all__ = ["Solved", "cross_entropy", "entropy", "kl_divergence", "log_norm", "renyi_entropy"]

# Where the order is this close to 1 the Rényi entropy is an integral instead of a quotient of
# small numbers. Gauss-Legendre with 8 nodes is exact to the last digits there. Around, where the
# quotient still magnifies the rounding of log Z, one more elimination makes log Z small first.
NEAR_ONE, AROUND_ONE = 1e-4, 0.1
GAUSS_LEGENDRE = (  # nodes in (0, 1) and weights, symmetric about 1/2
    (0.019855071751231884, 0.050614268145188130),
    (0.101666761293186630, 0.111190517226687235),
    (0.237233795041835507, 0.156853322938943644),
    (0.408282678752175098, 0.181341891689180992),
)


class Solved(NamedTuple):
    """Graphs with what is known of them.

    Attributes:
        ensemble: the graphs.
        log_partition: ``(*batch,)``, -inf where there is no tree.
        marginals: ``(*batch, *edge)``, 0 where there is no tree.
    """

    ensemble: Ensemble
    log_partition: Tensor
    marginals: Tensor

    @property
    def feasible(self) -> Tensor:
        """Whether there is a tree, ``(*batch,)``."""
        return self.log_partition > -torch.inf


def entropy(p: Solved) -> Tensor:
    """H(p) = log Z − ⟨μ, θ⟩ ``(*batch,)``; its gradient in θ is −J_1(θ), O(N³) as well."""
    scores = p.ensemble.log_weights.where(p.ensemble.present, 0.0)
    return p.log_partition - _expected(p.marginals, scores, p.ensemble.edge_axes)


def cross_entropy(p: Solved, q: Solved) -> Tensor:
    """−E_p[log q] = log Z_q − ⟨μ_p, θ_q⟩ ``(*batch,)``.

    +inf where p has mass that q forbids. The gradient is then that of the rest of the sum: it
    moves p and q as if the forbidden edges had not been counted, and is finite.
    """
    scores = q.ensemble.log_weights.where(q.ensemble.present, 0.0)
    log_partition = q.log_partition.where(q.feasible, 0.0)
    finite = log_partition - _expected(p.marginals, scores, p.ensemble.edge_axes)
    return finite + _penalty(p, q)


def kl_divergence(p: Solved, q: Solved) -> Tensor:
    """KL(p‖q) = log Z_q − log Z_p + ⟨μ_p, θ_p − θ_q⟩ ``(*batch,)``; 0 where p has no tree.

    The difference of the log-weights is taken first, so that near distributions have a divergence
    near 0, and equal ones one of exactly 0. Infinite as `cross_entropy` is.
    """
    allowed = p.ensemble.present & q.ensemble.present
    theta_p, theta_q = (x.ensemble.log_weights.where(allowed, 0.0) for x in (p, q))
    shift = q.log_partition.where(q.feasible, 0.0) - p.log_partition.where(p.feasible, 0.0)
    finite = shift + _expected(p.marginals, theta_p - theta_q, p.ensemble.edge_axes)
    return finite.where(p.feasible, 0.0) + _penalty(p, q)


def renyi_entropy(p: Solved, order: float) -> Tensor:
    """The logarithm of Σ_d p(d)^α / (1 − α), from log Z(αθ) and log Z(θ) alone.

    Order 0 is the logarithm of the number of trees. Around 1 the quotient would lose its digits to
    the difference above it, which is an integral of d log Z(tθ)/dt = ⟨μ_t, θ⟩ and is computed so.
    """
    gap, ensemble = 1.0 - order, p.ensemble
    scores = ensemble.log_weights.where(ensemble.present, 0.0)
    if abs(gap) > NEAR_ONE:
        log_partition = p.log_partition
        if abs(gap) < AROUND_ONE:
            constants = _column_means(p.marginals, scores, ensemble.edge_axes)
            ensemble = ensemble.reweighted(ensemble.log_weights - constants)
            log_partition = ensemble.log_partition()
        power = ensemble.tempered(order).log_partition()
        return _difference(power, order * log_partition, p.feasible) / gap
    mean = torch.zeros_like(p.log_partition)
    for node, weight in GAUSS_LEGENDRE:
        for at in (node, 1.0 - node):
            _, marginals = ensemble.tempered(1.0 - gap * at).solve()
            mean = mean + weight * _expected(marginals, scores, ensemble.edge_axes)
    return p.log_partition - mean


def log_norm(ensemble: Ensemble, log_partition: Tensor, order: float) -> Tensor:
    """The logarithm of the ℓ_k norm (Σ_d p(d)^k)^(1/k)."""
    feasible = log_partition > -torch.inf
    return _difference(ensemble.tempered(order).log_partition() / order, log_partition, feasible)


def _difference(a: Tensor, b: Tensor, feasible: Tensor) -> Tensor:
    """The difference of two log-partition functions, -inf where there is no tree."""
    return (a.where(feasible, 0.0) - b.where(feasible, 0.0)).where(feasible, -torch.inf)


def _expected(marginals: Tensor, values: Tensor, edge_axes: int) -> Tensor:
    """⟨μ, v⟩, through the gauge that keeps its derivatives well scaled."""
    constants = _column_means(marginals, values, edge_axes)
    # Columns without edges have constant 0, the others marginals that sum to 1.
    rest = (marginals * (values - constants)).sum(tuple(range(-edge_axes, 0)))
    return constants.sum(tuple(range(-edge_axes, 0))) + rest


def _column_means(marginals: Tensor, values: Tensor, edge_axes: int) -> Tensor:
    """The gauge: what is expected of the edge into each node, one constant for each column."""
    heads = tuple(axis for axis in range(-edge_axes, 0) if axis != 1 - edge_axes)
    return (marginals * values).detach().sum(heads, keepdim=True)


def _penalty(p: Solved, q: Solved) -> Tensor:
    """+inf where p has mass that q forbids, else 0: added, so that gradients of the rest pass."""
    outside = (p.marginals > 0) & ~q.ensemble.present
    forbids = outside.flatten(-p.ensemble.edge_axes).any(-1) | (p.feasible & ~q.feasible)
    if q.ensemble.question.single_root and not p.ensemble.question.single_root:
        # With two possible children of the root there is a tree with both: move the second there.
        from_root = p.marginals.movedim(-p.ensemble.edge_axes, 0)[0] > 0
        children = from_root.any(-1) if p.ensemble.edge_axes == 3 else from_root
        forbids = forbids | (children.sum(-1) > 1)
    return torch.zeros_like(p.log_partition + q.log_partition).masked_fill(forbids, torch.inf)
