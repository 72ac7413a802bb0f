"""Trees as heads: which tensors of heads are trees, and the sum of edge quantities along them."""

import torch
from torch import Tensor

__all__ = ["along", "edge_mask", "is_tree", "node_mask", "real_edges"]


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
        values: ``(..., n, n)``, or ``(..., n, n, Y)`` with labels.
        heads: ``(*sample, ..., n)``, trees, or anything within range.
        lengths: ``(...)``, or None.
        labels: like ``heads``, or None.

    Returns:
        ``(*sample, ...)``. The gradient needs no copy of ``values`` for every tree.
    """
    edge_axes = 2 if labels is None else 3
    n = values.shape[1 - edge_axes]
    batch = values.shape[:-edge_axes]
    samples = heads.shape[: heads.dim() - 1 - len(batch)]
    node = torch.arange(n, device=values.device)
    at = heads.clamp(0, n - 1) * n + node
    if labels is not None:
        at = at * values.shape[-1] + labels.clamp(0, values.shape[-1] - 1)
    at = at.reshape(samples.numel(), batch.numel(), n).transpose(0, 1)
    flat = values.reshape(batch.numel(), values.shape[-edge_axes:].numel())
    taken = flat.gather(1, at.reshape(batch.numel(), -1))
    taken = taken.reshape(batch.numel(), samples.numel(), n).transpose(0, 1)
    taken = taken.reshape(*samples, *batch, n)
    return taken.where(node_mask(n, lengths, values.device), 0.0).sum(-1)


def is_tree(heads: Tensor, lengths: Tensor | None, *, single_root: bool) -> Tensor:
    """Whether heads are spanning trees of their nodes, ``(*sample, ...)``, in O(N log N).

    Args:
        heads: ``(*sample, ..., n)`` integers; those of the root and of padding are ignored.
        lengths: ``(...)``, or None.
        single_root: whether exactly one edge may leave the root.
    """
    n = heads.shape[-1]
    real = node_mask(n, lengths, heads.device)
    last = torch.tensor(n - 1, device=heads.device) if lengths is None else lengths
    in_range = ((heads >= 0) & (heads <= last[..., None])) | ~real
    # The root is its own head, and every doubling of the step leads twice as far up. What ends
    # anywhere else is in a cycle, or below one.
    ancestors = heads.where(real & in_range, 0)
    for _ in range((n - 1).bit_length()):
        ancestors = ancestors.gather(-1, ancestors)
    result = (in_range & (ancestors == 0)).all(-1)
    if single_root:
        result &= (real & (heads == 0)).sum(-1) == 1
    return result
