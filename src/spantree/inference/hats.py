"""Covariances of many sparse features on both sides: the paper's r̂ and ŝ, and where they meet.

In the gradient form (see `gradient_form`) both edges of a pair contribute a factor of their own,

    r̂[j, l] = Σ_i w_ij r_ij (G_il − G_jl)            one vector of R features for each pair of nodes
    Cov(r, s) = Σ_ij μ_ij r_ij s_ijᵀ − Σ_jl r̂[j, l] ŝ[l, j]ᵀ

If an edge has at most R' features, r̂[j, l] has at most R̄ = min(R, N R'), the same for every l: the
features of the edges into j. So r̂ is stored as one row of N numbers for each feature of each
dependent, and the sum over pairs of nodes becomes one over pairs of rows, (j, f) of r̂ and (l, f')
of ŝ, each adding r̂[j, l]_f ŝ[l, j]_f' to Cov_ff'. Time O(N³ (R' + S') + N² R̄ S̄) and, as pairs are
taken in blocks, memory O(N² (R̄ + S̄)), beside the result.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor

from spantree.inference.features import Features, SparseFeatures
from spantree.inference.gradient_form import GradientForm

__all__ = ["sparse_covariance"]

PAIRS_AT_ONCE = 2**17  # as many numbers as stay in the cache


class _Graphs(NamedTuple):
    """Graphs of a gradient form that have the same features.

    Attributes:
        weights: ``(B, E)``, of all edges, parallel ones apart.
        gradient: ``(B, n, n)``.
        counts: ``(n, 1)``.
        labels: how many edges a pair of nodes has.
    """

    weights: Tensor
    gradient: Tensor
    counts: Tensor
    labels: int

    def ends(self, edge: Tensor) -> tuple[Tensor, Tensor]:
        """Head and dependent of edges."""
        n = self.gradient.shape[-1]
        pair = edge // self.labels
        return pair // n, pair % n


class _Hats(NamedTuple):
    """r̂ without its zeros: a row for each feature of each dependent, by feature.

    Attributes:
        feature: ``(m,)``, ascending.
        dependent: ``(m,)``.
        values: ``(B, m, n)``: r̂[j, l]_f for all l.
        complete: whether there is exactly one row for each feature.
    """

    feature: Tensor
    dependent: Tensor
    values: Tensor
    complete: bool


def sparse_covariance(form: GradientForm, left: Features, right: Features) -> Tensor:
    """Cov(r, s) ``(*batch, R, S)`` of features of which both sides are sparse."""
    assert isinstance(left.stored, SparseFeatures)
    assert isinstance(right.stored, SparseFeatures)
    shape = (*form.ensemble.batch_shape, left.size, right.size)
    weights, items = form.flat_weights(), len(form.weights)
    labels = weights.shape[1] // form.weights[0].numel() if items else 1
    graphs = _Graphs(weights, form.gradient, form.counts, labels)
    if left.stored.item is None and right.stored.item is None:
        return _covariance(graphs, left, right).reshape(shape)
    results = [
        _covariance(
            graphs._replace(weights=weights[i : i + 1], gradient=form.gradient[i : i + 1]),
            left._replace(stored=r),
            right._replace(stored=s),
        )
        for i, (r, s) in enumerate(
            zip(_by_item(left.stored, items), _by_item(right.stored, items), strict=True)
        )
    ]
    return torch.cat(results).reshape(shape) if results else weights.new_zeros(shape)


def _by_item(features: SparseFeatures, items: int) -> Iterator[SparseFeatures]:
    """The non-zeros of every graph; they come sorted by graph."""
    item, edge, feature, values = features
    if item is None:
        yield from (features for _ in range(items))
        return
    bounds = torch.searchsorted(item, torch.arange(items + 1, device=item.device)).tolist()
    for first, last in pairwise(bounds):
        yield SparseFeatures(None, edge[first:last], feature[first:last], values[first:last])


def _covariance(graphs: _Graphs, left: Features, right: Features) -> Tensor:
    """``(B, R, S)``."""
    r, s = left.stored, right.stored
    assert isinstance(r, SparseFeatures)
    assert isinstance(s, SparseFeatures)
    r_hat, s_hat = _hats(graphs, r, left.size), _hats(graphs, s, right.size)
    minus_s_hat = (-s_hat.values).mT.contiguous()
    blocks = [
        _meet(r_hat, s_hat, minus_s_hat, rows, features, right.size)
        for rows, features in _blocks(r_hat, left.size, s_hat.values[..., 0].numel())
    ]
    result = torch.cat(blocks, dim=1)
    at, moments = _first_order(graphs, r, s, right.size)
    # In place: the result may be most of what memory is spent on.
    result.view(len(result), -1).scatter_add_(1, at.expand(len(result), -1), moments)
    return result


def _hats(graphs: _Graphs, features: SparseFeatures, count: int) -> _Hats:
    """O(N) for each non-zero."""
    n, g = graphs.gradient.shape[-1], graphs.gradient
    i, j = graphs.ends(features.edge)
    rows, row = torch.unique(features.feature * n + j, return_inverse=True)
    feature, dependent = rows // n, rows % n
    v = graphs.weights[:, features.edge] * features.values
    values = v.new_zeros(len(v), len(rows), n)
    for part in torch.arange(len(i), device=i.device).split(max(1, PAIRS_AT_ONCE // n)):
        at, to = i[part], j[part]
        terms = v[:, part, None] * (g[:, at] - graphs.counts[at] * g[:, to])
        values.index_add_(1, row[part], terms)
    complete = torch.equal(feature, torch.arange(count, device=feature.device))
    return _Hats(feature, dependent, values, complete)


def _blocks(
    hats: _Hats, features: int, pairs_in_a_row: int
) -> Iterator[tuple[slice, tuple[int, int]]]:
    """Rows in blocks of whole features: which rows, and the first feature and that after the last.

    Together they cover all features, those without rows as well.
    """
    every = torch.arange(features + 1, device=hats.feature.device)
    starts = torch.searchsorted(hats.feature, every)
    # A block ends where the number of rows passes a multiple of what fits.
    block = starts // max(1, PAIRS_AT_ONCE // max(1, pairs_in_a_row))
    bounds = [0, *(block.diff().nonzero().flatten() + 1).tolist()]
    bounds += [features] if bounds[-1] < features else []
    rows = starts[bounds].tolist()
    for k in range(len(bounds) - 1):
        yield slice(rows[k], rows[k + 1]), (bounds[k], bounds[k + 1])


def _meet(
    r_hat: _Hats,
    s_hat: _Hats,
    minus_s_hat: Tensor,
    rows: slice,
    features: tuple[int, int],
    others: int,
) -> Tensor:
    """−Σ_jl r̂[j, l] ŝ[l, j]ᵀ for some features of r, ``(B, last - first, S)``.

    ``minus_s_hat`` has the values of ŝ by node, ``(B, n, m)``, and with the sign changed.
    """
    first, last = features
    # Row (j, f) of r̂ at the dependent l of every row (l, f') of ŝ, and the other way round.
    ours = r_hat.values[:, rows].index_select(2, s_hat.dependent)
    pairs = ours * minus_s_hat.index_select(1, r_hat.dependent[rows])
    if not s_hat.complete:
        to = s_hat.feature.expand(pairs.shape)
        pairs = pairs.new_zeros(*pairs.shape[:2], others).scatter_add(2, to, pairs)
    if r_hat.complete:
        return pairs
    result = pairs.new_zeros(len(pairs), last - first, others)
    return result.index_add(1, r_hat.feature[rows] - first, pairs)


def _first_order(
    graphs: _Graphs, r: SparseFeatures, s: SparseFeatures, others: int
) -> tuple[Tensor, Tensor]:
    """The terms of Σ_ij μ_ij r_ij s_ijᵀ: their places in ``R * S``, and ``(B, terms)``.

    One for each pair of non-zeros of the same edge.
    """
    start = torch.searchsorted(s.edge, r.edge)
    count = torch.searchsorted(s.edge, r.edge, right=True) - start
    left = torch.arange(len(r.edge), device=r.edge.device).repeat_interleave(count)
    before = (count.cumsum(0) - count)[left]
    right = torch.arange(len(left), device=left.device) - before + start[left]
    i, j = graphs.ends(r.edge[left])
    marginals = graphs.weights[:, r.edge[left]] * graphs.gradient[:, i, j]
    at = r.feature[left] * others + s.feature[right]
    return at, marginals * r.values[left] * s.values[right]
