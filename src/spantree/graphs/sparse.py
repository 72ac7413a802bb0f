"""From and to matrices of scipy, and dense ones of numpy."""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from spantree.extras import load
from spantree.graphs.assembly import EdgeList, assemble
from spantree.graphs.named import NamedGraph
from spantree.graphs.problems import GraphError
from spantree.graphs.weights import to_log_weights

__all__ = ["from_scipy", "to_scipy"]


def from_scipy(
    matrix: Any,
    root: int = 0,
    names: Sequence[Hashable] | None = None,
    log: bool = False,
    undirected: bool = False,
) -> NamedGraph:
    """The graph of a square matrix of weights, ``[head, dependent]``.

    Args:
        matrix: ``(n, n)``, sparse of scipy or dense of numpy. Repeated entries of a sparse one add
            up, as scipy has it.
        root: the index of the root; of an undirected graph any, as the distribution does not
            depend on it.
        names: n names; ``0, 1, ...`` if None.
        log: whether the entries are log-weights: then a sparse matrix has edges where it stores
            something, also 0, and a dense one where it does not hold ``-inf``.
        undirected: whether each edge can be taken in both directions. The matrix must be
            symmetric, or have one of each pair of entries only.

    Raises:
        GraphError: for an entry that is no weight, or a matrix that is not symmetric.

    Example:
        >>> import scipy.sparse
        >>> matrix = scipy.sparse.csr_array([[0, 3, 1], [0, 0, 1], [0, 2, 0]])
        >>> graph = from_scipy(matrix, names=["s", "a", "b"])
        >>> graph
        NamedGraph(nodes=3, edges=4, root='s')
        >>> to_scipy(graph, graph.distribution().marginals).toarray().round(3)
        array([[0.   , 0.75 , 0.625],
               [0.   , 0.   , 0.375],
               [0.   , 0.25 , 0.   ]])
    """
    shape = getattr(matrix, "shape", None)
    if shape is None or len(shape) != 2 or shape[0] != shape[1]:
        found = type(matrix).__name__ if shape is None else f"shape {tuple(shape)}"
        raise GraphError(f"matrix must be square, got {found}")
    n = shape[0]
    names = range(n) if names is None else list(names)
    if len(names) != n:
        raise ValueError(f"names must be {n} like the rows of the matrix, got {len(names)}")
    if not 0 <= root < n:
        raise ValueError(f"root must be an index in 0..{n - 1}, got {root}")
    sources, targets, values = _entries(matrix, log)
    edges = EdgeList(
        sources, targets, values, names, lambda i: f"entry ({sources[i]}, {targets[i]})"
    )
    edges.log_weights = to_log_weights(
        values.tolist(),
        "log-weight" if log else "weight",
        log=log,
        where=edges.where,
        edge=edges.edge,
    )
    if undirected:
        _drop_mirrored(edges)
    if not len(edges.sources):
        raise GraphError("the graph has no edges")
    return assemble(edges, root=names[root], undirected=undirected, merge=None if log else "sum")


def to_scipy(graph: NamedGraph, values: Tensor | None = None) -> Any:
    """A ``scipy.sparse.csr_array`` ``(n, n)`` with an entry for every edge, in the order of names.

    An undirected graph has both directions, but for edges into the root; without ``values`` these
    too, so that the matrix is symmetric.

    Args:
        graph: the graph.
        values: ``(n, n)``, such as marginals or log-weights; the weights if None.
    """
    sparse = load("scipy.sparse", extra="graphs", purpose="to make one of its matrices")
    log_weights = graph.log_weights.detach()
    heads, dependents = graph.edge_indices.unbind(1)
    if graph.undirected:
        inner = heads > 0
        heads, dependents = (
            torch.cat([heads, dependents[inner]]),
            torch.cat([dependents, heads[inner]]),
        )
    found = (log_weights.exp() if values is None else values.detach())[heads, dependents]
    if graph.undirected and values is None:
        top = heads == 0
        found = torch.cat([found, found[top]])
        heads, dependents = (
            torch.cat([heads, dependents[top]]),
            torch.cat([dependents, heads[top]]),
        )
    entries = (found.numpy(), (heads.numpy(), dependents.numpy()))
    return sparse.coo_array(entries, shape=(len(graph), len(graph))).tocsr()


def _entries(
    matrix: Any, log: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Rows, columns and values of what is stored; of a dense matrix what stands for an edge."""
    if hasattr(matrix, "tocoo"):
        # By way of rows entries add up; of logarithms they must not.
        coo = matrix.tocoo() if log else matrix.tocsr().tocoo()
        return coo.row.astype(np.int64), coo.col.astype(np.int64), coo.data.astype(np.float64)
    dense = np.asarray(matrix, dtype=np.float64)
    rows, columns = (~np.isneginf(dense) if log else dense != 0).nonzero()
    return rows, columns, dense[rows, columns]


def _drop_mirrored(edges: EdgeList) -> None:
    """Leaves one of two equal entries for an undirected edge; GraphError if they are not equal."""
    n = len(edges.names)
    keys = edges.sources * n + edges.targets
    mirrored = edges.targets * n + edges.sources
    order = np.argsort(keys)
    found = np.searchsorted(keys, mirrored, sorter=order)
    partner = order[np.minimum(found, len(keys) - 1)]
    lower = (edges.sources > edges.targets) & (keys[partner] == mirrored)
    wrong = lower & (edges.log_weights != edges.log_weights[partner])
    if wrong.any():
        i = int(wrong.argmax())
        raise GraphError(
            "the matrix of an undirected graph must be symmetric or have one of each pair of "
            f"entries: {edges.where(i)} and {edges.where(int(partner[i]))} differ"
        )
    edges.keep(~lower)
