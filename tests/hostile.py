"""Named families of weights on which textbook inference breaks; trees of either kind exist."""

import zlib
from collections.abc import Callable
from functools import partial

import torch
from torch import Generator, Tensor

from tests.graphs import random_tree, with_garbage

__all__ = ["FAMILIES", "hostile_log_weights"]

Family = Callable[[int, Generator], Tensor]


def hostile_log_weights(family: str, num_nodes: int, seed: int = 0) -> Tensor:
    """Draw ``(n, n)`` float64 log-weights, n = num_nodes + 1; garbage where there is no edge."""
    generator = Generator().manual_seed(zlib.crc32(family.encode()) + seed)
    return with_garbage(FAMILIES[family](num_nodes, generator))


def _normal(num_nodes: int, generator: Generator, scale: float = 1.0) -> Tensor:
    return scale * torch.randn(
        num_nodes + 1, num_nodes + 1, generator=generator, dtype=torch.float64
    )


def _weak_root(num_nodes: int, generator: Generator, depth: float) -> Tensor:
    log_weights = _normal(num_nodes, generator)
    log_weights[0] -= depth
    return log_weights


def _bind(log_weights: Tensor, nodes: list[int], strength: float) -> None:
    """Raise the edges of the cycle through ``nodes``."""
    if len(nodes) > 1:
        for head, dependent in zip(nodes, nodes[1:] + nodes[:1], strict=True):
            log_weights[head, dependent] += strength


def _bound_cycle(num_nodes: int, generator: Generator, size: int, strength: float) -> Tensor:
    log_weights = _normal(num_nodes, generator)
    _bind(log_weights, list(range(1, num_nodes + 1))[:size], strength)
    return log_weights


def _chain_of_cycles(num_nodes: int, generator: Generator, size: int, strength: float) -> Tensor:
    """Bind clusters of nodes into cycles, and weaken all edges that lead past the next cluster."""
    log_weights = _normal(num_nodes, generator)
    cluster = (torch.arange(num_nodes + 1) + size - 1) // size  # the root is cluster 0
    same_or_next = (cluster - cluster[:, None] == 0) | (cluster - cluster[:, None] == 1)
    log_weights -= torch.where(same_or_next, 0.0, strength)
    for first in range(1, num_nodes + 1, size):
        _bind(log_weights, list(range(first, min(first + size, num_nodes + 1))), strength)
    return log_weights


def _two_bands(num_nodes: int, generator: Generator, share: float, distance: float) -> Tensor:
    low = torch.rand(num_nodes + 1, num_nodes + 1, generator=generator) < share
    return _normal(num_nodes, generator) - distance * low


def _two_blocks(num_nodes: int, generator: Generator, distance: float) -> Tensor:
    """Two halves of the graph that hardly see each other."""
    half = torch.arange(num_nodes + 1) > num_nodes // 2
    return _normal(num_nodes, generator) - distance * (half != half[:, None])


def _nested_cycles(num_nodes: int, generator: Generator, strength: float) -> Tensor:
    """Two nodes bound together, a third bound to both a little less, and so on outwards."""
    log_weights = _normal(num_nodes, generator)
    for node in range(2, num_nodes + 1):
        bond = strength * (1 - (node - 2) / num_nodes)
        log_weights[node, :node] += bond
        log_weights[1:node, node] += bond
    return log_weights


def _all_scales(num_nodes: int, generator: Generator, distance: float) -> Tensor:
    return -distance * torch.rand(
        num_nodes + 1, num_nodes + 1, generator=generator, dtype=torch.float64
    )


def _weak_spine(num_nodes: int, generator: Generator, distance: float) -> Tensor:
    """Only the root's edges are strong, so the trees with a single one are far below all others."""
    log_weights = _normal(num_nodes, generator)
    log_weights[1:] -= distance
    return log_weights


def _forbidden(num_nodes: int, generator: Generator, share: float, scale: float) -> Tensor:
    log_weights = _normal(num_nodes, generator, scale)
    forbidden = torch.rand(num_nodes + 1, num_nodes + 1, generator=generator) < share
    forbidden[random_tree(num_nodes, generator)[1:], torch.arange(1, num_nodes + 1)] = False
    log_weights = log_weights.masked_fill(forbidden, -torch.inf)
    order = [0, *(torch.randperm(num_nodes, generator=generator) + 1).tolist()]
    return log_weights[order][:, order]


def _one_root_child(num_nodes: int, generator: Generator) -> Tensor:
    log_weights = _normal(num_nodes, generator, 10.0)
    log_weights[0, 2:] = -torch.inf
    return log_weights


def _acyclic(num_nodes: int, generator: Generator) -> Tensor:
    """Edges lead to later nodes only: no two nodes reach each other."""
    log_weights = _normal(num_nodes, generator, 10.0)
    return log_weights.masked_fill(torch.ones_like(log_weights).tril(-1).bool(), -torch.inf)


FAMILIES: dict[str, Family] = (
    {f"gaussian-{scale}": partial(_normal, scale=scale) for scale in (1, 10, 30, 60, 100, 300)}
    | {f"root-{depth}-below": partial(_weak_root, depth=depth) for depth in (40, 200)}
    | {
        f"{size}-cycle-bound-by-{strength}": partial(_bound_cycle, size=size, strength=strength)
        for size in (2, 3)
        for strength in (20, 40, 80, 150, 600)
    }
    | {
        f"chain-of-{size}-cycles-bound-by-{strength}": partial(
            _chain_of_cycles, size=size, strength=strength
        )
        for size in (2, 3)
        for strength in (20, 40, 80, 150, 600)
    }
    | {
        "half-at-1e4-below": partial(_two_bands, share=0.5, distance=1e4),
        "most-at-1e4-below": partial(_two_bands, share=0.9, distance=1e4),
        "few-at-1e4-below": partial(_two_bands, share=0.1, distance=1e4),
        "anywhere-to-1e4-below": partial(_all_scales, distance=1e4),
        "nested-cycles-bound-by-80": partial(_nested_cycles, strength=80.0),
        "nested-cycles-bound-by-600": partial(_nested_cycles, strength=600.0),
        "blocks-at-1e4": partial(_two_blocks, distance=1e4),
        "root-1e4-below": partial(_weak_root, depth=1e4),
        "spine-1e4-below": partial(_weak_spine, distance=1e4),
        "forbidden-0.3": partial(_forbidden, share=0.3, scale=3.0),
        "forbidden-0.7": partial(_forbidden, share=0.7, scale=3.0),
        "forbidden-0.7-gaussian-60": partial(_forbidden, share=0.7, scale=60.0),
        "one-tree": partial(_forbidden, share=1.0, scale=60.0),
        "one-root-child": _one_root_child,
        "acyclic": _acyclic,
    }
)
