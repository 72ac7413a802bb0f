"""How many trees a graph has."""

import math

import numpy as np
import torch

from spantree.checks import Root, is_single_root
from spantree.graphs.named import NamedGraph
from spantree.inference.partition import log_partition

__all__ = ["count_trees", "log_tree_count", "tree_count"]

# Up to here in integers, n³/3 products of them; beyond by log Z, where that is accurate enough.
_LARGEST_DETERMINANT = 120
_LARGEST_ROUNDED = 1e10


def log_tree_count(graph: NamedGraph, root: Root = "multi") -> float:
    """The logarithm of the number of trees: log Z if all weights are 1. O(n³)."""
    there = graph.log_weights.detach() > -torch.inf
    ones = torch.zeros_like(graph.log_weights).masked_fill(~there, -torch.inf)
    NamedGraph(ones, graph.names, graph.undirected).distribution(root)  # says what is unreachable
    return float(log_partition(ones, root=root))


def tree_count(graph: NamedGraph, root: Root = "multi") -> int | None:
    """The exact number of trees, or None where a large graph has too many to know it exactly.

    Exact for up to 120 nodes, by a determinant in integers; of larger graphs if there are fewer
    than 10¹⁰ trees, which log Z tells within less than 0.5. ``exp(log_tree_count(graph))`` is known
    to 12 digits or so for any graph.

    Example:
        >>> import networkx as nx
        >>> from spantree.graphs import from_networkx
        >>> tree_count(from_networkx(nx.complete_graph(20)))  # Cayley: n^(n - 2)
        262144000000000000000000
    """
    if len(graph) <= _LARGEST_DETERMINANT:
        return _determinant(_laplacian(graph, single_root=is_single_root(root)))
    return _rounded_count(log_tree_count(graph, root))


def count_trees(graph: NamedGraph, root: Root) -> tuple[int | None, float]:
    """`tree_count` and `log_tree_count` at once."""
    log_count = log_tree_count(graph, root)
    small = len(graph) <= _LARGEST_DETERMINANT
    return tree_count(graph, root) if small else _rounded_count(log_count), log_count


def _rounded_count(log_count: float) -> int | None:
    """The number of trees, where its logarithm tells it exactly."""
    return round(math.exp(log_count)) if log_count < math.log(_LARGEST_ROUNDED) else None


def _laplacian(graph: NamedGraph, *, single_root: bool) -> np.ndarray:
    """The integers whose determinant is the number of trees.

    With the root's edges on the diagonal, any number of them (Tutte); with the root's edges in the
    place of the first row, exactly one: a column of the Laplacian without the root adds up to 0, so
    that its determinant is 0 and that row one of those left to choose (Koo et al., 2007).
    """
    edges = (graph.log_weights.detach() > -torch.inf).numpy().astype(object)
    np.fill_diagonal(edges, False)
    inner = edges[1:, 1:].astype(int).astype(object)
    from_root = edges[0, 1:].astype(int).astype(object)
    laplacian = -inner
    np.fill_diagonal(laplacian, inner.sum(axis=0) + (0 if single_root else from_root))
    if single_root:
        laplacian[0] = from_root
    return laplacian


def _determinant(matrix: np.ndarray) -> int:
    """Of integers, exactly: Bareiss's elimination, in which every division has no remainder."""
    matrix, sign, previous = matrix.copy(), 1, 1
    for k in range(len(matrix) - 1):
        below = matrix[k:, k].nonzero()[0]
        if not len(below):
            return 0
        if below[0]:
            swap = [k + below[0], k]
            matrix[[k, k + below[0]]] = matrix[swap]
            sign = -sign
        pivot, rest = matrix[k, k], slice(k + 1, None)
        product = pivot * matrix[rest, rest] - np.outer(matrix[rest, k], matrix[k, rest])
        matrix[rest, rest] = product // previous
        previous = pivot
    return sign * int(matrix[-1, -1])
