"""From and to networkx."""

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
from torch import Tensor

from spantree.extras import load
from spantree.graphs.assembly import EdgeList, Merge, assemble, check_merge
from spantree.graphs.named import NamedGraph
from spantree.graphs.problems import GraphError, listed
from spantree.graphs.weights import to_log_weights

__all__ = ["from_networkx", "to_networkx"]


def from_networkx(
    graph: Any,
    root: Any = None,
    weight: str | None = "weight",
    log_weight: str | None = None,
    *,
    undirected: bool | None = None,
    merge: Merge | None = None,
) -> NamedGraph:
    """The graph of a ``networkx`` graph.

    Args:
        graph: a DiGraph or Graph, or a MultiDiGraph or MultiGraph.
        root: the node to be the root. With None the only node without incoming edges or, for an
            undirected graph, the first node: the distribution does not depend on it.
        weight: the edge attribute with weights >= 0; 0 means no edge. Every edge has weight 1 with
            None, and if edges have no attributes at all.
        log_weight: the attribute with log-weights, which then stand instead of weights; ``-inf``
            means no edge.
        undirected: whether each edge can be taken in both directions; as the graph says if None.
        merge: what to do with parallel edges: ``"sum"``, ``"max"``, or with None raise an error.

    Raises:
        GraphError: for an edge without the attribute or with a value that is no weight, parallel
            edges, or a root that is not there or not clear.

    Example:
        >>> import networkx as nx
        >>> graph = from_networkx(nx.cycle_graph(5))
        >>> graph
        NamedGraph(nodes=5, edges=5, root=0, undirected=True)
        >>> graph.distribution().log_partition.exp().round()  # any edge can be left out
        tensor(5., dtype=torch.float64)
    """
    check_merge(merge)
    if not hasattr(graph, "is_directed") or not hasattr(graph, "edges"):
        raise TypeError(f"graph must be a networkx graph, got {type(graph).__name__}")
    names: list[Hashable] = list(graph.nodes)
    codes = {name: i for i, name in enumerate(names)}
    triples = list(graph.edges(data=True))
    if not triples:
        raise GraphError("the graph has no edges")

    def where(i: int) -> str:
        return f"edge {i + 1}"

    edges = EdgeList(
        np.array([codes[triple[0]] for triple in triples]),
        np.array([codes[triple[1]] for triple in triples]),
        np.zeros(len(triples)),
        names,
        where,
    )
    attribute = log_weight if log_weight is not None else weight
    if log_weight is not None or (weight is not None and any(data for _, _, data in triples)):
        assert attribute is not None
        values = _attribute(triples, attribute)
        edges.log_weights = to_log_weights(
            values, attribute, log=log_weight is not None, where=where, edge=edges.edge
        )
    both_ways = not graph.is_directed() if undirected is None else undirected
    return assemble(edges, root=root, undirected=both_ways, merge=merge)


def to_networkx(
    graph: NamedGraph, *, marginals: Tensor | None = None, heads: Tensor | None = None
) -> Any:
    """The graph, or a tree of it, as a ``networkx`` DiGraph; as a Graph if it is undirected.

    Edges have attributes ``weight`` and ``log_weight``; the graph has ``root``.

    Args:
        graph: the graph.
        marginals: ``(n, n)`` probabilities, for an attribute ``probability``.
        heads: ``(n,)`` a tree: its edges alone are returned, an arborescence.

    Example:
        >>> import networkx as nx
        >>> graph = from_networkx(nx.DiGraph([("r", "a"), ("a", "b"), ("r", "b")]))
        >>> d = graph.distribution()
        >>> to_networkx(graph, marginals=d.marginals).edges["a", "b"]["probability"]
        0.5
        >>> nx.is_arborescence(to_networkx(graph, heads=d.mode))
        True
    """
    nx = load("networkx", extra="graphs", purpose="to make one of its graphs")
    network = nx.Graph() if graph.undirected else nx.DiGraph()
    network.graph["root"] = graph.root
    network.add_nodes_from(graph.names)
    table = graph.edge_table(**({} if marginals is None else {"probability": marginals}))
    tree = None if heads is None else set(graph.name_tree(heads).items())
    attributes = list(table)[2:]
    for source, target, *values in zip(*table.values(), strict=True):
        back = graph.undirected and tree is not None and (source, target) in tree
        if tree is None or (target, source) in tree or back:
            network.add_edge(source, target, **dict(zip(attributes, values, strict=True)))
    return network


def _attribute(triples: Iterable[tuple[Any, Any, dict[str, Any]]], name: str) -> list[Any]:
    """The values of an attribute that every edge must have."""
    triples = list(triples)
    values = [data.get(name) for _, _, data in triples]
    for source, target, data in triples:
        if name not in data:
            attributes = dict.fromkeys(key for _, _, some in triples for key in some)
            there = f"edges have {listed(attributes)}" if attributes else "edges have none"
            raise GraphError(
                f"the edge {source!r} -> {target!r} has no attribute {name!r}; {there}",
                "name the attribute with weight=... or log_weight=..., or give every edge "
                "weight 1 with weight=None",
                "name the attribute with --weight or --log-weight, or give every edge weight 1 "
                "with --unweighted",
            )
    return values
