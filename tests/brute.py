"""Every tree written out: the questions of a distribution, answered by sums over its support.

The same names as in the library, so that a test can put one question to both. It shares nothing
with the library but the enumeration of trees.
"""

import torch
from torch import Tensor

from spantree.inference.enumeration import enumerate_trees

__all__ = ["BruteForce"]


class BruteForce:
    """A ragged batch of graphs, labelled if log-weights ``(*batch, n, n, Y)`` have a last axis Y.

    All answers are differentiable in ``log_weights``; in float64.
    """

    def __init__(
        self,
        log_weights: Tensor,
        lengths: Tensor | None = None,
        *,
        root: str = "single",
        labeled: bool = False,
    ) -> None:
        axes = 3 if labeled else 2
        self.batch, self.edge = log_weights.shape[:-axes], log_weights.shape[-axes:]
        self.axes, self.count = axes, self.batch.numel()
        n = self.edge[0]
        flat = log_weights.double().reshape(self.count, *self.edge)
        each = [n - 1] * self.count if lengths is None else lengths.flatten().tolist()
        self.graphs = [_Graph(x, length, root) for x, length in zip(flat, each, strict=True)]

    def _gather(self, answers: list[Tensor]) -> Tensor:
        return torch.stack(answers).reshape(*self.batch, *answers[0].shape)

    def _items(self, edge_values: Tensor) -> Tensor:
        """Features, with or without batch axes, one for each graph: ``(B, *edge, ...)``."""
        dense = edge_values.to_dense()
        has_batch = dense.shape[: len(self.batch) + self.axes] == (*self.batch, *self.edge)
        trailing = dense.shape[len(self.batch) * has_batch + self.axes :]
        return dense.expand(*self.batch, *self.edge, *trailing).reshape(
            self.count, *self.edge, *trailing
        )

    def _each(self, tensor: Tensor | None) -> list[Tensor | None]:
        """Heads or labels ``(*sample, *batch, n)``, by graph: ``(*sample, n)``."""
        if tensor is None:
            return [None] * self.count
        lead = tensor.shape[: tensor.dim() - 1 - len(self.batch)]
        return list(tensor.reshape(*lead, self.count, tensor.shape[-1]).movedim(-2, 0))

    @property
    def log_partition(self) -> Tensor:
        return self._gather([g.scores.logsumexp(0) for g in self.graphs])

    @property
    def marginals(self) -> Tensor:
        """Of all edges."""
        return self._gather([(g.p @ g.has).reshape(self.edge) for g in self.graphs])

    def expectation(self, r: Tensor) -> Tensor:
        return self._gather(
            [
                torch.tensordot(g.p, g.along(x), 1)
                for g, x in zip(self.graphs, self._items(r), strict=True)
            ]
        )

    def second_moment(self, r: Tensor, s: Tensor | None = None) -> Tensor:
        """E[r sᵀ]."""
        return self._moment(r, s, centred=False)

    def covariance(self, r: Tensor, s: Tensor | None = None, **_: str) -> Tensor:
        """Means are taken first, so that nothing cancels."""
        return self._moment(r, s, centred=True)

    def _moment(self, r: Tensor, s: Tensor | None, *, centred: bool) -> Tensor:
        sides = self._items(r), self._items(r if s is None else s)
        left_scalar, right_scalar = (side.dim() == 1 + self.axes for side in sides)
        answers = []
        for g, x, y in zip(self.graphs, *sides, strict=True):
            left, right = (g.along(side).reshape(len(g.p), -1) for side in (x, y))
            if centred:
                left, right = left - g.p @ left, right - g.p @ right
            moment = (left * g.p[:, None]).mT @ right
            moment = moment.squeeze(1) if right_scalar else moment
            answers.append(moment.squeeze(0) if left_scalar else moment)
        return self._gather(answers)

    def product_expectation(self, log_q: Tensor) -> Tensor:
        return self._gather(
            [
                _logsumexp(g.log_p.reshape(-1, *(1,) * (x.dim() - self.axes)) + g.along(x))
                for g, x in zip(self.graphs, self._items(log_q), strict=True)
            ]
        )

    def entropy(self) -> Tensor:
        return self._gather([-(g.p * g.log_p).sum() for g in self.graphs])

    def cross_entropy(self, q: "BruteForce") -> Tensor:
        """−Σ p log q over the trees that q allows, and +inf where there are others."""
        answers = []
        for g, h in zip(self.graphs, q.graphs, strict=True):
            log_q = {tree: h.log_p[k] for k, tree in enumerate(h.trees)}
            shared = [k for k, tree in enumerate(g.trees) if tree in log_q]
            if len(shared) < len(g.trees):
                answers.append(g.p.new_tensor(torch.inf))
            else:
                there = torch.stack([log_q[tree] for tree in g.trees])
                answers.append(-(g.p * there).sum())
        return self._gather(answers)

    def kl_divergence(self, q: "BruteForce") -> Tensor:
        return self.cross_entropy(q) - self.entropy()

    def renyi_entropy(self, order: float) -> Tensor:
        if order == 1:
            return self.entropy()
        if order == torch.inf:
            return self._gather([-g.log_p.max() for g in self.graphs])
        if abs(order - 1) < 0.01:  # where Σ p^α is nearly 1
            powers = [(g.p * ((order - 1) * g.log_p).expm1()).sum().log1p() for g in self.graphs]
        else:
            powers = [(order * g.log_p).logsumexp(0) for g in self.graphs]
        return self._gather([power / (1 - order) for power in powers])

    def norm(self, order: float) -> Tensor:
        if order == torch.inf:
            return self._gather([g.p.max() for g in self.graphs])
        return self._gather([((order * g.log_p).logsumexp(0) / order).exp() for g in self.graphs])

    def joint(self, value: Tensor | tuple[Tensor, Tensor | None]) -> Tensor:
        """log P(a partial tree), -inf if it is part of none."""
        heads, labels = (value, None) if isinstance(value, Tensor) else value
        answers = []
        for g, h, y in zip(self.graphs, self._each(heads), self._each(labels), strict=True):
            agrees = g.agrees(h, y)
            answers.append(_logsumexp(g.log_p[:, None].where(agrees, -torch.inf)))
        lead = heads.shape[: heads.dim() - 1 - len(self.batch)]
        return torch.stack(answers, -1).reshape(*lead, *self.batch)

    def log_prob(self, value: Tensor | tuple[Tensor, Tensor]) -> Tensor:
        return self.joint(value)

    def some_trees(self, count: int) -> tuple[Tensor, Tensor]:
        """Heads and labels of trees spread over the support, ``(count, *batch, n)`` each."""
        heads, labels = torch.full((2, count, self.count, self.edge[0]), -1)
        for item, g in enumerate(self.graphs):
            at = g.at[torch.arange(count) * 7919 % len(g.at)]
            heads[:, item, 1 : at.shape[1] + 1] = at // g.labels // g.n
            labels[:, item, 1 : at.shape[1] + 1] = at % g.labels
        shape = (count, *self.batch, self.edge[0])
        return heads.reshape(shape), labels.reshape(shape)

    def pair_marginals(self, edges: Tensor) -> Tensor:
        places = [torch.zeros(self.edge, dtype=torch.bool) for _ in edges]
        for place, edge in zip(places, edges.tolist(), strict=True):
            place[tuple(edge)] = True
        chosen = torch.stack(places).flatten(1).double()
        answers = [(g.has @ chosen.mT * g.p[:, None]).mT @ g.has for g in self.graphs]
        return self._gather(answers).movedim(-2, 0).reshape(len(edges), *self.batch, *self.edge)


