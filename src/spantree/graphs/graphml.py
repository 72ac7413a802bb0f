"""Graphs in GraphML files."""

from pathlib import Path
from typing import Any

from spantree.extras import load
from spantree.graphs.assembly import Merge
from spantree.graphs.columnar import one_line
from spantree.graphs.named import NamedGraph
from spantree.graphs.networks import from_networkx
from spantree.graphs.problems import GraphError

__all__ = ["read_graphml"]


def read_graphml(
    path: Path,
    root: Any,
    weight: str | None,
    log_weight: str | None,
    undirected: bool | None,
    merge: Merge | None,
) -> NamedGraph:
    """The first graph of a file, as networkx reads it; see `from_networkx`."""
    nx = load("networkx", extra="graphs", purpose="to read GraphML")
    try:
        network = nx.read_graphml(path)
    except Exception as error:  # networkx lets pass whatever its parts raise
        raise GraphError(f"the file is not readable as GraphML: {one_line(error)}") from None
    return from_networkx(network, root, weight, log_weight, undirected=undirected, merge=merge)
