"""Brute force: every tree written out, so that any quantity is a sum over them.

The oracle for graphs of at most about five nodes. It shares no code with the
elimination that it checks, and it is differentiable to any order.
"""

from typing import Literal

import torch
from torch import Tensor

__all__ = ["enumerate_support", "enumerate_trees", "log_partition_by_enumeration", "tree_scores"]

MOST_NODES = 7  # beside the root; 8⁷ assignments of heads
MOST_TREES = 10**7  # with labels


def enumerate_trees(num_nodes: int, root: Literal["single", "multi"] = "single") -> Tensor:
    """List every tree over the root 0 and the nodes ``1..num_nodes``.

    Args:
        num_nodes: How many nodes there are beside the root; 6 is already slow.
        root: Whether exactly one edge leaves the root or any number does.

    Returns:
        ``(T, num_nodes + 1)`` heads, ``-1`` for the root itself. T is
        N^(N−1) or (N+1)^(N−1), found among (N+1)^N assignments of heads.

    Example:
        >>> enumerate_trees(2).tolist()
        [[-1, 0, 1], [-1, 2, 0]]
        >>> len(enumerate_trees(5)), len(enumerate_trees(5, "multi"))
        (625, 1296)
    """
    choices = torch.arange(num_nodes + 1)
    heads = torch.cartesian_prod(*[choices] * num_nodes).reshape(-1, num_nodes)
    heads = torch.nn.functional.pad(heads, (1, 0))
    # N steps towards the head end in the root, which is its own head here, or in a cycle.
    ancestors = heads
    for _ in range(num_nodes):
        ancestors = heads.gather(-1, ancestors)
    trees = heads[(ancestors == 0).all(-1)]
    if root == "single":
        trees = trees[(trees[:, 1:] == 0).sum(-1) == 1]
    trees[:, 0] = -1
    return trees


def tree_scores(log_weights: Tensor, heads: Tensor) -> Tensor:
    """Sum the log-weights of the edges of each tree.

    Args:
        log_weights: ``(..., n, n)``, ``[head, dependent]``; node 0 is the root.
        heads: ``(T, n)``, the same trees for every item of the batch.

    Returns:
        ``(..., T)``; ``-inf`` for a tree with a forbidden edge.
    """
    dependents = torch.arange(1, heads.shape[-1], device=log_weights.device)
    return log_weights[..., heads[:, 1:].to(log_weights.device), dependents].sum(-1)


def log_partition_by_enumeration(
    log_weights: Tensor, root: Literal["single", "multi"] = "single"
) -> Tensor:
    """Sum the weights of all trees, tree by tree.

    Its derivatives, of any order, are those of log Z: 0 at a forbidden edge and
    wherever no tree exists at all, never NaN.

    Args:
        log_weights: ``(..., n, n)``, ``[head, dependent]``; node 0 is the root.
        root: Whether exactly one edge leaves the root or any number does.

    Returns:
        ``(...)``, log Z; ``-inf`` where no tree exists. Cost n^n.
    """
    scores = tree_scores(log_weights, enumerate_trees(log_weights.shape[-1] - 1, root))
    exists = (scores > -torch.inf).any(-1, keepdim=True)
    # logsumexp of nothing but -inf has a NaN gradient: give it zeros, and drop the result.
    total = scores.where(exists, 0.0).logsumexp(-1)
    return total.where(exists.squeeze(-1), -torch.inf)


def enumerate_support(
    present: Tensor,
    lengths: Tensor | None,
    edge_axes: int,
    *,
    root: Literal["single", "multi"] = "single",
) -> tuple[Tensor, Tensor | None]:
    """List the trees of a batch of graphs that all have the same ones.

    Args:
        present: ``(*batch, n, n)`` or ``(*batch, n, n, Y)``, which edges there are.
        lengths: ``(*batch,)`` number of non-root nodes, or None.
        edge_axes: 2, or 3 with labels.
        root: Whether exactly one edge leaves the root or any number does.

    Returns:
        ``(T, n)`` heads, -1 for the root and padding, and with labels their ``(T, n)``.

    Raises:
        NotImplementedError: if the graphs differ, or are too large.
    """
    edge, batch = present.shape[-edge_axes:], present.shape[:-edge_axes]
    n = edge[0]
    graphs = present.reshape(batch.numel(), *edge)
    sizes = torch.full((1,), n - 1) if lengths is None else lengths.reshape(-1).cpu()
    if len(graphs) == 0 or bool((graphs != graphs[0]).any()) or bool((sizes != sizes[0]).any()):
        raise NotImplementedError("enumerate_support needs graphs that all have the same edges")
    size, graph = int(sizes[0]), graphs[0].cpu()
    if size > MOST_NODES:
        raise NotImplementedError(
            f"enumerate_support needs at most {MOST_NODES} nodes beside the root, got {size}"
        )
    trees = enumerate_trees(size, root)
    real = torch.arange(1, size + 1)
    plain = graph.any(-1) if edge_axes == 3 else graph
    trees = trees[plain[trees[:, 1:], real].all(-1)]
    labels = None
    if edge_axes == 3:
        if len(trees) * edge[2] ** size > MOST_TREES:
            raise NotImplementedError(
                f"enumerate_support needs at most {MOST_TREES} labelled trees, got {len(trees)} "
                f"trees with {edge[2]} labels for each of {size} edges"
            )
        # All labellings of all trees; those with a label that its edge does not have are dropped.
        assignments = torch.cartesian_prod(*[torch.arange(edge[2])] * size).reshape(-1, size)
        labels = torch.nn.functional.pad(assignments, (1, 0), value=-1).repeat(len(trees), 1)
        trees = trees.repeat_interleave(len(assignments), 0)
        kept = graph[trees[:, 1:], real, labels[:, 1:]].all(-1)
        trees, labels = trees[kept], _padded(labels[kept], n).to(present.device)
    return _padded(trees, n).to(present.device), labels


def _padded(trees: Tensor, n: int) -> Tensor:
    return torch.nn.functional.pad(trees, (0, n - trees.shape[-1]), value=-1)
