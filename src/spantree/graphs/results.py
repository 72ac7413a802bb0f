"""Findings to files: a table for each question in a folder, or one file."""

import json
from collections.abc import Callable
from itertools import compress
from pathlib import Path
from typing import Any, get_args

import numpy as np
from torch import Tensor

from spantree.graphs.findings import Findings
from spantree.graphs.graphml import write_graphml
from spantree.graphs.problems import GraphError
from spantree.graphs.staging import staged, staged_folder
from spantree.graphs.writing import (
    WRITABLE_GRAPHS,
    Format,
    graph_arrays,
    json_columns,
    save_npz,
    write_table,
)

__all__ = ["check_destination", "write_findings"]

Columns = dict[str, list[Any]]
Report = Callable[[float], None]


def check_destination(out: Path, format: Format | None, *, trees: bool) -> None:
    """Raises for what cannot be written there, before anything is computed.

    Args:
        out: a file with the extension of a format, or a folder.
        format: of the files in a folder.
        trees: whether there are trees beside the best one.
    """
    if format is not None and format not in get_args(Format):
        raise GraphError(f"format must be one of {', '.join(get_args(Format))}, got {format!r}")
    if not out.resolve().parent.is_dir():
        raise FileNotFoundError(f"there is no folder {out.parent} to write {out.name} in")
    if not _is_file(out):
        if out.exists() and not out.is_dir():
            raise FileExistsError(f"{out} is a file, not a folder to write to")
        return
    kind = out.suffix.lower().removeprefix(".")
    if format not in (None, kind):
        raise GraphError(f"{out} is not a {format} file: leave out one of file and format")
    if trees and kind not in ("json", "npz"):
        raise GraphError(
            f"{out} can hold the table of edges only; k best trees and samples need a folder, "
            "a .json or an .npz file"
        )


def write_findings(
    out: Path, findings: Findings, format: Format | None = None, report: Report | None = None
) -> list[Path]:
    """Write to a file or a folder, and return the files.

    A folder gets ``marginals``, ``best_tree`` and, if there are any, ``topk`` and ``samples``, with
    the extension of the format (csv if None), and ``summary.json``; with npz all tables are in
    ``findings.npz``, and with graphml every tree has a file. A file of tables or GraphML gets the
    edges, with their probabilities and whether they are in the best tree; JSON and NPZ everything,
    NPZ as matrices ``[head, dependent]`` in the order of ``names``.

    Nothing appears before it is complete. Files that are there are replaced.

    Args:
        out: a file with the extension of a format, or a folder.
        findings: what to write.
        format: of the files in a folder.
        report: called now and then with the share that has been written, in rows of tables.
    """
    graph = findings.graph
    check_destination(out, format, trees=bool(len(findings.top) or len(findings.samples)))
    if not _is_file(out):
        with staged_folder(out) as partial:
            _write_folder(partial, findings, format or "csv", report)
            names = sorted(file.name for file in partial.iterdir())
        return [out / name for name in names]
    if out.suffix.lower() == ".npz":
        with staged(out) as partial:
            save_npz(partial, _arrays(findings))
    elif out.suffix.lower() == ".json":
        with staged(out) as partial:
            _write_json(
                partial, findings.summary() | {"marginals": json_columns(_marginals(findings))}
            )
    elif out.suffix.lower() == ".graphml":
        with staged(out) as partial:
            write_graphml(partial, graph, _marginals(findings), report)
    else:
        write_table(out, _marginals(findings), progress=report)
    return [out]


def _is_file(out: Path) -> bool:
    return not out.is_dir() and out.suffix.lower() in WRITABLE_GRAPHS


def _write_folder(folder: Path, findings: Findings, format: Format, report: Report | None) -> None:
    _write_json(folder / "summary.json", findings.summary())
    if format == "npz":
        save_npz(folder / "findings.npz", _arrays(findings))
        return
    if format == "graphml":
        _write_networks(folder, findings)
        return
    tables = {
        "marginals": _marginals(findings),
        "best_tree": _edges_of(findings, findings.best),
        "topk": _top(findings),
        "samples": _samples(findings),
    }
    rows, done = sum(len(table["source"]) for table in tables.values()), 0
    for name, table in tables.items():
        if table["source"]:
            write_table(
                folder / f"{name}.{format}", table, progress=_share(report, done, table, rows)
            )
            done += len(table["source"])


def _share(report: Report | None, done: int, table: Columns, rows: int) -> Report | None:
    """Reports on a table as a part of all tables."""
    if report is None:
        return None
    return lambda share: report((done + share * len(table["source"])) / rows)


def _write_networks(folder: Path, findings: Findings) -> None:
    graph, edges = findings.graph, _marginals(findings)
    write_graphml(folder / "marginals.graphml", graph, edges)
    trees = {"best_tree": findings.best}
    for kind, several in (("topk", findings.top), ("samples", findings.samples)):
        width = len(str(len(several)))
        trees |= {f"{kind}-{i:0{width}}": heads for i, heads in enumerate(several, start=1)}
    for name, heads in trees.items():
        inside = graph.in_tree(heads).tolist()
        tree = {column: list(compress(values, inside)) for column, values in edges.items()}
        write_graphml(folder / f"{name}.graphml", graph, tree)


def _marginals(findings: Findings) -> Columns:
    graph = findings.graph
    return graph.edge_table(
        probability=findings.marginals, in_best_tree=graph.in_tree(findings.best)
    )


def _edges_of(findings: Findings, heads: Tensor) -> Columns:
    pairs = findings.tree_edges(heads)
    probability = findings.marginals
    if findings.graph.undirected:
        probability = probability + probability.mT
    nodes = (heads >= 0).nonzero().flatten()
    return {
        "source": [source for source, _ in pairs],
        "target": [target for _, target in pairs],
        "probability": probability[heads[nodes], nodes].tolist(),
    }


def _top(findings: Findings) -> Columns:
    columns: Columns = {"rank": [], "log_probability": []}
    columns |= _several(findings, findings.top, columns["rank"])
    log_probabilities = findings.top_log_probabilities.tolist()
    columns["log_probability"] = [log_probabilities[rank - 1] for rank in columns["rank"]]
    return columns


def _samples(findings: Findings) -> Columns:
    numbers: list[int] = []
    return {"sample": numbers} | _several(findings, findings.samples, numbers)


def _several(findings: Findings, trees: Tensor, numbers: list[int]) -> Columns:
    """The edges of trees below each other, their numbers in ``numbers``."""
    columns: Columns = {"source": [], "target": []}
    for number, heads in enumerate(trees, start=1):
        pairs = findings.tree_edges(heads)
        numbers.extend([number] * len(pairs))
        columns["source"].extend(source for source, _ in pairs)
        columns["target"].extend(target for _, target in pairs)
    return columns


def _arrays(findings: Findings) -> dict[str, np.ndarray]:
    return graph_arrays(findings.graph) | {
        "log_partition": np.array(findings.log_partition),
        "entropy": np.array(findings.entropy),
        "log_tree_count": np.array(findings.log_tree_count),
        "marginals": findings.marginals.numpy(),
        "best_tree": findings.best.numpy(),
        "topk": findings.top.numpy(),
        "topk_log_probabilities": findings.top_log_probabilities.numpy(),
        "samples": findings.samples.numpy(),
    }


def _write_json(path: Path, content: dict[str, Any]) -> None:
    with path.open("w", encoding="utf-8") as file:
        json.dump(content, file, ensure_ascii=False, indent=1, default=str)
        file.write("\n")
