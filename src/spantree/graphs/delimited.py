"""Tables in CSV and TSV files, with the numbers of their lines."""

import csv
from array import array
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from spantree.graphs.columnar import Columns, Progress
from spantree.graphs.problems import GraphError
from spantree.graphs.tables import require_columns

__all__ = ["read_delimited"]

_LINES_PER_REPORT = 1 << 14


def read_delimited(path: Path, wanted: list[str], progress: Progress | None) -> Columns:
    """These columns of a file: commas for ``.csv``, tabs for ``.tsv``; the first line names them.

    Lines without anything are skipped. GraphError, with the line, for bytes that are not UTF-8, a
    line with another number of fields than the first, and an empty name of a node.
    """
    delimiter = "\t" if path.suffix.lower() == ".tsv" else ","
    with path.open("rb") as file:
        total = path.stat().st_size
        lines = _decoded(file, total, progress)
        reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=True, strict=True)
        try:
            return _columns(reader, wanted)
        except csv.Error as error:
            raise GraphError(f"line {reader.line_num}: {error}") from None


def _columns(reader: Any, wanted: list[str]) -> Columns:
    header = next((row for row in reader if row), None)
    if header is None:
        raise GraphError("the file is empty")
    header = [name.strip() for name in header]
    require_columns(wanted, header)
    places = [header.index(name) for name in wanted]
    columns: list[list[Any]] = [[] for _ in wanted]
    add = [column.append for column in columns]
    numbers = array("q")
    width = len(header)
    for row in reader:
        if len(row) != width:
            if not row:
                continue
            raise GraphError(
                f"line {reader.line_num}: {len(row)} fields, where the first line has {width}"
            )
        for put, place in zip(add, places, strict=True):
            put(row[place])
        numbers.append(reader.line_num)
    for name, column in zip(wanted[:2], columns, strict=False):
        if "" in column:
            line = numbers[column.index("")]
            raise GraphError(f"line {line}: the {name} is missing")
    where: Callable[[int], str] = lambda i: f"line {numbers[i]}"  # noqa: E731
    return columns, where


def _decoded(file: Any, total: int, progress: Progress | None) -> Iterator[str]:
    done = 0
    for number, line in enumerate(file, start=1):
        try:
            # utf-8-sig would look for a byte order mark in every line.
            text = line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise GraphError(
                f"line {number}: the file must be UTF-8, found byte 0x{line[error.start]:02x}"
            ) from None
        yield text
        done += len(line)
        if progress is not None and number % _LINES_PER_REPORT == 0:
            progress(done / total)
