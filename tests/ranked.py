"""The best trees by slow and simple methods, in exact arithmetic."""

import heapq
import itertools
import math
from collections.abc import Iterator
from fractions import Fraction

import torch
from torch import Tensor

from spantree.inference.enumeration import enumerate_trees, tree_scores

__all__ = [
    "all_in_order",
    "best_by_contraction",
    "integer_scores",
    "labeled_in_order",
    "nearest_double",
    "ranked_by_enumeration",
    "ranked_by_partition",
]

Tree = list[int]


def ranked_by_enumeration(log_weights: Tensor, root: str) -> tuple[Tensor, Tensor]:
    """All trees of ``(B, n, n)`` graphs whose sums doubles can hold, in order.

    Returns heads ``(T, B, n)`` and scores ``(T, B)``, -1 and -inf after the last.
    """
    trees = enumerate_trees(log_weights.shape[-1] - 1, root)
    scores = tree_scores(log_weights, trees)
    # Enumeration runs through the heads in the order that decides between equals.
    scores, order = scores.sort(dim=-1, descending=True, stable=True)
    heads = trees[order].masked_fill((scores == -torch.inf)[..., None], -1)
    return heads.transpose(0, 1), scores.T


def all_in_order(log_weights: Tensor, root: str) -> list[tuple[Fraction, Tree]]:
    """All trees of one small graph, whatever its weights: exact scores and heads."""
    weights = log_weights.tolist()
    found = []
    for heads in enumerate_trees(len(weights) - 1, root).tolist():
        edges = [weights[head][j] for j, head in enumerate(heads) if j]
        if -math.inf not in edges:
            found.append((sum(map(Fraction, edges)), heads))
    return sorted(found, key=lambda tree: (-tree[0], tree[1]))


def labeled_in_order(log_weights: Tensor, root: str) -> list[tuple[Fraction, Tree, Tree]]:
    """All labelled trees of one tiny graph ``(n, n, Y)``."""
    weights, kinds = log_weights.tolist(), range(log_weights.shape[-1])
    found = []
    for heads in enumerate_trees(len(weights) - 1, root).tolist():
        for labels in itertools.product(kinds, repeat=len(heads) - 1):
            edges = [weights[heads[j]][j][y] for j, y in enumerate(labels, start=1)]
            if -math.inf not in edges:
                found.append((sum(map(Fraction, edges)), heads, [-1, *labels]))
    return sorted(found, key=lambda tree: (-tree[0], *tree[1:]))


def nearest_double(x: Fraction) -> float:
    """Like float(x), with overflow to infinity."""
    try:
        return float(x)
    except OverflowError:
        return math.inf if x > 0 else -math.inf


# A graph by dependents: for each the integer scores of its edges by head.
Graph = dict[int, dict[int, int]]


def integer_scores(log_weights: Tensor, root: str) -> Graph:
    """The edges of a graph, scaled to integers; a tree with fewer root edges wins if single."""
    weights = log_weights.tolist()
    nodes = range(1, len(weights))
    edges = {
        j: {i: Fraction(weights[i][j]) for i in (0, *nodes) if i != j and weights[i][j] > -math.inf}
        for j in nodes
    }
    unit = math.lcm(*(x.denominator for column in edges.values() for x in column.values()))
    graph = {j: {i: int(x * unit) for i, x in column.items()} for j, column in edges.items()}
    if root == "single":
        forbidding = 1 + sum(2 * max(map(abs, column.values())) for column in graph.values())
        for column in graph.values():
            if 0 in column:
                column[0] -= forbidding
    return graph


def best_by_contraction(graph: Graph) -> dict[int, int] | None:
    """The heads of a best tree, by Chu, Liu and Edmonds word for word; None if there is none."""
    if not all(graph.values()):
        return None
    heads = {j: max(column, key=column.__getitem__) for j, column in graph.items()}
    cycle = _cycle(heads)
    if not cycle:
        return heads
    inside, new = set(cycle), max(graph) + 1
    contracted: Graph = {new: {}}
    entrance, exit_of = {}, {}
    for j, column in graph.items():
        for i, score in column.items():
            if j in inside and i not in inside:
                gain = score - column[heads[j]]
                if i not in contracted[new] or gain > contracted[new][i]:
                    contracted[new][i], entrance[i] = gain, j
            elif j not in inside:
                target = contracted.setdefault(j, {})
                source = new if i in inside else i
                if source not in target or score > target[source]:
                    target[source] = score
                    if source == new:
                        exit_of[j] = i
    rest = best_by_contraction(contracted)
    if rest is None:
        return None
    into = rest.pop(new)
    result = {j: exit_of[j] if i == new else i for j, i in rest.items()}
    result |= {j: heads[j] for j in cycle}
    result[entrance[into]] = into
    return result


def _cycle(heads: dict[int, int]) -> list[int]:
    done = {0}
    for start in heads:
        path = []
        node = start
        while node not in done and node not in path:
            path.append(node)
            node = heads[node]
        if node in path:
            return path[path.index(node) :]
        done |= set(path)
    return []


def ranked_by_partition(graph: Graph) -> Iterator[tuple[int, dict[int, int]]]:
    """Yield scores and heads of the trees in order (Lawler 1972), a best tree per node and rank."""

    def entry(restricted: Graph, fixed: int) -> tuple | None:
        heads = best_by_contraction(restricted)
        if heads is None:
            return None
        return -sum(graph[j][i] for j, i in heads.items()), next(count), heads, restricted, fixed

    count = itertools.count()
    table = [entry(graph, 0)]
    while table:
        score, _, heads, restricted, fixed = heapq.heappop(table)
        yield -score, heads
        # Trees that share the heads of the nodes before j and differ at j.
        for j in range(fixed + 1, len(graph) + 1):
            without = {i: s for i, s in restricted[j].items() if i != heads[j]}
            found = entry({**restricted, j: without}, j - 1)
            if found:
                heapq.heappush(table, found)
            restricted = {**restricted, j: {heads[j]: restricted[j][heads[j]]}}
