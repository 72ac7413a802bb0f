"""Tables and graphs to files: what a file is, its name tells."""

import csv
import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import numpy as np
from torch import Tensor

from spantree.extras import load
from spantree.graphs.graphml import write_graphml
from spantree.graphs.named import NamedGraph
from spantree.graphs.problems import GraphError
from spantree.graphs.staging import staged

__all__ = ["WRITABLE_GRAPHS", "WRITABLE_TABLES", "Format", "write_graph", "write_table"]

WRITABLE_TABLES = (".csv", ".tsv", ".parquet", ".json", ".npz")
WRITABLE_GRAPHS = (*WRITABLE_TABLES, ".graphml")

Format = Literal["csv", "tsv", "parquet", "json", "graphml", "npz"]
Table = Mapping[str, Sequence[Any]]

_ROWS_PER_REPORT = 1 << 15


def write_table(
    path: str | os.PathLike[str],
    table: Table,
    *,
    progress: Callable[[float], None] | None = None,
) -> None:
    """Write columns to a ``.csv``, ``.tsv``, ``.parquet``, ``.json`` or ``.npz`` file.

    The file appears when it is complete. CSV and TSV are UTF-8 with a line of names first, and
    numbers that read back as they were; JSON is an object with a list for each column, NPZ has an
    array for each.

    Args:
        path: the file; one that is there is replaced.
        table: columns of equal length, such as those of `NamedGraph.edge_table`.
        progress: called now and then with the share of the rows that has been written.
    """
    path = Path(path)
    write = {
        ".csv": _write_delimited,
        ".tsv": _write_delimited,
        ".parquet": _write_parquet,
        ".json": _write_json,
        ".npz": _write_npz,
    }.get(path.suffix.lower())
    if write is None:
        raise GraphError(
            f"{path}: a table cannot be written to a file with the extension {path.suffix!r}; "
            f"those that can are {', '.join(WRITABLE_TABLES)}"
        )
    with staged(path) as partial:
        write(partial, table, progress)


def write_graph(
    path: str | os.PathLike[str],
    graph: NamedGraph,
    *,
    marginals: Tensor | None = None,
    heads: Tensor | None = None,
    progress: Callable[[float], None] | None = None,
) -> None:
    """Write a graph, and what is known of its edges, so that `read_graph` can read it.

    Args:
        path: a ``.csv``, ``.tsv``, ``.parquet`` or ``.graphml`` file with a row or an edge for each
            edge; ``.json`` has the same columns, and ``.npz`` ``log_weights``, ``names`` and
            ``undirected`` instead.
        graph: the graph. CSV, TSV and GraphML keep names as text; a table, read back, needs to be
            told that the graph is undirected.
        marginals: ``(n, n)`` for a column, attribute or matrix ``probability``.
        heads: ``(n,)`` a tree, for a column or attribute ``in_tree``, or an array ``heads``.
        progress: called now and then with the share that has been written.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    extra = {} if marginals is None else {"probability": marginals.detach()}
    if suffix == ".npz":
        arrays = graph_arrays(graph) | {name: value.numpy() for name, value in extra.items()}
        if heads is not None:
            arrays["heads"] = heads.numpy()
        with staged(path) as partial:
            save_npz(partial, arrays)
        return
    if heads is not None:
        extra["in_tree"] = graph.in_tree(heads)
    table = graph.edge_table(**extra)
    if suffix == ".graphml":
        with staged(path) as partial:
            write_graphml(partial, graph, table, progress)
    else:
        write_table(path, table, progress=progress)


def graph_arrays(graph: NamedGraph) -> dict[str, np.ndarray]:
    """What an NPZ file has of a graph."""
    matrix = graph.log_weights.detach().numpy()
    if graph.undirected:
        matrix = matrix.copy()
        matrix[:, 0] = matrix[0]  # the edges at the root in both directions, as the others
    return {
        "log_weights": matrix,
        "names": as_array(graph.names),
        "undirected": np.array(graph.undirected),
    }


def as_array(values: Sequence[Any]) -> np.ndarray:
    """An array without objects: numbers if all are numbers, otherwise text."""
    values = list(values)
    if all(isinstance(value, int | float | bool) for value in values):
        array = np.array(values)
        if array.dtype != object:
            return array
    return np.array([str(value) for value in values])


def json_columns(table: Table) -> dict[str, list[Any]]:
    """The columns without infinities, which are the weights too large for a double.

    JSON has no word for them; the log-weights are there.
    """
    return {k: [None if v == math.inf else v for v in column] for k, column in table.items()}


def save_npz(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Save arrays under their names."""
    with path.open("wb") as file:
        np.savez_compressed(file, **arrays)  # pyright: ignore[reportArgumentType]


def _write_delimited(path: Path, table: Table, progress: Callable[[float], None] | None) -> None:
    delimiter = "\t" if path.suffix.lower() == ".tsv" else ","
    total = max(1, len(next(iter(table.values()))))
    rows, done = zip(*table.values(), strict=True), 0
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
        writer.writerow(table)
        while chunk := list(islice(rows, _ROWS_PER_REPORT)):
            writer.writerows(chunk)
            done += len(chunk)
            if progress is not None:
                progress(done / total)


def _write_parquet(path: Path, table: Table, progress: Any) -> None:
    arrow = load("pyarrow", extra="graphs", purpose="to write Parquet")
    parquet = load("pyarrow.parquet", extra="graphs", purpose="to write Parquet")
    columns = {}
    for name, column in table.items():
        values = list(column)
        try:
            columns[name] = arrow.array(values)
        except (arrow.ArrowInvalid, arrow.ArrowTypeError):  # names of several types
            columns[name] = arrow.array([str(value) for value in values])
    parquet.write_table(arrow.table(columns), path)


def _write_json(path: Path, table: Table, progress: Any) -> None:
    with path.open("w", encoding="utf-8") as file:
        json.dump(json_columns(table), file, ensure_ascii=False, default=str)
        file.write("\n")


def _write_npz(path: Path, table: Table, progress: Any) -> None:
    save_npz(path, {name: as_array(column) for name, column in table.items()})
