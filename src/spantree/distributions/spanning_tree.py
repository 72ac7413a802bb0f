"""The distribution over the spanning trees of a weighted graph."""

from torch import Tensor

from spantree.distributions.showing import ShowingTrees

__all__ = ["SpanningTree"]


class SpanningTree(ShowingTrees):
    """Spanning trees in proportion to the product of the weights of their edges.

    Events are trees as heads, integers ``(*sample, *batch, n)``: entry j is the head of node j. For
    the root and padding it is -1 on output and ignored on input.

    Args:
        log_weights: ``(*batch, n, n)``, ``[head, dependent]``; node 0 is the root. ``-inf`` forbids
            an edge. Column 0 and the diagonal are ignored.
        lengths: ``(*batch,)`` number of non-root nodes of each graph, 1 to n - 1; n - 1 if None.
        root: ``"single"`` for trees with exactly one edge from the root, ``"multi"`` for any.
        validate_args: whether to raise for NaN, +inf and graphs without a tree, when their numbers
            are first needed, and for events that are no trees; the default is that of
            torch.distributions.

    Example:
        >>> import torch
        >>> weights = torch.tensor([[0.0, 3.0, 1.0], [0.0, 0.0, 1.0], [0.0, 2.0, 0.0]])
        >>> d = SpanningTree.from_weights(weights)  # root -> 1 -> 2 and root -> 2 -> 1
        >>> d
        SpanningTree(batch_shape=(), nodes=3, root='single')
        >>> d.log_partition.exp()
        tensor(5.)
        >>> d.log_prob(torch.tensor([-1, 0, 1])).exp()
        tensor(0.6000)
        >>> d.entropy()
        tensor(0.6730)
    """

    _edge_axes = 2

    def _event(self, heads: Tensor, labels: Tensor | None) -> Tensor:
        return heads
