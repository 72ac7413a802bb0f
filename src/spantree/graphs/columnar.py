"""Tables in Parquet files."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from spantree.extras import load
from spantree.graphs.problems import GraphError
from spantree.graphs.tables import require_columns

__all__ = ["Columns", "Progress", "read_parquet"]

# The values of some columns, and what tells the place of the i-th row.
Columns = tuple[list[list[Any]], Callable[[int], str]]
Progress = Callable[[float], None]


def read_parquet(path: Path, wanted: list[str], progress: Progress | None) -> Columns:
    """These columns; only they are read."""
    parquet = load("pyarrow.parquet", extra="graphs", purpose="to read Parquet")
    arrow = load("pyarrow", extra="graphs", purpose="to read Parquet")
    columns: list[list[Any]] = [[] for _ in wanted]
    try:
        with parquet.ParquetFile(path) as file:
            require_columns(wanted, file.schema_arrow.names)
            for batch in file.iter_batches(columns=list(dict.fromkeys(wanted))):
                for name, column in zip(wanted, columns, strict=True):
                    column.extend(batch.column(name).to_pylist())
                if progress is not None:
                    progress(len(columns[0]) / file.metadata.num_rows)
    except (arrow.ArrowException, OSError) as error:
        raise GraphError(f"the file is not readable as Parquet: {one_line(error)}") from None
    return columns, lambda i: f"row {i + 1}"


def one_line(error: Exception) -> str:
    """The message of an error of somebody else's."""
    return " ".join(str(error).split()) or type(error).__name__
