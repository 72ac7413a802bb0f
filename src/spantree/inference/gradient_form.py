"""The Hessian of log Z from its gradient, by products and differences.

With G = d log Z / dw for every pair of nodes, an edge or not, and G_jj = 0,

    ∂² log Z / ∂w_ij ∂w_kl = −(G_il − G_jl) (G_kj − G_lj)

so that for a direction U, with V = w ∘ U, the Hessian product in log-weights is

    Û[j, l] = Σ_i V_ij (G_il − G_jl)
    J_1[k, l] = μ_kl U_kl − w_kl Σ_j (G_kj − G_lj) Û[j, l]

With a single root, which is the limit of root weights that vanish, G_jl and G_lj vanish beside what
a root edge brings and are left out there.

It subtracts. Its error is about n 2⁻⁵² times the largest κ_jl κ_lj, where κ_jl = (Σ_k w_kj) G_jl is
about 1 for gentle weights and e^b where nodes are bound in a cycle by e^b (docs/numerics.md).
"""

# The function below names the inputs it has; the base class knows of `*args` only.
# pyright: reportIncompatibleMethodOverride=false

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from spantree.inference.ensemble import Ensemble
from spantree.inference.jet import zeroth
from spantree.inference.labels import label_posteriors
from spantree.inference.transforms import may_be_differentiated
from spantree.kernels.elimination import column_shifts

__all__ = ["GradientForm"]

EPSILON = torch.finfo(torch.float64).eps

# The marginal of an edge of weight δ is δ G, so giving δ to pairs without an edge yields G there.
# That moves any entry of G by at most n² δ (2 max G)²: nothing, if G is bounded so.
LOG_ABSENT = -138.0  # δ is 10⁻⁶⁰ of the heaviest edge of the column
LARGEST_GRADIENT = 2.0**50
SMALLEST_LOG_RATIO = -340.0  # of an edge to the heaviest of its column


