"""Labels on edges: parallel edges between the same two nodes.

A labelled tree is a tree and a label for each of its edges. Summing out the labels of every pair of
nodes leaves a plain graph; given the tree, the labels of its edges are independent. So everything
about labels is something about plain trees, times or plus a sum over the labels of an edge.
"""

import torch
from torch import Tensor

__all__ = ["collapse", "label_posteriors"]


def collapse(log_weights: Tensor) -> Tensor:
    """Sum parallel edges: ``(..., n, n, Y)`` to ``(..., n, n)``, ``-inf`` where all are."""
    exists = (log_weights != -torch.inf).any(-1)  # NaN is something, and must be seen
    # logsumexp of nothing but -inf has a NaN gradient: give it zeros, and drop the result.
    total = log_weights.where(exists[..., None], 0.0).logsumexp(-1)
    return total.where(exists, -torch.inf)


def label_posteriors(log_weights: Tensor) -> Tensor:
    """The probability of every label given that its edge is in the tree, 0 where none can be."""
    exists = (log_weights != -torch.inf).any(-1, keepdim=True)
    return log_weights.where(exists, 0.0).softmax(-1).where(exists, 0.0)
