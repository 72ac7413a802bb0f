"""Second-order expectations: covariances of edge features under a random tree (T2 of the paper).

Cov(r, s) = ⟨r, J_1(s)⟩: a Hessian product for every feature of one side, then a sum over the
non-zeros of the other. There are two ways to the products:

``exact``
    Dual numbers in the elimination: accurate relative to the marginals, whatever the weights, at
    about 4 N³ multiply-adds a feature.
``gradient``
    The Hessian of log Z is made of its gradient (see `gradient_form`): 2 N³ a feature, or N² for
    each non-zero if these are few. It subtracts: its error is of the order of κ² times the rounding
    of a double, where κ is the largest (Σ_k w_kl) G_lj, about 1 for gentle weights and e^b where
    nodes are bound in a cycle by e^b.

``auto`` counts multiply-adds as above and takes the second way if that is at least eight times
cheaper and 2⁻⁵² κ² is below 1e-12 for every graph of the batch.
"""

from collections.abc import Callable
from typing import Literal, get_args

import torch
from torch import Tensor

from spantree.inference.ensemble import Ensemble
from spantree.inference.features import (
    Features,
    SparseFeatures,
    contract,
    dense_part,
    features_of,
)
from spantree.inference.gradient_form import GradientForm

__all__ = ["CovarianceMethod", "covariance", "second_moment"]

CovarianceMethod = Literal["auto", "exact", "gradient"]

FEATURES_AT_ONCE = 32  # bounds memory: so many times the batch
WORTH_SUBTRACTING = 8.0
HARMLESS = 1e-12

# The Hessian products of features first..last-1, (last - first, *batch, *edge).
_Products = Callable[[Features, int, int], Tensor]


def covariance(
    ensemble: Ensemble, r: Tensor, s: Tensor | None = None, *, method: CovarianceMethod = "auto"
) -> Tensor:
    """Cov(r, s) ``(*batch, R, S)``, without the axis of a side that is scalar.

    Args:
        ensemble: the graphs.
        r: features; see `features`.
        s: features; r itself if None.
        method: see the head of this module.
    """
    if method not in get_args(CovarianceMethod):
        raise ValueError(
            f"method must be one of {str(get_args(CovarianceMethod))[1:-1]}, got {method!r}"
        )
    left = features_of("r", r, ensemble.log_weights, ensemble.edge_axes)
    right = left if s is None else features_of("s", s, ensemble.log_weights, ensemble.edge_axes)
    by_left = left.size < right.size
    few, many = (left, right) if by_left else (right, left)
    products = _products(ensemble, few, many, method)
    rows = [
        contract(products(few, k, min(k + FEATURES_AT_ONCE, few.size)), many, ensemble.edge_axes)
        for k in range(0, few.size, FEATURES_AT_ONCE)
    ]
    shape = (*ensemble.batch_shape, few.size, many.size)
    result = torch.cat(rows).movedim(0, -2) if rows else ensemble.log_weights.new_zeros(shape)
    if not by_left:
        result = result.mT
    if s is None:
        result = (result + result.mT) / 2
    return _without_scalar_axes(result, left.scalar, right.scalar)


def second_moment(
    ensemble: Ensemble,
    marginals: Tensor,
    r: Tensor,
    s: Tensor | None = None,
    *,
    method: CovarianceMethod = "auto",
) -> Tensor:
    """E[r sᵀ] ``(*batch, R, S)``: the covariance and the product of the means."""
    centred = covariance(ensemble, r, s, method=method)
    left = features_of("r", r, ensemble.log_weights, ensemble.edge_axes)
    right = left if s is None else features_of("s", s, ensemble.log_weights, ensemble.edge_axes)
    mean_r, mean_s = (contract(marginals, side, ensemble.edge_axes) for side in (left, right))
    product = mean_r[..., :, None] * mean_s[..., None, :]
    return centred + _without_scalar_axes(product, left.scalar, right.scalar)


def _without_scalar_axes(result: Tensor, left: bool, right: bool) -> Tensor:
    result = result.squeeze(-1) if right else result
    return result.squeeze(-1 if right else -2) if left else result


def _products(
    ensemble: Ensemble, few: Features, many: Features, method: CovarianceMethod
) -> _Products:
    """How to get the Hessian products of the side with fewer features."""
    edge = tuple(ensemble.edge_shape)

    def exact(features: Features, first: int, last: int) -> Tensor:
        return ensemble.hessian_vector_product(dense_part(features, first, last, edge))

    sparse = isinstance(few.stored, SparseFeatures) and isinstance(many.stored, SparseFeatures)
    if method == "exact" or (method == "auto" and not (sparse and _is_cheaper(ensemble, few))):
        return exact
    form = GradientForm.of(ensemble)
    if method == "auto" and not form.harmless_below(HARMLESS):
        return exact
    return form.products


def _is_cheaper(ensemble: Ensemble, few: Features) -> bool:
    n = ensemble.edge_shape[0]
    items = ensemble.batch_shape.numel()
    exact = 4.0 * few.size * items * n**3
    return WORTH_SUBTRACTING * GradientForm.multiply_adds(few, n, items) < exact