class _Graph:
    """One graph.

    Attributes:
        trees: the edges of every tree in order, as places in the flattened edge axes.
        has: ``(T, E)``, which tree has which edge.
        scores: ``(T,)``; ``log_p``, normalised; ``p``, their exponentials.
    """

    def __init__(self, log_weights: Tensor, length: int, root: str) -> None:
        edge = log_weights.shape
        labels = edge[2] if log_weights.dim() == 3 else 1
        heads = enumerate_trees(length, root)[:, 1:]
        pairs = heads * edge[0] + torch.arange(1, length + 1)
        labelings = torch.cartesian_prod(*[torch.arange(labels)] * length).reshape(-1, length)
        at = (pairs[:, None] * labels + labelings).reshape(-1, length)
        flat = log_weights.flatten()
        # A tree with an edge that is not there has no probability, and none of its derivatives.
        at = at[(flat[at] > -torch.inf).all(1)]
        assert len(at), "the graph has a tree"
        self.trees = [tuple(tree) for tree in at.tolist()]
        self.at = at
        self.has = torch.zeros(len(at), flat.numel(), dtype=torch.float64).scatter_(1, at, 1.0)
        self.scores = flat[at].sum(1)
        self.log_p = self.scores - self.scores.logsumexp(0)
        self.p = self.log_p.exp()
        self.labels, self.n, self.axes = labels, edge[0], log_weights.dim()

    def along(self, values: Tensor) -> Tensor:
        """Sum values ``(*edge, ...)`` along every tree, ``(T, ...)``."""
        return values.flatten(0, self.axes - 1)[self.at].sum(1)

    def agrees(self, heads: Tensor, labels: Tensor | None) -> Tensor:
        """Which trees agree with partial ones ``(*sample, n)``: ``(T, samples)``."""
        length = self.at.shape[1]
        pairs = self.at // self.labels
        known = heads.reshape(-1, self.n)[:, 1 : length + 1]
        fine = (pairs[:, None] // self.n == known) | (known < 0)
        if labels is not None:
            known = labels.reshape(-1, self.n)[:, 1 : length + 1]
            fine = fine & ((self.at[:, None] % self.labels == known) | (known < 0))
        return fine.all(-1)


def _logsumexp(terms: Tensor) -> Tensor:
    """Over the first axis; of nothing but -inf it is -inf, with a gradient of 0."""
    possible = (terms > -torch.inf).any(0)
    return terms.where(possible, 0.0).logsumexp(0).where(possible, -torch.inf)
