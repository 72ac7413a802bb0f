"""Trees of which something is known: some heads, or edges that must or must not be there.

To know a head is to forbid every other edge into the node. Forbidding is exact, and so is what is
computed from the rest: P(known) is a quotient of partition functions, and P(both of two edges) a
product of a marginal and a conditional one, where a covariance would subtract.
"""

import torch
from torch import Tensor

from spantree.inference.ensemble import Ensemble
from spantree.inference.trees import edge_mask, is_forest

__all__ = ["given_edges", "given_heads", "log_joint", "pair_marginals"]


def given_heads(ensemble: Ensemble, heads: Tensor, labels: Tensor | None = None) -> Ensemble:
    """The graphs without the edges that known heads ``(*sample, *batch, n)`` rule out.

    Args:
        ensemble: the graphs.
        heads: -1 where unknown.
        labels: like ``heads``, if edges have any; -1 where unknown.
    """
    allowed = edge_mask(heads) | (heads < 0)[..., None, :]
    if ensemble.edge_axes == 3:
        allowed = allowed[..., None]
        if labels is not None:
            label = torch.arange(ensemble.edge_shape[-1], device=labels.device)
            fits = (labels[..., None] == label) | (labels < 0)[..., None]
            allowed = allowed & fits[..., None, :, :]
    return _restricted(ensemble, allowed)


def given_edges(ensemble: Ensemble, required: Tensor | None, forbidden: Tensor | None) -> Ensemble:
    """The graphs without forbidden edges and without the rivals of required ones.

    Both are masks that broadcast to the edges. Two required edges into one node with different
    heads leave it without any, so that no tree remains; two labels of one edge leave either.
    """
    if forbidden is not None:
        ensemble = _restricted(ensemble, ~forbidden)
    if required is not None:
        required = required.expand(ensemble.log_weights.shape) & ensemble.edges
        ensemble = _restricted(ensemble, _without_rivals(required, ensemble.edge_axes))
    return ensemble


def log_joint(
    ensemble: Ensemble, log_partition: Tensor, heads: Tensor, labels: Tensor | None = None
) -> Tensor:
    """The log-probability that a tree has the known heads, ``(*sample, *batch)``.

    -inf where it cannot, be it because the known heads form a cycle. O(N³) each.
    """
    possible = is_forest(heads, ensemble.lengths, single_root=ensemble.question.single_root)
    kept = given_heads(ensemble, heads.where(possible[..., None], -1), labels)
    joint = kept.reweighted(kept.log_weights, validate=False).log_partition()
    possible = possible & (joint > -torch.inf)
    return (joint.where(possible, 0.0) - log_partition).where(possible, -torch.inf)


def pair_marginals(ensemble: Ensemble, marginals: Tensor, edges: Tensor) -> Tensor:
    """The probability that a tree has both the k-th of some edges and another one, for all others.

    Args:
        ensemble: the graphs.
        marginals: theirs, ``(*batch, *edge)``.
        edges: ``(K, 2)`` pairs (head, dependent), or ``(K, 3)`` with labels; the same for all.

    Returns:
        ``(K, *batch, *edge)``: P(edge k) · P(the other | edge k), and no difference. O(K N³).
    """
    count, axes = len(edges), ensemble.edge_axes
    ones = (1,) * len(ensemble.batch_shape)
    chosen = torch.zeros(count, *ensemble.edge_shape, dtype=torch.bool, device=edges.device)
    chosen[(torch.arange(count, device=edges.device), *edges.unbind(-1))] = True
    chosen = chosen.reshape(count, *ones, *ensemble.edge_shape)
    kept = _restricted(ensemble, _without_rivals(chosen, axes))
    # An edge that no tree has leaves none.
    conditional = kept.reweighted(kept.log_weights, validate=False).solve()[1]
    alone = marginals.where(chosen, 0.0).flatten(-axes).sum(-1)
    return alone.reshape(*alone.shape, *(1,) * axes) * conditional


def _without_rivals(required: Tensor, edge_axes: int) -> Tensor:
    """Which edges trees with all required edges can have."""
    # Requiring an edge forbids those into the same node from elsewhere, and its other labels.
    by_head = required.any(-1, keepdim=True) if edge_axes == 3 else required
    demands = by_head.sum(-edge_axes, keepdim=True)
    alone = required & (demands == 1)
    return alone | (demands == 0)


def _restricted(ensemble: Ensemble, allowed: Tensor) -> Ensemble:
    return ensemble.reweighted(ensemble.log_weights.where(allowed, -torch.inf))
