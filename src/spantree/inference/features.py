"""Features of edges, dense or sparse, made to fit the graphs they describe.

A feature tensor has the shape of the edge tensor, with one more axis for a vector of features.
Batch axes may be missing: the features then serve every graph. The edge axes are ``n, n``, or
``n, n, Y`` with labels.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from spantree.checks import check_features

__all__ = ["Features", "SparseFeatures", "contract", "dense_part", "features_of", "outer"]


class SparseFeatures(NamedTuple):
    """The non-zeros of a feature tensor, ``(nnz,)`` each.

    Attributes:
        item: which graph of the flattened batch, or None if the features serve every graph.
        edge: which edge of the flattened edge axes.
        feature: which feature.
        values: their values.
    """

    item: Tensor | None
    edge: Tensor
    feature: Tensor
    values: Tensor


class Features(NamedTuple):
    """A feature tensor in canonical form.

    Attributes:
        stored: ``(R, *batch, *edge)``, or the non-zeros.
        batch: the shape of the batch they describe.
        size: R.
        scalar: whether the features came without an axis of their own.
    """

    stored: Tensor | SparseFeatures
    batch: tuple[int, ...]
    size: int
    scalar: bool

    @property
    def is_sparse(self) -> bool:
        return isinstance(self.stored, SparseFeatures)

    @property
    def is_shared(self) -> bool:
        """Whether the non-zeros are those of every graph."""
        return isinstance(self.stored, SparseFeatures) and self.stored.item is None

    @property
    def numbers(self) -> float:
        """How many numbers are given for all graphs together."""
        if isinstance(self.stored, Tensor):
            return float(self.stored.numel())
        shared = torch.Size(self.batch).numel() if self.is_shared else 1
        return float(len(self.stored.values) * shared)


def features_of(name: str, features: Tensor, like: Tensor, edge_axes: int = 2) -> Features:
    """Checks the features called ``name`` against the graphs ``like`` and aligns them.

    Args:
        name: what to call them in a message.
        features: as above. What dense ones hold where there is no edge is ignored.
        like: ``(*batch, *edge)`` log-weights, ``-inf`` wherever there is no edge.
        edge_axes: how many axes ``edge`` has.

    Raises:
        TypeError, ValueError: if the features cannot belong to these graphs.
    """
    check_features(name, features, like.device)
    batch, edge = tuple(like.shape[:-edge_axes]), tuple(like.shape[-edge_axes:])
    scalar = _is_scalar(name, tuple(features.shape), batch, edge)
    count = 1 if scalar else features.shape[-1]
    if features.is_sparse:
        sparse = _sparse(name, features, like, edge_axes, scalar)
        return Features(sparse, batch, count, scalar)
    vector = (features[..., None] if scalar else features).to(like.dtype)
    missing = len(batch) + edge_axes + 1 - vector.dim()
    vector = vector.reshape(*(1,) * missing, *vector.shape)
    # Off the edges a feature may be infinite or NaN, and 0 times it must be 0. The axis of features
    # stays last in memory, where the sums over edges want it.
    vector = vector.where((like > -torch.inf)[..., None], 0.0)
    return Features(vector.movedim(-1, 0), batch, count, scalar)


def _is_scalar(
    name: str, shape: tuple[int, ...], batch: tuple[int, ...], edge: tuple[int, ...]
) -> bool:
    # A shape that can be read in two ways is one number for every edge of the batch.
    if shape in (batch + edge, edge):
        return True
    if shape[:-1] in (batch + edge, edge):
        return False
    inside = ", ".join(map(str, batch + edge))
    alone = f", or with edge axes ({', '.join(map(str, edge))}) for all graphs" if batch else ""
    raise ValueError(
        f"{name} must have shape ({inside}) or ({inside}, R) like the edges{alone}, got {shape}"
    )


def _sparse(
    name: str, features: Tensor, like: Tensor, edge_axes: int, scalar: bool
) -> SparseFeatures:
    if features.dense_dim():
        raise ValueError(
            f"{name} must be sparse in all its axes, got {features.dense_dim()} dense ones"
        )
    features = features.coalesce()
    indices, values = features.indices(), features.values().to(like.dtype)
    if not values.isfinite().all():
        raise ValueError(f"{name} must be finite where sparse, got NaN or an infinity")
    feature = torch.zeros_like(indices[0]) if scalar else indices[-1]
    axes = indices if scalar else indices[:-1]
    edge = _flat_index(axes[-edge_axes:], like.shape[-edge_axes:])
    item = None
    if len(axes) == like.dim() and like.dim() > edge_axes:
        item = _flat_index(axes[:-edge_axes], like.shape[:-edge_axes])
    return SparseFeatures(item, edge, feature, values)


def _flat_index(axes: Tensor, shape: torch.Size) -> Tensor:
    flat = axes[0]
    for at, size in zip(axes[1:], shape[1:], strict=True):
        flat = flat * size + at
    return flat


def contract(edge_values: Tensor, features: Features, edge_axes: int = 2) -> Tensor:
    """Sum ``edge_values * features`` over the edges.

    Args:
        edge_values: ``(*several, *batch, *edge)``, 0 wherever there is no edge.
        features: of these graphs.
        edge_axes: how many axes ``edge`` has.

    Returns:
        ``(*several, *batch, R)``. Memory grows with the result and the non-zeros, not with N² R.
    """
    lead, count = edge_values.shape[:-edge_axes], features.size
    several = lead[: len(lead) - len(features.batch)]
    items = torch.Size(features.batch).numel()
    edges = edge_values.shape[-edge_axes:].numel()
    flat = edge_values.reshape(several.numel(), items, edges)
    if isinstance(features.stored, Tensor):
        stored = features.stored.reshape(count, items, edges).permute(1, 2, 0)
        return (flat.transpose(0, 1) @ stored).transpose(0, 1).reshape(*lead, count)
    item, edge, feature, values = features.stored
    # Flat, as scattering along the last axis is much faster than adding slice by slice.
    if item is None:
        terms, size = flat[..., edge] * values, count
    else:
        terms, size = flat[:, item, edge] * values, items * count
        feature = item * count + feature
    result = flat.new_zeros(*terms.shape[:-1], size).scatter_add(
        -1, feature.expand(terms.shape), terms
    )
    return result.reshape(*lead, count)


def dense_part(features: Features, first: int, last: int, edge: tuple[int, ...]) -> Tensor:
    """Features ``first..last-1`` as ``(last - first, *batch, *edge)``."""
    if isinstance(features.stored, Tensor):
        return features.stored[first:last]
    item, at, feature, values = features.stored
    items, edges = torch.Size(features.batch).numel(), torch.Size(edge).numel()
    if last - first < features.size:
        chosen = ((feature >= first) & (feature < last)).nonzero().squeeze(-1)
        at, feature, values = at[chosen], feature[chosen] - first, values[chosen]
        item = None if item is None else item[chosen]
    rows = feature if item is None else feature * items + item
    part = values.new_zeros((last - first) * (1 if item is None else items), edges)
    part = part.index_put((rows, at), values)
    part = part.reshape(last - first, 1 if item is None else items, edges).expand(-1, items, -1)
    return part.reshape(last - first, *features.batch, *edge)


def outer(features: Features, edge_values: Tensor, first: int) -> Tensor:
    """Sum the outer products of the features and the values of edges ``first``, ``first + 1``, ….

    Args:
        features: of these graphs.
        edge_values: ``(edges, *batch, S)``.
        first: place of the first edge among the flattened edge axes.

    Returns:
        ``(*batch, R, S)``.
    """
    edges, *batch, others = edge_values.shape
    count, items = features.size, torch.Size(batch).numel()
    values = edge_values.reshape(edges, items, others)
    if isinstance(features.stored, Tensor):
        shape = (count, items, features.stored.shape[1 + len(batch) :].numel())
        part = features.stored.reshape(shape)[..., first : first + edges]
        return torch.einsum("rbe,ebs->brs", part, values).reshape(*batch, count, others)
    item, edge, feature, weight = features.stored
    here = ((edge >= first) & (edge < first + edges)).nonzero().squeeze(-1)
    edge, feature, weight = edge[here] - first, feature[here], weight[here]
    if item is None:
        terms = weight[:, None, None] * values[edge]
        result = values.new_zeros(count, items, others).index_add(0, feature, terms).transpose(0, 1)
    else:
        terms = weight[:, None] * values[edge, item[here]]
        rows = item[here] * count + feature
        result = values.new_zeros(items * count, others).index_add(0, rows, terms)
    return result.reshape(*batch, count, others)
