"""Matrices in NPZ files."""

import zipfile
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import numpy as np

from spantree.extras import load
from spantree.graphs.columnar import one_line
from spantree.graphs.named import NamedGraph
from spantree.graphs.problems import GraphError, listed
from spantree.graphs.roots import find_root
from spantree.graphs.sparse import from_scipy

__all__ = ["read_npz"]


def read_npz(path: Path, root: Any, *, undirected: bool) -> NamedGraph:
    """The graph of a sparse matrix that scipy saved, or of ``weights`` or ``log_weights``.

    The root is the first row if None.
    """
    try:
        archive = np.load(path, allow_pickle=False)
        if not isinstance(archive, np.lib.npyio.NpzFile):
            raise GraphError("the file is not readable as NPZ: it holds a single array")
        with archive:
            matrix, log = _matrix(path, archive)
            names = _names(archive, matrix.shape[0])
            both_ways = undirected or bool(archive.get("undirected", False))
    except GraphError:
        raise
    except (OSError, EOFError, KeyError, ValueError, zipfile.BadZipFile) as error:
        raise GraphError(f"the file is not readable as NPZ: {one_line(error)}") from None
    top = 0 if root is None else find_root(names, root)
    return from_scipy(matrix, top, names, log, both_ways)


def _matrix(path: Path, archive: Any) -> tuple[Any, bool]:
    """The matrix, and whether it holds logarithms."""
    for name in ("log_weights", "weights"):
        if name in archive.files:
            matrix = archive[name]
            if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
                raise GraphError(f"{name} must be a square matrix, got shape {matrix.shape}")
            if matrix.dtype.kind not in "biuf":
                raise GraphError(f"{name} must hold numbers, got dtype {matrix.dtype}")
            return matrix, name == "log_weights"
    if "format" in archive.files:
        sparse = load("scipy.sparse", extra="graphs", purpose="to read sparse matrices")
        return sparse.load_npz(path), False
    raise GraphError(
        "the file must hold 'weights', 'log_weights' or a sparse matrix of scipy, "
        f"found {listed(archive.files)}"
    )


def _names(archive: Any, n: int) -> list[Hashable]:
    if "names" not in archive.files:
        return list(range(n))
    names = archive["names"]
    if names.shape != (n,):
        raise GraphError(f"names must have shape ({n},) like the matrix, got {names.shape}")
    return names.tolist()
