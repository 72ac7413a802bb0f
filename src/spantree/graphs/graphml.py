"""Graphs in GraphML files: read by networkx, written line by line."""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from spantree.extras import load
from spantree.graphs.assembly import Merge
from spantree.graphs.columnar import one_line
from spantree.graphs.named import NamedGraph
from spantree.graphs.networks import from_networkx
from spantree.graphs.problems import GraphError

__all__ = ["read_graphml", "write_graphml"]

# What XML cannot hold, not even escaped.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")
_EDGES_PER_REPORT = 1 << 15


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
    for _, _, data in network.edges(data=True):
        data.pop("id", None)  # no attribute of the file: networkx keeps the ids of edges there
    return from_networkx(network, root, weight, log_weight, undirected=undirected, merge=merge)


def write_graphml(
    path: Path,
    graph: NamedGraph,
    table: Mapping[str, Sequence[Any]],
    progress: Callable[[float], None] | None = None,
) -> None:
    """Write the nodes of a graph, and edges with their attributes, in bounded memory.

    Args:
        path: the file.
        graph: whose nodes, with their names as ids.
        table: columns ``source``, ``target`` and the attributes, numbers or truth values.
        progress: called now and then with the share of the edges that has been written.
    """
    from xml.sax.saxutils import escape, quoteattr  # costs each import of spantree milliseconds

    ids = {name: quoteattr(str(name)) for name in graph.names}
    for name, quoted in ids.items():
        if _FORBIDDEN.search(quoted):
            raise GraphError(f"the name {name!r} has a character that GraphML cannot hold")
    if len(set(ids.values())) < len(ids):
        raise GraphError("names must be different as text to be ids in GraphML")
    attributes = list(table)[2:]
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write("<?xml version='1.0' encoding='utf-8'?>\n")
        file.write('<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n')
        file.write('<key id="root" for="graph" attr.name="root" attr.type="string"/>\n')
        for name in attributes:
            kind = "boolean" if isinstance(table[name][0], bool) else "double"
            file.write(f'<key id="{name}" for="edge" attr.name="{name}" attr.type="{kind}"/>\n')
        default = "undirected" if graph.undirected else "directed"
        file.write(f'<graph edgedefault="{default}">\n')
        file.write(f'<data key="root">{escape(str(graph.root))}</data>\n')
        file.writelines(f"<node id={quoted}/>\n" for quoted in ids.values())
        total = len(table["source"])
        for number, row in enumerate(zip(*table.values(), strict=True), start=1):
            data = "".join(
                f'<data key="{name}">{str(value).lower()}</data>'
                for name, value in zip(attributes, row[2:], strict=True)
            )
            file.write(f"<edge source={ids[row[0]]} target={ids[row[1]]}>{data}</edge>\n")
            if progress is not None and number % _EDGES_PER_REPORT == 0:
                progress(number / total)
        file.write("</graph>\n</graphml>\n")
