"""Matrices in NPZ files."""

import zipfile
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import numpy as np

from spantree.extras import load
from spantree.graphs.assembly import Merge
from spantree.graphs.columnar import one_line
from spantree.graphs.named import NamedGraph
from spantree.graphs.problems import GraphError, listed
from spantree.graphs.roots import find_root
from spantree.graphs.sparse import from_scipy

__all__ = ["read_npz"]


def read_npz(path: Path, root: Any, *, undirected: bool, merge: Merge | None) -> NamedGraph:
    """The graph of a sparse matrix that scipy saved, or of ``weights`` or ``log_weights``.

    The root is the first row if None.
    """
    del merge  # a matrix has one entry for every edge
    try:
        with np.load(path, allow_pickle=False) as archive:
            if not isinstance(archive, np.lib.npyio.NpzFile):
                raise GraphError("the file is not readable as NPZ: it holds a single array")
            matrix, log = _matrix(path, archive)
            names = archive["names"] if "names" in archive.files else None
            both_ways = undirected or bool(archive.get("undirected", False))
    except (OSError, EOFError, KeyError, ValueError, zipfile.BadZipFile) as error:
        if isinstance(error, GraphError):
            raise
        raise GraphError(f"the file is not readable as NPZ: {one_line(error)}") from None
    found: list[Hashable] = list(range(matrix.shape[0])) if names is None else names.tolist()
    top = 0 if root is None else find_root(found, root)
    return from_scipy(matrix, top, found, log, both_ways)


def _matrix(path: Path, archive: Any) -> tuple[Any, bool]:
    """The matrix, and whether it holds logarithms."""
    for name in ("log_weights", "weights"):
        if name in archive.files:
            matrix = archive[name]
            if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
                raise GraphError(f"{name} must be a square matrix, got shape {matrix.shape}")
            return matrix, name == "log_weights"
    if "format" in archive.files:
        sparse = load("scipy.sparse", extra="graphs", purpose="to read sparse matrices")
        return sparse.load_npz(path), False
    raise GraphError(
        "the file must hold 'weights', 'log_weights' or a sparse matrix of scipy, "
        f"found {listed(archive.files)}"
    )