@dataclass(frozen=True)
class GradientForm:
    """What the Hessians of a batch of graphs are made of.

    All of it is differentiable, to any order, in the log-weights of the ensemble.

    Attributes:
        ensemble: the graphs.
        log_partition: ``(*batch,)``.
        marginals: ``(*batch, n, n)``, parallel edges summed.
        weights: ``(B, n, n)``, the batch flat, those of each column and of the single root divided
            by a constant; parallel edges summed.
        gradient: ``(B, n, n)``, of log Z in these weights.
        counts: ``(n, 1)``, 1 for a head whose G_j. is subtracted, 0 for the single root.
        holds: ``(B,)``, whether doubles sufficed; false also where no tree exists.
    """

    ensemble: Ensemble
    log_partition: Tensor
    marginals: Tensor
    weights: Tensor
    gradient: Tensor
    counts: Tensor
    holds: Tensor

    @classmethod
    def of(cls, ensemble: Ensemble) -> "GradientForm":
        """One elimination of the batch."""
        plain, question = ensemble.plain(), ensemble.question
        log_weights = plain.log_weights
        n, items = log_weights.shape[-1], ensemble.batch_shape.numel()
        possible = plain.edges.expand_as(log_weights).reshape(items, n, n)
        flat = log_weights.reshape(items, n, n)
        present = flat > -torch.inf
        counts = torch.ones(n, 1, dtype=torch.float64, device=flat.device)
        counts[0] = 0.0 if question.single_root else 1.0
        shifts = column_shifts(flat.detach(), single_root=question.single_root)
        # The single root has a shift of its own, where column 0 has no edges.
        shift = shifts[:, None, :] + (1.0 - counts) * shifts[:, :1, None]
        log_ratios = (flat.where(present, shift) - shift).where(present, LOG_ABSENT)

        filled = flat.where(present, shift + LOG_ABSENT).where(possible, -torch.inf)
        log_partition, marginals = zeroth(
            filled.reshape(log_weights.shape),
            ensemble.lengths,
            question._replace(validate=False),
            with_marginals=True,
        )
        gradient = marginals.detach().reshape(flat.shape) * (-log_ratios.detach()).exp()
        # Compared so that NaN, for input that is not a number, holds nothing.
        in_range = (gradient < torch.inf) & (log_ratios >= SMALLEST_LOG_RATIO)
        complete = (present | ~possible).flatten(1).all(1)
        bounded = complete | (gradient <= LARGEST_GRADIENT).flatten(1).all(1)
        holds = in_range.flatten(1).all(1) & bounded
        weights = log_ratios.where(present, -torch.inf).exp()
        if may_be_differentiated(weights):
            gradient = _Gradient.apply(weights, counts, gradient)
        marginals = (weights * gradient).reshape(log_weights.shape)
        return cls(ensemble, log_partition, marginals, weights, gradient, counts, holds)

    def harmless_below(self, bound: float) -> bool:
        """Whether doubles sufficed and the subtractions lose less than ``bound``."""
        entering = (self.weights * self.counts).sum(1)  # Σ_k w_kj
        kappa = entering[:, :, None] * self.gradient * self.counts
        lost = len(self.counts) * EPSILON * (kappa * kappa.mT).amax((1, 2))
        return bool((self.holds & (lost < bound)).all())

    def products(self, directions: Tensor) -> Tensor:
        """J_1 in directions ``(*several, *batch, *edge)``, 2 N³ multiply-adds each."""
        return self.ensemble.hessian_vector_product(directions, plain_product=self._plain_products)

    def _plain_products(self, directions: Tensor) -> Tensor:
        several = directions.shape[: directions.dim() - len(self.ensemble.batch_shape) - 2]
        u = directions.reshape(several.numel(), *self.weights.shape)
        along = self.gradient * u - _along(self.gradient, self.counts, self.weights * u)
        return (self.weights * along).reshape(directions.shape)

    def products_of_edges(self, first: int, last: int) -> Tensor:
        """J_1 of single edges, rows ``first..last-1`` of the Hessian, ``(last - first, B, n, n)``.

        O(N²) each. Of graphs without labels only.
        """
        assert self.ensemble.edge_axes == 2
        w, g = self.weights, self.gradient
        n = w.shape[-1]
        edge = torch.arange(first, last, device=w.device)
        i, j = edge // n, edge % n
        left = (w[:, i, j, None] * (g[:, i] - self.counts[i] * g[:, j])).transpose(0, 1)
        column = g.mT[:, j].transpose(0, 1)  # G_kj for every k
        right = column[..., :, None] - self.counts * column[..., None, :]
        pairs = (w * left[..., None, :] * right).flatten(2)
        itself = edge[:, None, None] == torch.arange(n * n, device=w.device)
        return ((w * g).flatten(1).where(itself, 0.0) - pairs).unflatten(2, (n, n))

    def flat_weights(self) -> Tensor:
        """The weights of all edges ``(B, E)``, those with labels apart."""
        weights = self.weights
        if self.ensemble.edge_axes == 3:
            posteriors = label_posteriors(self.ensemble.log_weights)
            weights = weights[..., None] * posteriors.reshape(*weights.shape, -1)
        return weights.flatten(1)


def _along(gradient: Tensor, counts: Tensor, v: Tensor) -> Tensor:
    """Σ_ij v_ij (G_il − G_jl) (G_kj − G_lj) for every k and l, ``(..., B, n, n)``."""
    hat = v.mT @ gradient - (counts * v).sum(-2)[..., None] * gradient
    p = gradient @ hat
    return p - counts * p.diagonal(dim1=-2, dim2=-1)[..., None, :]


class _Gradient(Function):
    """(weights, counts, G) -> G, with the derivatives that G has in the weights.

    The formula above is one for them, too: the derivative of G is made of G. They are not those of
    the elimination, whose derivatives along an edge of weight δ would have to be divided by it.
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(weights: Tensor, counts: Tensor, gradient: Tensor) -> Tensor:
        return gradient.clone()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        ctx.save_for_backward(inputs[1], output)
        ctx.save_for_forward(inputs[1], output)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        counts, gradient = ctx.saved_tensors
        return -_along(gradient, counts, grad), None, None

    @staticmethod
    def jvp(ctx: Any, tangent: Tensor, *_: None) -> Tensor:
        # The same, as second derivatives are symmetric.
        counts, gradient = ctx.saved_tensors
        return -_along(gradient, counts, tangent)
