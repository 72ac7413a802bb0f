"""The distribution over the spanning trees of a graph whose edges have labels."""

from typing import NamedTuple

from torch import Tensor

from spantree.distributions.showing import ShowingTrees
from spantree.distributions.spanning_tree import SpanningTree

__all__ = ["LabeledSpanningTree", "LabeledTrees"]


class LabeledTrees(NamedTuple):
    """Trees with a label on every edge, ``(*sample, *batch, n)`` each.

    Attributes:
        heads: the head of every node; -1 for the root and padding.
        labels: the label of the edge into every node, likewise.
    """

    heads: Tensor
    labels: Tensor | None


class LabeledSpanningTree(ShowingTrees):
    """Labelled spanning trees in proportion to the product of the weights of their labelled edges.

    Events are pairs of heads and labels, ``(*sample, *batch, n)`` each. All else is as with
    `SpanningTree`; features and marginals have an axis of labels behind the edge's. Memory O(N² Y).

    Args:
        log_weights: ``(*batch, n, n, Y)``, ``[head, dependent, label]``.
        lengths: ``(*batch,)`` number of non-root nodes of each graph, 1 to n - 1; n - 1 if None.
        root: ``"single"`` for trees with exactly one edge from the root, ``"multi"`` for any.
        validate_args: as with `SpanningTree`.

    Example:
        >>> import torch
        >>> d = LabeledSpanningTree(torch.zeros(3, 3, 5))  # 2 trees, 5² labellings of each
        >>> d.log_partition.exp().round()
        tensor(50.)
        >>> d.log_prob((torch.tensor([-1, 0, 1]), torch.tensor([-1, 4, 2]))).exp()
        tensor(0.0200)
    """

    _edge_axes = 3

    @property
    def unlabeled(self) -> SpanningTree:
        """The distribution of the trees when labels are forgotten."""
        plain = self._ensemble.plain()
        new = SpanningTree.__new__(SpanningTree)
        new._setup(plain.log_weights.to(self._dtype), self.lengths, self.root, plain)
        return new

    def _event(self, heads: Tensor, labels: Tensor | None) -> LabeledTrees:
        return LabeledTrees(heads, labels)
