"""The same graph scored ever more confidently: where the textbook's determinant breaks."""

from collections.abc import Iterator
from typing import NamedTuple

from torch import Tensor

from spantree.demo.rivals import textbook_marginals
from spantree.inference.marginals import edge_marginals

__all__ = ["FACTORS", "Trial", "confidence_trials"]

FACTORS = (1, 2, 5, 10, 15, 20, 50, 200)


class Trial(NamedTuple):
    """What the probabilities of a graph's edges look like when its scores are multiplied.

    Attributes:
        factor: by what.
        textbook: the smallest and the largest "probability" that the determinant gives.
        library: those of the library.
        error: the largest error of the textbook, with the library as the judge; NaN where the
            textbook is NaN.
    """

    factor: int
    textbook: tuple[float, float]
    library: tuple[float, float]
    error: float


def confidence_trials(log_weights: Tensor, factors: tuple[int, ...] = FACTORS) -> Iterator[Trial]:
    """One trial for each factor, of a graph ``(n, n)`` with a single root."""
    for factor in factors:
        scores = factor * log_weights
        theirs, ours = textbook_marginals(scores).detach(), edge_marginals(scores)
        yield Trial(factor, _range(theirs), _range(ours), float((theirs - ours).abs().max()))


def _range(marginals: Tensor) -> tuple[float, float]:
    inner = marginals[:, 1:]
    return float(inner.min()), float(inner.max())
