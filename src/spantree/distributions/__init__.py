"""Distributions over spanning trees, as torch.distributions has them."""

from spantree.distributions import divergence as _divergence  # registers the KL divergence
from spantree.distributions.labeled import LabeledSpanningTree
from spantree.distributions.spanning_tree import SpanningTree

__all__ = ["LabeledSpanningTree", "SpanningTree"]

del _divergence
