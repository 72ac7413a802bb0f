"""Trees as heads: which tensors of heads are trees, and the sum of edge quantities along them."""

import torch
from torch import Tensor

__all__ = ["along", "edge_mask", "is_forest", "is_tree", "node_mask", "real_edges"]


def node_mask(n: int, lengths: Tensor | None, device: torch.device) -> Tensor:
    """``(..., n)``: the nodes beside the root that are no padding."""
    node = torch.arange(n, device=device)
    real = node > 0
    return real if lengths is None else real & (node <= lengths[..., None])


def real_edges(n: int, lengths: Tensor | None, device: torch.device) -> Tensor:
    """``(..., n, n)``: the pairs of nodes that can be edges."""
    dependent = node_mask(n, lengths, device)
    node = torch.arange(n, device=device)
    head = dependent | (node == 0)
    return head[..., :, None] & dependent[..., None, :] & (node != node[:, None])


def edge_mask(heads: Tensor) -> Tensor:
    """``(..., n, n)``: the edges of the trees ``(..., n)``; also of partial trees, -1 unknown."""
    node = torch.arange(heads.shape[-1], device=heads.device)
    return (heads[..., None, :] == node[:, None]) & (node > 0)


def along(
    values: Tensor, heads: Tensor, lengths: Tensor | None, labels: Tensor | None = None
) -> Tensor:
    """Sum a quantity of edges over the edges of trees.

    Args:
        values: ``(*batch, n, n)``, or ``(*batch, n, n, Y)`` with labels.
        heads: ``(*sample, *batch, n)``, trees, or anything: what is out of range counts as in it.
        lengths: ``(*batch,)``, or None.
        labels: like ``heads``, if edges have any.

    Returns:
        ``(*sample, *batch)``. The gradient needs no copy of ``values`` for every tree.
    """
    axes = 2 if labels is None else 3
    n = heads.shape[-1]
    batch, edges = values.shape[:-axes], values.shape[-axes:].numel()
    samples = heads.shape[: heads.dim() - 1 - len(batch)]
    at = heads.clamp(0, n - 1) * n + torch.arange(n, device=values.device)
    if labels is not None:
        at = at * values.shape[-1] + labels.clamp(0, values.shape[-1] - 1)
    at = at.reshape(samples.numel(), batch.numel(), n).transpose(0, 1)
    at = at.reshape(batch.numel(), samples.numel() * n)
    taken = values.reshape(batch.numel(), edges).gather(1, at)
    taken = taken.reshape(batch.numel(), samples.numel(), n).transpose(0, 1)
    taken = taken.reshape(*samples, *batch, n)
    return taken.where(node_mask(n, lengths, values.device), 0.0).sum(-1)


def is_tree(heads: Tensor, lengths: Tensor | None, *, single_root: bool) -> Tensor:
    """Whether heads are spanning trees of their nodes, ``(*sample, *batch)``, in O(N log N).

    Args:
        heads: ``(*sample, *batch, n)`` integers; those of the root and of padding are ignored.
        lengths: ``(*batch,)``, or None.
        single_root: whether exactly one edge may leave the root.
    """
    real = node_mask(heads.shape[-1], lengths, heads.device)
    complete = ((heads >= 0) | ~real).all(-1)
    return complete & is_forest(heads, lengths, single_root=single_root)


def is_forest(heads: Tensor, lengths: Tensor | None, *, single_root: bool) -> Tensor:
    """Whether heads with -1 where unknown are parts of spanning trees of a complete graph.

    Arguments and result as for `is_tree`.
    """
    n = heads.shape[-1]
    real = node_mask(n, lengths, heads.device)
    last = torch.tensor(n - 1, device=heads.device) if lengths is None else lengths
    in_range = ((heads >= -1) & (heads <= last[..., None])) | ~real
    # The root is its own head, and of all whose head is unknown. Every doubling of the step leads
    # twice as far up; what ends anywhere but in the root is in a cycle, or below one.
    ancestors = heads.where(real & in_range & (heads > 0), 0)
    for _ in range((n - 1).bit_length()):
        ancestors = ancestors.gather(-1, ancestors)
    result = (in_range & (ancestors == 0)).all(-1)
    if single_root:
        result &= (real & (heads == 0)).sum(-1) <= 1
    return result
