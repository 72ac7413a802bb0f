"""Totals: unnormalised expectations under the names of the paper, to be read beside it.

Zmigrod, Vieira and Cotterell, "Efficient Computation of Expectations under Spanning Tree
Distributions" (TACL 2021). Over all trees d, each of the weight w(d) = Π_{(i→j) ∈ d} w_ij,

    Z(w∘q)   = Σ_d w(d) q(d)           q(d) = Π q_ij     `zeroth_order`
    r̄        = Σ_d w(d) r(d)           r(d) = Σ r_ij     `first_order`, T1
    t̄        = Σ_d w(d) r(d) s(d)ᵀ                       `second_order`, T2, T2^v and T2^h

The paper's sizes are used throughout: N nodes beside the root, R features of which an edge has at
most R', R̄ = min(R, N R'), and S, S', S̄ likewise. What counts as R' is what is stored: that of a
dense tensor is R.

Weights are weights here, not their logarithms: w_ij ≥ 0, and 0 forbids an edge; derivatives along
it are 0. A graph without a tree has totals of 0. A total is as large as the trees are many and
heavy: that of a long sentence can exceed the largest double, 10³⁰⁸, and comes back infinite, or NaN
where features of either sign meet. Expectations do not overflow; they are in `SpanningTree`.
"""

from typing import Literal, get_args

import torch
from torch import Tensor

from spantree.checks import Root, check_edges
from spantree.errors import raise_for_weights
from spantree.inference.covariances import (
    covariance_by_products,
    hats_are_quicker,
    without_scalar_axes,
)
from spantree.inference.ensemble import Ensemble
from spantree.inference.features import Features, contract, dense_part, features_of, outer
from spantree.inference.gradient_form import GradientForm
from spantree.inference.hats import sparse_covariance

__all__ = ["SecondOrderMethod", "first_order", "second_order", "zeroth_order"]

SecondOrderMethod = Literal["unified", "vector", "hessian"]

HARMLESS = 1e-8  # what the differences in T2 and T2^h may lose before another way is taken
NUMBERS_AT_ONCE = 2**20  # of the Hessian


def zeroth_order(
    w: Tensor,
    q: Tensor | None = None,
    lengths: Tensor | None = None,
    *,
    root: Root = "single",
    validate_args: bool | None = None,
) -> Tensor:
    """Z(w∘q) = Σ_d w(d) q(d), the total of a function that multiplies over the edges of a tree.

    One elimination for each component of q, O(Q N³), where the paper takes a determinant (Theorem
    1, Proposition 1). Differentiable to any order in w and q.

    Args:
        w: ``(..., n, n)`` weights, ``[head, dependent]``; node 0 is the root. 0 forbids an edge.
            Column 0 and the diagonal are ignored.
        q: ``(..., n, n)``, or ``(..., n, n, Q)``, at least 0; 1 everywhere if None. Without the
            batch axes it serves all graphs. Dense, or ``torch.sparse_coo``, which means 0 wherever
            nothing is stored.
        lengths: ``(...)`` number of non-root nodes of each graph; see `log_partition`.
        root: ``"single"`` or ``"multi"``.
        validate_args: whether to look for weights that are negative, infinite or NaN; by default as
            torch.distributions does.

    Returns:
        ``(...)``, or ``(..., Q)``.

    Raises:
        TypeError, ValueError: if an argument does not fit; the message says how.

    Example:
        Three nodes have nine trees, each with one edge from the root. If that counts double, so
        does every tree.

        >>> import torch
        >>> w, q = torch.ones(4, 4), torch.ones(4, 4)
        >>> q[0] = 2.0
        >>> zeroth_order(w).round(), zeroth_order(w, q).round()
        (tensor(9.), tensor(18.))
    """
    ensemble, validate = _graphs(w, lengths, root, validate_args)
    if q is None:
        return ensemble.log_partition().exp().to(_dtype(w))
    factors = features_of("q", q, ensemble.log_weights)
    dense = dense_part(factors, 0, factors.size, tuple(ensemble.edge_shape))
    if validate:
        for factor in dense:
            raise_for_weights("q", factor, _wrong(factor) & ensemble.present)
    total = ensemble.reweighted(ensemble.log_weights + _log(dense)).log_partition().exp()
    total = total.movedim(0, -1).to(_dtype(w))
    return total.squeeze(-1) if factors.scalar else total


