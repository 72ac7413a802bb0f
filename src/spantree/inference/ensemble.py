"""A batch of graphs as the questions beyond log Z see them: clean, in float64, labelled or not."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from spantree.checks import Root, check_edges
from spantree.inference.jet import first, zeroth
from spantree.inference.labels import collapse, label_posteriors
from spantree.inference.question import Question, require_lengths
from spantree.inference.trees import real_edges

__all__ = ["Ensemble"]


@dataclass(frozen=True)
class Ensemble:
    """Weighted graphs and the trees in them.

    Attributes:
        log_weights: ``(*batch, n, n)`` or ``(*batch, n, n, Y)`` float64, ``-inf`` off the edges.
        lengths: ``(*batch,)``, or None if all nodes are real.
        question: how to ask.
        edge_axes: 2, or 3 with labels.
    """

    log_weights: Tensor
    lengths: Tensor | None
    question: Question
    edge_axes: int = 2

    @classmethod
    def of(
        cls,
        log_weights: Tensor,
        lengths: Tensor | None,
        root: Root,
        validate_args: bool | None,
        *,
        labeled: bool = False,
    ) -> "Ensemble":
        """Checks shapes and types, and cleans what is not an edge."""
        if labeled:
            check_edges("log_weights", log_weights, 3)
        plain = log_weights[..., 0] if labeled else log_weights
        question = Question.about(plain, lengths, root, validate_args, "auto")
        # In float64 from here on: results are rounded to the input's dtype once, at the end.
        raw = cls(log_weights.double(), lengths, question, 3 if labeled else 2)
        return replace(raw, log_weights=raw.log_weights.where(raw.edges, -torch.inf))

    @property
    def batch_shape(self) -> torch.Size:
        return self.log_weights.shape[: -self.edge_axes]

    @property
    def edge_shape(self) -> torch.Size:
        return self.log_weights.shape[-self.edge_axes :]

    @property
    def present(self) -> Tensor:
        """Which edges exist."""
        return self.log_weights > -torch.inf

    @property
    def edges(self) -> Tensor:
        """Which pairs of real nodes, with labels if there are any, could be edges."""
        n = self.edge_shape[0]
        pairs = real_edges(n, self.lengths, self.log_weights.device)
        return pairs if self.edge_axes == 2 else pairs[..., None]

    def reweighted(self, log_weights: Tensor, *, validate: bool | None = None) -> "Ensemble":
        """The same graphs with other weights; further batch axes may stand in front."""
        batch = log_weights.shape[: -self.edge_axes]
        lengths = None if self.lengths is None else self.lengths.expand(batch)
        question = self.question._replace(batch_shape=tuple(batch))
        if validate is not None:
            question = question._replace(validate=validate)
        return replace(self, log_weights=log_weights, lengths=lengths, question=question)

    def item(self, index: tuple[int, ...]) -> "Ensemble":
        """One graph of the batch, without its padding."""
        log_weights = self.log_weights[index]
        if self.lengths is not None:
            require_lengths(self.lengths.reshape(-1), self.edge_shape[0] - 1, self.batch_shape)
            n = int(self.lengths[index]) + 1
            log_weights = log_weights[:n, :n]
        question = self.question._replace(batch_shape=())
        return replace(self, log_weights=log_weights, lengths=None, question=question)

    def tempered(self, power: float) -> "Ensemble":
        """Every weight to a power; an edge that is not there stays away, even for power 0."""
        scaled = self.log_weights.where(self.present, 0.0) * power
        return self.reweighted(scaled.where(self.present, -torch.inf))

    def log_partition(self) -> Tensor:
        """``(*batch,)``."""
        return zeroth(self._plain(), self.lengths, self.question, with_marginals=False)[0]

    def solve(self) -> tuple[Tensor, Tensor]:
        """Log Z ``(*batch,)`` and the marginals, like ``log_weights``."""
        log_partition, marginals = zeroth(
            self._plain(), self.lengths, self.question, with_marginals=True
        )
        if self.edge_axes == 3:
            marginals = marginals[..., None] * label_posteriors(self.log_weights)
        return log_partition, marginals

    def hessian_vector_product(
        self, direction: Tensor, *, plain_product: Callable[[Tensor], Tensor] | None = None
    ) -> Tensor:
        """J_1 in directions ``(*several, *batch, *edge)``, 0 off the edges.

        ``plain_product`` is another way to J_1 of the graphs without labels.
        """
        plain = self._plain()
        product = plain_product or (lambda u: first(plain, u, self.lengths, self.question))
        if self.edge_axes == 2:
            return product(direction)
        posteriors = label_posteriors(self.log_weights)
        marginals = zeroth(plain, self.lengths, self.question, with_marginals=True)[1]
        mean = (posteriors * direction).sum(-1)
        within = marginals[..., None] * (direction - mean[..., None])
        return posteriors * (product(mean)[..., None] + within)

    def plain(self) -> "Ensemble":
        """The same graphs without labels: parallel edges summed."""
        return replace(self, log_weights=self._plain(), edge_axes=2)

    def _plain(self) -> Tensor:
        return collapse(self.log_weights) if self.edge_axes == 3 else self.log_weights
