"""Graphs from anywhere, with the names of their nodes.

From and to networkx, scipy, tables and files; optional packages are imported when they are needed.
"""

from spantree.graphs.assembly import Merge
from spantree.graphs.counting import log_tree_count, tree_count
from spantree.graphs.named import Ignored, NamedGraph
from spantree.graphs.networks import from_networkx, to_networkx
from spantree.graphs.problems import GraphError
from spantree.graphs.reading import read_graph
from spantree.graphs.sparse import from_scipy, to_scipy
from spantree.graphs.tables import from_table
from spantree.graphs.writing import write_graph, write_table

__all__ = [
    "GraphError",
    "Ignored",
    "Merge",
    "NamedGraph",
    "from_networkx",
    "from_scipy",
    "from_table",
    "log_tree_count",
    "read_graph",
    "to_networkx",
    "to_scipy",
    "tree_count",
    "write_graph",
    "write_table",
]