def first_order(
    w: Tensor,
    r: Tensor,
    lengths: Tensor | None = None,
    *,
    root: Root = "single",
    validate_args: bool | None = None,
) -> Tensor:
    """T1: r̄ = Σ_d w(d) r(d), the total of a function that adds over the edges of a tree.

    By Propositions 3 and 4, r̄ = Σ_ij w̃_ij r_ij, with w̃_ij = w_ij ∂Z/∂w_ij the total weight of
    the trees with the edge. O(N³ + N² R') time, O(N² + R) space. (The head of the paper's T1 says
    O(N³ R') time; its analysis is right.) Differentiable to any order in w and r.

    Args:
        w: ``(..., n, n)`` weights; see `zeroth_order`, as for the other arguments.
        r: ``(..., n, n)``, or ``(..., n, n, R)``, without the batch axes if it serves all graphs;
            dense or ``torch.sparse_coo``. What dense features hold off the edges is ignored.
        lengths: ``(...)`` number of non-root nodes of each graph.
        root: ``"single"`` or ``"multi"``.
        validate_args: whether to look for bad weights.

    Returns:
        ``(...)``, or ``(..., R)``.

    Example:
        Three edges in each of nine trees, one of them from the root.

        >>> import torch
        >>> r = torch.ones(4, 4, 2)
        >>> r[1:, :, 1] = 0.0
        >>> first_order(torch.ones(4, 4), r).round()
        tensor([27.,  9.])
    """
    ensemble, _ = _graphs(w, lengths, root, validate_args)
    features = features_of("r", r, ensemble.log_weights)
    log_partition, marginals = ensemble.solve()
    result = log_partition.exp()[..., None] * contract(marginals, features)
    result = result.to(_dtype(w))
    return result.squeeze(-1) if features.scalar else result


def second_order(
    w: Tensor,
    r: Tensor,
    s: Tensor,
    lengths: Tensor | None = None,
    *,
    root: Root = "single",
    method: SecondOrderMethod = "unified",
    validate_args: bool | None = None,
) -> Tensor:
    """T2: t̄ = Σ_d w(d) r(d) s(d)ᵀ, the total of a product of two functions that add over edges.

    Proposition 7 gives it from the derivatives of r̄, or from the second derivatives of Z, through
    the total weights w̃_ij,kl of the trees with two edges. Z Cov(r, s) + r̄ s̄ᵀ / Z is the same.

    ``"unified"``
        T2. Every second derivative of Z is a difference of products, and the sums over either
        factor can be taken first (Eq. 32): t̄ = f̄ + r̄ s̄ᵀ/Z − Z Σ r̂ ŝᵀ. Time
        O(N³ (R' + S') + RS + N² R̄ S̄), space O(RS + N² (R̄ + S̄)). The paper's formulas are in terms
        of B, the inverse of a Laplacian; these are in terms of the gradient of log Z, for any root
        alike. With r̂ put in, the sum over j and l is a product with the Hessian for every feature
        of s. That is T2^v, which is taken where one side has so few features that it is quicker.
    ``"vector"``
        T2^v. For each component of the smaller side the derivative of its total, by one product
        with the Hessian: w_ij ∂r̄/∂w_ij = Z (J_1(r) + E[r] μ)_ij. Time O(R (N³ + N² S')), if R is
        the smaller. In space O(N² + RS), as the products are not kept.
    ``"hessian"``
        T2^h. All w̃_ij,kl, in blocks, and a sum over pairs of edges. The sum over s is done first,
        O(N⁴ S' + N² R' S) time instead of the paper's O(N⁴ R' S'), in O(N² + RS) space.

    T2 and T2^h subtract, and lose digits where nodes are bound in a cycle (see "Numerics" in the
    documentation). Where they would lose more than eight, or leave the range of doubles, T2^v
    answers in their place; it is accurate for every input.

    Differentiable in w, r and s, to any order; the derivative of T2^h remembers N⁴ numbers.

    Args:
        w: ``(..., n, n)`` weights; see `zeroth_order`, as for the other arguments.
        r: features; see `first_order`.
        s: features.
        lengths: ``(...)`` number of non-root nodes of each graph.
        root: ``"single"`` or ``"multi"``.
        method: ``"unified"``, ``"vector"`` or ``"hessian"``.
        validate_args: whether to look for bad weights.

    Returns:
        ``(..., R, S)``, without the axis of a side that is scalar.

    Example:
        Each of nine trees has one edge from the root, and three edges to pair it with.

        >>> import torch
        >>> r, s = torch.zeros(4, 4), torch.ones(4, 4)
        >>> r[0] = 1.0
        >>> second_order(torch.ones(4, 4), r, s).round()
        tensor(27.)
    """
    if method not in get_args(SecondOrderMethod):
        raise ValueError(
            f"method must be one of {str(get_args(SecondOrderMethod))[1:-1]}, got {method!r}"
        )
    ensemble, _ = _graphs(w, lengths, root, validate_args)
    left = features_of("r", r, ensemble.log_weights)
    right = features_of("s", s, ensemble.log_weights)
    by_vectors = method == "vector" or (
        method == "unified" and not hats_are_quicker(ensemble, left, right)
    )
    form = None if by_vectors else GradientForm.of(ensemble)
    if form is None or not form.harmless_below(HARMLESS):
        expected = _by_vectors(ensemble, left, right)
    elif method == "unified":
        expected = _unified(form, left, right)
    else:
        expected = _by_hessian(form, left, right)
    return without_scalar_axes(expected, left, right).to(_dtype(w))


