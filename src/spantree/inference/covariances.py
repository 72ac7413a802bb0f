"""Second-order expectations: covariances of edge features under a random tree (T2 of the paper).

Cov(r, s) = ⟨J_1(r), s⟩, with two ways to the Hessian J_1 of log Z:

``exact``
    Dual numbers in the elimination, one direction for each feature of the smaller side: accurate
    relative to the marginals, whatever the weights, at about 4 N³ multiply-adds a feature.
``gradient``
    The Hessian from the gradient G of log Z (see `gradient_form`), T2 as the paper has it. Where a
    side has few features, by its products with the Hessian, 2 N³ multiply-adds a feature; between
    two sides of many sparse features, by their r̂ and ŝ (see `hats`). It subtracts, and loses
    digits where nodes are bound in cycles.

``auto`` takes the second way if both sides are sparse, it is at least four times cheaper by the
costs below, and it loses less than 1e-12 for every graph of the batch. That takes thousands of
features on both sides.
"""

from collections.abc import Callable
from typing import Literal, get_args

import torch
from torch import Tensor

from spantree.inference.ensemble import Ensemble
from spantree.inference.features import Features, contract, dense_part, features_of
from spantree.inference.gradient_form import GradientForm
from spantree.inference.hats import sparse_covariance

__all__ = [
    "CovarianceMethod",
    "covariance",
    "covariance_by_gradient",
    "covariance_by_products",
    "hats_are_quicker",
    "second_moment",
    "without_scalar_axes",
]

CovarianceMethod = Literal["auto", "exact", "gradient"]

WORTH_SUBTRACTING = 4.0
HARMLESS = 1e-12

# What things cost, in multiply-adds of the elimination, as measured for N = 10 to 80: a product
# with the Hessian, times N³ and N²; what is done for each number; a sparse graph by itself.
EXACT_PRODUCT, GRADIENT_PRODUCT = (4.0, 0.0), (2.0, 100.0)
SCATTERED, PAIR, GRAPH = 50.0, 80.0, 4.5e6

NUMBERS_AT_ONCE = 2**17  # of Hessian products, so that these do not decide about memory


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
    left, right, centred = _centred(ensemble, r, s, method)
    return without_scalar_axes(centred, left, right)


def second_moment(
    ensemble: Ensemble,
    marginals: Tensor,
    r: Tensor,
    s: Tensor | None = None,
    *,
    method: CovarianceMethod = "auto",
) -> Tensor:
    """E[r sᵀ] ``(*batch, R, S)``: the covariance and the product of the means."""
    left, right, centred = _centred(ensemble, r, s, method)
    mean_r, mean_s = (contract(marginals, side, ensemble.edge_axes) for side in (left, right))
    moment = torch.addcmul(centred, mean_r[..., :, None], mean_s[..., None, :])
    return without_scalar_axes(moment, left, right)


def without_scalar_axes(result: Tensor, left: Features, right: Features) -> Tensor:
    """Drops the axis of a side that came without one."""
    result = result.squeeze(-1) if right.scalar else result
    return result.squeeze(-1 if right.scalar else -2) if left.scalar else result


def covariance_by_products(
    ensemble: Ensemble, left: Features, right: Features, products: Callable[[Tensor], Tensor]
) -> Tensor:
    """Cov(r, s) ``(*batch, R, S)`` from J_1 of every feature of the smaller side.

    Args:
        ensemble: the graphs.
        left: r.
        right: s.
        products: J_1 in directions ``(*several, *batch, *edge)``.
    """
    by_left = left.size < right.size
    few, many = (left, right) if by_left else (right, left)
    edge = tuple(ensemble.edge_shape)
    at_once = max(1, NUMBERS_AT_ONCE // max(1, ensemble.log_weights.numel()))
    rows = [
        contract(
            products(dense_part(few, k, min(k + at_once, few.size), edge)),
            many,
            ensemble.edge_axes,
        )
        for k in range(0, few.size, at_once)
    ]
    shape = (few.size, *ensemble.batch_shape, many.size)
    result = torch.cat(rows) if rows else ensemble.log_weights.new_zeros(shape)
    return result.movedim(0, -2 if by_left else -1)


def hats_are_quicker(ensemble: Ensemble, left: Features, right: Features) -> bool:
    """Whether r̂ and ŝ cost less than accurate products with the Hessian for one side."""
    return _by_hats(ensemble, left, right) < _by_few(ensemble, left, right, EXACT_PRODUCT)


def covariance_by_gradient(form: GradientForm, left: Features, right: Features) -> Tensor:
    """Cov(r, s) ``(*batch, R, S)`` in the gradient form, in the cheaper of its two ways."""
    if _by_hats(form.ensemble, left, right) < _by_few(form.ensemble, left, right, GRADIENT_PRODUCT):
        return sparse_covariance(form, left, right)
    return covariance_by_products(form.ensemble, left, right, form.products)


def _centred(
    ensemble: Ensemble, r: Tensor, s: Tensor | None, method: CovarianceMethod
) -> tuple[Features, Features, Tensor]:
    """Both sides, and their covariance ``(*batch, R, S)``; symmetric where s is r."""
    left = right = features_of("r", r, ensemble.log_weights, ensemble.edge_axes)
    if s is None:
        result = _by_method(ensemble, left, right, method)
        return left, right, (result + result.mT) / 2
    right = features_of("s", s, ensemble.log_weights, ensemble.edge_axes)
    return left, right, _by_method(ensemble, left, right, method)


def _by_method(
    ensemble: Ensemble, left: Features, right: Features, method: CovarianceMethod
) -> Tensor:
    if method not in get_args(CovarianceMethod):
        raise ValueError(
            f"method must be one of {str(get_args(CovarianceMethod))[1:-1]}, got {method!r}"
        )
    exact = _by_few(ensemble, left, right, EXACT_PRODUCT)
    if method == "gradient" or (
        method == "auto" and WORTH_SUBTRACTING * _by_hats(ensemble, left, right) < exact
    ):
        form = GradientForm.of(ensemble)
        # Graphs without a tree, or beyond the range of doubles, are for the other way to judge.
        if form.harmless_below(HARMLESS if method == "auto" else torch.inf):
            return covariance_by_gradient(form, left, right)
    return covariance_by_products(ensemble, left, right, ensemble.hessian_vector_product)


def _by_few(
    ensemble: Ensemble, left: Features, right: Features, product: tuple[float, float]
) -> float:
    """What products with the Hessian for the side of fewer features cost."""
    few, many = sorted((left, right), key=lambda side: side.size)
    entries = many.numbers * (SCATTERED if many.is_sparse else 1.0)
    n, items = ensemble.edge_shape[0], ensemble.batch_shape.numel()
    return few.size * (items * (product[0] * n**3 + product[1] * n**2) + entries)


def _by_hats(ensemble: Ensemble, left: Features, right: Features) -> float:
    """What the way by r̂ and ŝ costs at most; it is for sparse features only."""
    n, items = ensemble.edge_shape[0], ensemble.batch_shape.numel()
    if not (left.is_sparse and right.is_sparse and left.size and right.size and items):
        return torch.inf
    r_rows, s_rows = (min(side.numbers / items, n * side.size) for side in (left, right))
    groups = 1 if left.is_shared and right.is_shared else items
    return PAIR * items * r_rows * s_rows + GRAPH * groups
