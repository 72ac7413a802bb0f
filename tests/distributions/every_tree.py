"""Distributions of both kinds, and every tree of a small one in order."""

import itertools
from typing import Any, NamedTuple

import torch
from torch import Generator, Tensor

import spantree as st
from spantree.inference.enumeration import enumerate_trees
from tests.graphs import random_graphs, with_garbage

__all__ = ["KINDS", "LABELS", "Oracle", "garbage_around", "graphs", "parts", "seeded"]

KINDS = {"plain": st.SpanningTree, "labelled": st.LabeledSpanningTree}
LABELS = 3


def seeded(seed: int = 0) -> Generator:
    return Generator().manual_seed(seed)


def graphs(
    kind: str, batch_shape: tuple[int, ...], num_nodes: int, seed: int = 0, **options: float
) -> Tensor:
    """Log-weights for a distribution of this kind."""
    if kind == "plain":
        return random_graphs(batch_shape, num_nodes, seed=seed, **options)
    layers = [
        random_graphs(batch_shape, num_nodes, seed=100 * seed + y, **options) for y in range(LABELS)
    ]
    return torch.stack(layers, -1)


def parts(event: Any) -> Tensor:
    """Heads ``(..., 1, n)`` or heads and labels ``(..., 2, n)``, to be compared."""
    return torch.stack([event] if isinstance(event, Tensor) else list(event), -2)


class Oracle(NamedTuple):
    """The trees of one small graph, best first."""

    trees: Tensor  # (T, 1 or 2, n)
    scores: Tensor  # (T,)

    @classmethod
    def of(cls, log_weights: Tensor, root: str, fine: Any = None) -> "Oracle":
        """All with finite scores for which ``fine(heads, labels)`` holds."""
        n, found = len(log_weights), []
        kinds = range(log_weights.shape[-1]) if log_weights.dim() == 3 else [None]
        for heads in enumerate_trees(n - 1, root).tolist():
            for labels in itertools.product(kinds, repeat=n - 1):
                at = [
                    (heads[j], j) if y is None else (heads[j], j, y)
                    for j, y in enumerate(labels, start=1)
                ]
                score = sum(log_weights[index].item() for index in at)
                if score > -torch.inf and (fine is None or fine(heads, [-1, *labels])):
                    found.append((-score, heads, [-1, *labels]))
        found.sort(key=lambda tree: tree[0])
        axes = 1 if log_weights.dim() == 2 else 2
        trees = torch.tensor([tree[1 : 1 + axes] for tree in found])
        return cls(trees, -torch.tensor([tree[0] for tree in found], dtype=torch.float64))

    @property
    def log_probs(self) -> Tensor:
        return self.scores.log_softmax(-1)

    def number(self, drawn: Tensor) -> Tensor:
        """Which of them each of ``(..., 1 or 2, n)`` is."""
        everything = torch.cat([self.trees, drawn.reshape(-1, *self.trees.shape[1:])]).flatten(1)
        _, inverse = everything.unique(dim=0, return_inverse=True)
        place = torch.full((int(inverse.max()) + 1,), -1)
        place[inverse[: len(self.trees)]] = torch.arange(len(self.trees))
        number = place[inverse[len(self.trees) :]]
        assert (number >= 0).all(), "something was chosen that is no tree of the graph"
        return number.reshape(drawn.shape[:-2])


def garbage_around(kind: str, log_weights: Tensor, lengths: Tensor | None = None) -> Tensor:
    """The same log-weights, and garbage where there is no edge."""
    if kind == "plain":
        return with_garbage(log_weights, lengths)
    return with_garbage(log_weights.movedim(-1, 0), lengths).movedim(0, -1)
