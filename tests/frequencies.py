"""How often is often enough: samples against the probabilities they should have.

Seeds are fixed, so a test that passes always passes; what is declared is how often a correct
sampler would fail it for a fresh seed.
"""

import math

import torch
from torch import Tensor

__all__ = ["FAILURE_RATE", "assert_fits", "assert_frequencies", "edge_counts", "tree_numbers"]

FAILURE_RATE = 1e-6
FEWEST_EXPECTED = 10.0


def assert_fits(counts: Tensor, probabilities: Tensor) -> None:
    """Pearson's chi-square test of the counts of all outcomes; rare ones are taken together."""
    counts, total = counts.double(), int(counts.sum())
    assert not counts[probabilities == 0].any(), "something impossible was drawn"
    expected = total * probabilities.double()
    rare = expected < FEWEST_EXPECTED
    # The rare ones make a cell of their own, with the least common other one if they are too few.
    if rare.any() and expected[rare].sum() < FEWEST_EXPECTED and not rare.all():
        rare |= expected == expected[~rare].min()
    cells = [
        (counts[~rare], expected[~rare]),
        (counts[rare].sum()[None], expected[rare].sum()[None]),
    ]
    observed, wanted = (torch.cat(parts) for parts in zip(*cells, strict=True))
    observed, wanted = observed[wanted > 0], wanted[wanted > 0]
    statistic = ((observed - wanted) ** 2 / wanted).sum()
    freedom = len(wanted) - 1
    if freedom:
        half = torch.tensor(freedom / 2, dtype=torch.float64)
        rate = float(torch.special.gammaincc(half, statistic / 2))
        assert rate > FAILURE_RATE, f"chi-square {statistic:.1f} with {freedom}: {rate:.1e}"


def assert_frequencies(counts: Tensor, total: int, probabilities: Tensor) -> None:
    """Counts of many events, each against its probability, by Chernoff's bound.

    It holds for any number of samples and any probability: the frequency is off by more than
    n KL(frequency, probability) = x with probability 2 exp(−x) at most.
    """
    frequency = counts.double() / total
    # Probabilities from differences are known to about that.
    p = probabilities.double().clamp(1e-13, 1.0)
    q = (1.0 - probabilities.double()).clamp(1e-13, 1.0)
    distance = total * (
        torch.xlogy(frequency, frequency / p) + torch.xlogy(1 - frequency, (1 - frequency) / q)
    )
    worst = int(distance.argmax())
    allowed = math.log(2 * distance.numel() / FAILURE_RATE)
    assert distance.max() <= allowed, (
        f"frequency {frequency.flatten()[worst]:.6f} of something of probability "
        f"{probabilities.flatten()[worst]:.6f} in {total} samples"
    )


def edge_counts(heads: Tensor) -> Tensor:
    """How many of the trees ``(S, n)`` have each edge, ``(n, n)``; column 0 is 0."""
    n = heads.shape[-1]
    edges = heads[:, 1:] * n + torch.arange(1, n)
    return edges[heads[:, 1:] >= 0].bincount(minlength=n * n).reshape(n, n)


def tree_numbers(trees: Tensor, heads: Tensor) -> Tensor:
    """Which of the trees ``(T, n)`` each of ``(..., n)`` is; all must be among them."""
    n = trees.shape[-1]
    place = n ** torch.arange(n - 1)
    codes, order = (trees[:, 1:] * place).sum(-1).sort()
    drawn = (heads[..., 1:] * place).sum(-1)
    found = torch.searchsorted(codes, drawn).clamp_max(len(codes) - 1)
    assert torch.equal(codes[found], drawn), "something was drawn that is no tree"
    return order[found]
