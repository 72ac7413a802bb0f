"""Graphs from files: what a file is, its name tells."""

import os
from pathlib import Path
from typing import Any

from spantree.graphs.archives import read_npz
from spantree.graphs.assembly import Merge, check_merge
from spantree.graphs.columnar import Progress, read_parquet
from spantree.graphs.delimited import read_delimited
from spantree.graphs.graphml import read_graphml
from spantree.graphs.named import NamedGraph
from spantree.graphs.problems import GraphError
from spantree.graphs.tables import graph_of_columns

__all__ = ["READABLE", "read_graph"]

READABLE = (".csv", ".tsv", ".parquet", ".graphml", ".npz")


def read_graph(
    path: str | os.PathLike[str],
    *,
    source: str = "source",
    target: str = "target",
    weight: str | None = "weight",
    log_weight: str | None = None,
    root: Any = None,
    undirected: bool | None = None,
    merge: Merge | None = None,
    progress: Progress | None = None,
) -> NamedGraph:
    r"""The graph in a file: ``.csv``, ``.tsv``, ``.parquet``, ``.graphml`` or ``.npz``.

    Tables have a row for each edge and name their columns (CSV and TSV: in the first line, in
    UTF-8). GraphML is read by networkx; names are the ids of its nodes. NPZ holds a matrix, sparse
    as ``scipy.sparse.save_npz`` writes it, or dense under ``weights`` or ``log_weights``, with
    names, if there are any, under ``names``.

    Args:
        path: the file.
        source: the column with the head of each edge; of tables.
        target: that of its dependent.
        weight: the column, or the attribute in GraphML, with weights; None for weight 1.
        log_weight: that with log-weights, which then stand instead of weights.
        root: the name of the root; also as text, where names are numbers. With None the only node
            without incoming edges; for an undirected graph the first node, as any will do; for NPZ
            the first row.
        undirected: whether each edge can be taken in both directions; with None, as GraphML says,
            and not with other formats.
        merge: what to do with several edges between the same nodes: ``"sum"``, ``"max"``, or with
            None raise an error.
        progress: called now and then with the share of the file that has been read.

    Raises:
        OSError: if there is no such file.
        GraphError: if it holds no graph; the message says where and why.
        ImportError: if what reads such files is not installed (extra ``graphs``); CSV, TSV and
            dense NPZ need nothing.

    Example:
        >>> from pathlib import Path
        >>> path = Path(getfixture("tmp_path")) / "edges.csv"
        >>> _ = path.write_text("source,target,weight\ns,a,3\ns,b,1\na,b,1\nb,a,2\n")
        >>> read_graph(path)
        NamedGraph(nodes=3, edges=4, root='s')
    """
    check_merge(merge)
    path = Path(path)
    suffix = path.suffix.lower()
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a directory, not a graph")
    if suffix not in READABLE:
        raise GraphError(
            f"{path}: a graph cannot be read from a file with the extension {path.suffix!r}; "
            f"those that can are {', '.join(READABLE)}"
        )
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}")
    if not path.stat().st_size:
        raise GraphError(f"{path}: the file is empty")
    try:
        if suffix == ".graphml":
            return read_graphml(path, root, weight, log_weight, undirected, merge)
        if suffix == ".npz":
            return read_npz(path, root, undirected=bool(undirected))
        values = log_weight if log_weight is not None else weight
        wanted = [source, target] + ([] if values is None else [values])
        read = read_parquet if suffix == ".parquet" else read_delimited
        columns, where = read(path, wanted, progress)
        return graph_of_columns(
            columns,
            values,
            log=log_weight is not None,
            where=where,
            root=root,
            undirected=bool(undirected),
            merge=merge,
        )
    except GraphError as error:
        raise error.at(str(path)) from None
