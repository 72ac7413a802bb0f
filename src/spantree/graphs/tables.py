"""Edge tables: pandas and polars frames, pyarrow tables, columns in a dict. None is imported."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from spantree.graphs.assembly import EdgeList, Merge, assemble, check_merge, encode
from spantree.graphs.named import NamedGraph
from spantree.graphs.problems import GraphError, close_matches
from spantree.graphs.weights import to_log_weights

__all__ = ["from_table", "graph_of_columns", "require_columns"]


def from_table(
    table: Any,
    source: str = "source",
    target: str = "target",
    weight: str | None = "weight",
    log_weight: str | None = None,
    root: Any = None,
    undirected: bool = False,
    merge: Merge | None = None,
) -> NamedGraph:
    """The graph of a table with a row for every edge.

    Args:
        table: a pandas or polars frame, a pyarrow table, or a mapping of names to columns.
        source: the column with the name of the head of each edge.
        target: that of its dependent.
        weight: the column of weights >= 0; 0 means no edge. With None every edge has weight 1.
        log_weight: the column of log-weights, which then stand instead of weights; ``-inf`` means
            no edge.
        root: the name of the root. With None the only node without incoming edges or, for an
            undirected graph, the first node: the distribution does not depend on it.
        undirected: whether each edge can be taken in both directions.
        merge: what to do with several edges between the same nodes: add up their weights
            (``"sum"``), take the largest (``"max"``), or with None raise an error. In an undirected
            graph an edge and its reverse are two of the same.

    Raises:
        GraphError: if that is no graph; the message names the column, the row or the node.

    Example:
        >>> rows = {"from": ["a", "b", "c"], "to": ["b", "c", "a"], "score": [0.5, -1000.0, 2.0]}
        >>> graph = from_table(rows, "from", "to", log_weight="score", undirected=True)
        >>> graph
        NamedGraph(nodes=3, edges=3, root='a', undirected=True)
        >>> graph.name_tree(graph.distribution().mode)
        {'b': 'a', 'c': 'a'}
    """
    check_merge(merge)
    names = [source, target]
    values = log_weight if log_weight is not None else weight
    if values is not None:
        names.append(values)
    require_columns(names, _column_names(table))
    columns = [_values(_column(table, name)) for name in names]
    lengths = {name: len(column) for name, column in zip(names, columns, strict=True)}
    if len(set(lengths.values())) > 1:
        raise GraphError(f"columns must have the same length, got {lengths}")
    return graph_of_columns(
        columns,
        values,
        log=log_weight is not None,
        where=lambda i: f"row {i}",
        root=root,
        undirected=undirected,
        merge=merge,
    )


def graph_of_columns(
    columns: list[list[Any]],
    values: str | None,
    *,
    log: bool,
    where: Callable[[int], str],
    root: Any,
    undirected: bool,
    merge: Merge | None,
) -> NamedGraph:
    """The graph with these sources, targets and, unless ``values`` is None, values so called."""
    if not columns[0]:
        raise GraphError("the table has no edges")
    sources, targets, names = encode(columns[0], columns[1], where)
    edges = EdgeList(sources, targets, np.zeros(len(sources)), names, where)
    if values is not None:
        edges.log_weights = to_log_weights(
            columns[2], values, log=log, where=where, edge=edges.edge
        )
    return assemble(edges, root=root, undirected=undirected, merge=merge)


def require_columns(wanted: list[str], present: list[str]) -> None:
    """Raises GraphError, naming the columns that there are, unless all wanted are among them."""
    for kind, name in zip(("source", "target", "weight"), wanted, strict=False):
        if name not in present:
            hint = close_matches(name, present)
            there = "" if hint.startswith("there are") else f" (there are {', '.join(present)})"
            raise GraphError(
                f"no column {name!r}; {hint}{there}",
                _column_fix(kind, "{}=...", "weight=None"),
                _column_fix(kind, "--{} COLUMN", "--unweighted"),
            )


def _column_fix(kind: str, option: str, unweighted: str) -> str:
    fix = f"name the column with {option.format(kind)}"
    if kind != "weight":
        return fix
    other = option.format("log_weight" if "=" in option else "log-weight")
    return f"{fix} or {other}, or give every edge weight 1 with {unweighted}"


def _column_names(table: Any) -> list[str]:
    if isinstance(table, Mapping):
        return list(table)
    names = getattr(table, "column_names", None)  # pyarrow
    if names is None:
        names = getattr(table, "columns", None)  # pandas, polars
    if names is None:
        raise TypeError(
            "table must be a pandas or polars frame, a pyarrow table or a dict of columns, "
            f"got {type(table).__name__}"
        )
    return list(names)


def _column(table: Any, name: str) -> Any:
    return table.column(name) if hasattr(table, "column_names") else table[name]


def _values(column: Any) -> list[Any]:
    """The column as Python objects."""
    for convert in ("to_pylist", "to_list", "tolist"):
        if hasattr(column, convert):
            return getattr(column, convert)()
    return list(column)
