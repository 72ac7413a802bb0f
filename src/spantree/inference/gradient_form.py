"""The Hessian of log Z from its gradient, by products and differences.

With G = d log Z / dw and G_jj = 0,

    ∂² log Z / ∂w_ij ∂w_kl = −(G_il − G_jl) (G_kj − G_lj)

so that for a direction U, with V = w ∘ U, the Hessian product in log-weights is

    Û[j, l] = Σ_i V_ij (G_il − G_jl)
    J_1[k, l] = μ_kl U_kl − w_kl Σ_j (G_kj − G_lj) Û[j, l]

This is the paper's T2, whose r̂ and ŝ are R̂ and Ŝ here. With a single root, which is the limit of
root weights that vanish, G_jl and G_lj vanish beside what a root edge brings and are left out
there.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from spantree.inference.ensemble import Ensemble
from spantree.inference.features import Features, SparseFeatures, dense_part
from spantree.kernels import elimination

__all__ = ["GradientForm"]

EPSILON = torch.finfo(torch.float64).eps


@dataclass(frozen=True)
class GradientForm:
    """What the Hessian products of a batch of graphs are made of.

    Attributes:
        ensemble: the graphs.
        weights: ``(B, n, n)``, scaled by column; the batch is flat here.
        gradient: ``(B, n, n)``, of log Z in these weights.
        counts: ``(n, 1)``, 1 for a head whose G_j. is subtracted, 0 for the single root.
        generic: ``(B,)``, whether the formula holds (see `elimination.Gradient`).
    """

    ensemble: Ensemble
    weights: Tensor
    gradient: Tensor
    counts: Tensor
    generic: Tensor

    @classmethod
    def of(cls, ensemble: Ensemble) -> "GradientForm":
        """One elimination of the batch."""
        log_weights = ensemble.plain().log_weights
        n = log_weights.shape[-1]
        flat = log_weights.reshape(ensemble.batch_shape.numel(), n, n)
        lengths = torch.full((len(flat),), n - 1, device=flat.device)
        if ensemble.lengths is not None:
            lengths = ensemble.lengths.to(torch.int64).reshape(len(flat))
        single_root = ensemble.question.single_root
        weights, gradient, generic = elimination.gradient(flat, lengths, single_root=single_root)
        # Padding has a weight of its own in there.
        weights = weights.where(flat > -torch.inf, 0.0)
        gradient = gradient.where(elimination.possible_pairs(lengths, n), 0.0)
        counts = torch.ones(n, 1, dtype=torch.float64, device=flat.device)
        counts[0] = 0.0 if single_root else 1.0
        return cls(ensemble, weights, gradient, counts, generic)

    @staticmethod
    def multiply_adds(features: Features, n: int, items: int) -> float:
        """How many `products` of all these features would take."""
        dense = 2.0 * features.size * items * n**3
        if not isinstance(features.stored, SparseFeatures):
            return dense
        shared = items if features.stored.item is None else 1
        return min(dense, float(len(features.stored.values)) * shared * n**2)

    def harmless_below(self, bound: float) -> bool:
        """Whether the formula holds and loses less than ``bound`` to its subtractions."""
        entering = (self.weights * self.counts).sum(1)  # Σ_k w_kl
        kappa = (entering[:, :, None] * self.gradient * self.counts).amax((1, 2))
        return bool((self.generic & (EPSILON * kappa * kappa < bound)).all())

    def products(self, features: Features, first: int, last: int) -> Tensor:
        """J_1 of features ``first..last-1``, ``(last - first, *batch, *edge)``."""
        edge = tuple(self.ensemble.edge_shape)
        labeled = self.ensemble.edge_axes == 3
        n, items = edge[0], len(self.weights)
        if not labeled and self.multiply_adds(features, n, items) < 2.0 * features.size * n**3:
            return self._sparse(features, first, last)
        return self.ensemble.hessian_vector_product(
            dense_part(features, first, last, edge), plain_product=self._dense
        )

    def _dense(self, direction: Tensor) -> Tensor:
        w, g = self.weights, self.gradient
        u = direction.reshape(-1, *w.shape)
        v = w * u
        hat = v.mT @ g - (self.counts * v).sum(-2)[..., None] * g
        p = g @ hat
        jet = w * (g * u - (p - self.counts * p.diagonal(dim1=-2, dim2=-1)[..., None, :]))
        return jet.reshape(direction.shape)

    def _sparse(self, features: Features, first: int, last: int) -> Tensor:
        """Every non-zero is a matrix of rank one."""
        assert isinstance(features.stored, SparseFeatures)
        w, g = self.weights, self.gradient
        items, n = w.shape[:2]
        item, edge, feature, values = features.stored
        chosen = (feature >= first) & (feature < last)
        edge, feature, values = edge[chosen], feature[chosen] - first, values[chosen]
        if item is None:
            item = torch.arange(items, device=edge.device).repeat_interleave(len(edge))
            edge, feature, values = (x.repeat(items) for x in (edge, feature, values))
        else:
            item = item[chosen]
        i, j = edge // n, edge % n
        v = w[item, i, j] * values
        row = v[:, None] * (g[item, i] - self.counts[i] * g[item, j])
        column = g[item, :, j]
        # (G_kj − G_lj) Û[j, l] for all k, l; added up by feature and graph.
        rank_one = (column[:, :, None] - self.counts * column[:, None, :]) * row[:, None, :]
        place = feature * items + item
        total = w.new_zeros((last - first) * items, n, n).index_add(0, place, rank_one)
        jet = -w * total.reshape(last - first, items, n, n)
        # Into the flat view: the first-order term, μ_kl U_kl.
        first_order = w.new_zeros(jet.numel())
        first_order = first_order.index_add(0, (place * n + i) * n + j, v * g[item, i, j])
        return (jet + first_order.reshape(jet.shape)).reshape(-1, *self.ensemble.log_weights.shape)
