"""How large a graph can be: it is dense inside."""

import os

from spantree.graphs.problems import GraphError

__all__ = ["check_size"]

# Log-weights, marginals, a temporary copy or two, and what the kernel needs beside: as measured.
_MATRICES = 12


def check_size(n: int) -> None:
    """Raises GraphError, instead of running out of memory, for a graph of too many nodes."""
    needed, present = _MATRICES * 8 * n * n, _memory()
    if present is not None and needed > present:
        raise GraphError(
            f"a graph of {n:,} nodes is too large: it takes {needed / 2**30:,.1f} GiB as dense "
            f"matrices, and this machine has {present / 2**30:,.1f} GiB of memory"
        )


def _memory() -> int | None:
    """The bytes of this machine's memory, if the system tells."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None
