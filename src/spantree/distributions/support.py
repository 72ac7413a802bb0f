"""Which tensors are weights of edges, and which are spanning trees of a graph."""

from typing import Any

import torch
from torch import Tensor
from torch.distributions.constraints import Constraint

from spantree.inference.trees import along, is_tree, node_mask, real_edges

__all__ = ["EdgeLogWeights", "TreesOf"]


class EdgeLogWeights(Constraint):
    """Neither NaN nor +inf on an edge; anything elsewhere."""

    def __init__(self, lengths: Tensor | None, edge_axes: int) -> None:
        self.lengths = lengths
        self.event_dim = edge_axes

    def check(self, value: Tensor) -> Tensor:
        n = value.shape[1 - self.event_dim]
        edges = real_edges(n, self.lengths, value.device)
        edges = edges if self.event_dim == 2 else edges[..., None]
        return ((value < torch.inf) | ~edges).flatten(-self.event_dim).all(-1)

    def __repr__(self) -> str:
        return "EdgeLogWeights()"


class TreesOf(Constraint):
    """Is a spanning tree of this graph, with these lengths and this root rule.

    With labels, the value is a pair (heads, labels).

    Attributes:
        present: ``(*batch, n, n)`` or ``(*batch, n, n, Y)``, which edges the graph has.
        lengths: ``(*batch,)`` number of non-root nodes, or None.
        single_root: whether exactly one edge may leave the root.
    """

    is_discrete = True
    event_dim = 1

    def __init__(
        self, present: Tensor, lengths: Tensor | None, edge_axes: int, *, single_root: bool
    ) -> None:
        self.present, self.lengths = present, lengths
        self.edge_axes, self.single_root = edge_axes, single_root

    def check(self, value: Any) -> Tensor:
        """Whether ``(*sample, *batch, n)`` are trees, ``(*sample, *batch)``."""
        heads, labels = value if self.edge_axes == 3 else (value, None)
        n, batch = heads.shape[-1], self.present.shape[: -self.edge_axes]
        heads = heads.expand(*torch.broadcast_shapes(heads.shape[:-1], batch), n)
        fine = is_tree(heads, self.lengths, single_root=self.single_root)
        if labels is not None:
            labels = labels.expand(heads.shape)
            known = (labels >= 0) & (labels < self.present.shape[-1])
            fine = fine & (known | ~node_mask(n, self.lengths, heads.device)).all(-1)
        absent = (~self.present).to(torch.float64)
        return fine & (along(absent, heads, self.lengths, labels) == 0)

    def __repr__(self) -> str:
        labels = f", {self.present.shape[-1]} labels" if self.edge_axes == 3 else ""
        nodes = self.present.shape[-2 if labels else -1]
        root = "single" if self.single_root else "multi"
        return f"TreesOf(graphs of {nodes} nodes{labels}, root={root!r})"