def _unified(form: GradientForm, r: Features, s: Features) -> Tensor:
    """T2, Figure 3."""
    z, mean_r, mean_s = (form.log_partition.exp(), *_means(form.marginals, r, s))
    return _uncentred(z, sparse_covariance(form, r, s), mean_r, mean_s)


def _by_vectors(ensemble: Ensemble, r: Features, s: Features) -> Tensor:
    """T2^v, Figure 3."""
    log_partition, marginals = ensemble.solve()
    centred = covariance_by_products(ensemble, r, s, ensemble.hessian_vector_product)
    return _uncentred(log_partition.exp(), centred, *_means(marginals, r, s))


def _by_hessian(form: GradientForm, r: Features, s: Features) -> Tensor:
    """T2^h, Figure 3."""
    batch, n = form.ensemble.batch_shape, form.ensemble.edge_shape[0]
    result = form.weights.new_zeros(*batch, r.size, s.size)
    marginals = form.marginals.reshape(batch.numel(), n * n)
    at_once = max(1, NUMBERS_AT_ONCE // max(1, marginals.numel()))
    for first in range(0, n * n, at_once):
        last = min(first + at_once, n * n)
        # Of each of these edges with any edge, itself included.
        together = form.products_of_edges(first, last).flatten(2)
        together = together + marginals.T[first:last, :, None] * marginals
        sums = contract(together.reshape(last - first, *batch, n, n), s)
        result = result + outer(r, sums, first)
    return form.log_partition.exp()[..., None, None] * result


def _means(marginals: Tensor, r: Features, s: Features) -> tuple[Tensor, Tensor]:
    return contract(marginals, r), contract(marginals, s)


def _uncentred(z: Tensor, centred: Tensor, mean_r: Tensor, mean_s: Tensor) -> Tensor:
    moment = torch.addcmul(centred, mean_r[..., :, None], mean_s[..., None, :])
    return z[..., None, None] * moment


def _graphs(
    w: Tensor, lengths: Tensor | None, root: Root, validate_args: bool | None
) -> tuple[Ensemble, bool]:
    """The graphs, and whether values are to be checked; those of w have been.

    A graph without a tree is none of the engine's errors: it has totals of 0.
    """
    check_edges("w", w, 2)
    ensemble = Ensemble.of(_log(w.double()), lengths, root, validate_args)
    validate = ensemble.question.validate
    if validate:
        raise_for_weights("w", w, _wrong(w) & ensemble.edges)
    return ensemble.reweighted(ensemble.log_weights, validate=False), validate


def _log(weights: Tensor) -> Tensor:
    """Log-weights; a weight of 0, which is no edge, has no derivative."""
    exists = weights != 0.0
    return weights.where(exists, 1.0).log().where(exists, -torch.inf)


def _wrong(weights: Tensor) -> Tensor:
    return ~((weights >= 0.0) & (weights < torch.inf))


def _dtype(w: Tensor) -> torch.dtype:
    """Of results: that of the weights, float32 for half precisions."""
    return w.dtype if w.dtype in (torch.float32, torch.float64) else torch.float32
