"""Exact inference over spanning-tree distributions."""

from spantree import objectives, totals
from spantree.distributions import LabeledSpanningTree, SpanningTree
from spantree.inference.decoding import best_tree, best_trees
from spantree.inference.hessian import hessian_vector_product
from spantree.inference.marginals import edge_marginals
from spantree.inference.partition import log_partition
from spantree.inference.sampling import sample_trees

__all__ = [
    "LabeledSpanningTree",
    "SpanningTree",
    "best_tree",
    "best_trees",
    "edge_marginals",
    "hessian_vector_product",
    "log_partition",
    "objectives",
    "sample_trees",
    "totals",
]
