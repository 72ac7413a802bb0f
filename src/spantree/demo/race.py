"""How long the entropy and its gradient take: the library, the textbook, and the past."""

import statistics
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from spantree.demo.rivals import past_entropy, textbook_entropy
from spantree.distributions import SpanningTree

__all__ = ["SIZES", "Lap", "race"]

SIZES = (10, 20, 40, 80)
GRAPHS = 32  # solved together, as a training step would
SECONDS = 1.0  # to spend on each size, for one round at least
TURN = 0.03  # seconds, for which a contender is called again and again, once at least


class Lap(NamedTuple):
    """Median seconds per graph with ``nodes`` nodes, of each contender."""

    nodes: int
    library: float
    textbook: float
    past: float


def race(sizes: tuple[int, ...] = SIZES, *, seed: int = 0) -> Iterator[Lap]:
    """Measures in turns, on one thread, and yields a lap for every size as it is done."""
    generator = torch.Generator().manual_seed(seed)
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        for nodes in sizes:
            shape = (GRAPHS, nodes + 1, nodes + 1)
            log_weights = 3 * torch.randn(shape, dtype=torch.float64, generator=generator)
            yield Lap(nodes, *_medians(log_weights))
    finally:
        torch.set_num_threads(threads)


def _medians(log_weights: Tensor) -> list[float]:
    contenders = (_library_entropy, textbook_entropy, past_entropy)
    readings: list[list[float]] = [[] for _ in contenders]
    began = time.perf_counter()
    while not readings[-1] or time.perf_counter() - began < SECONDS:
        for entropy, times in zip(contenders, readings, strict=True):
            turn = time.perf_counter()
            times.append(_seconds(entropy, log_weights) / len(log_weights))
            while time.perf_counter() - turn < TURN:
                times.append(_seconds(entropy, log_weights) / len(log_weights))
    return [statistics.median(times) for times in readings]


def _library_entropy(log_weights: Tensor) -> Tensor:
    return SpanningTree(log_weights).entropy()


def _seconds(entropy: Callable[[Tensor], Tensor], log_weights: Tensor) -> float:
    log_weights = log_weights.detach().requires_grad_()
    began = time.perf_counter()
    torch.autograd.grad(entropy(log_weights).sum(), log_weights)
    return time.perf_counter() - began
