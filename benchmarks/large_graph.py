"""A large table from end to end: seconds and memory of `spantree infer`.

    python benchmarks/large_graph.py [--edges E] [--nodes N] [--output FILE.json]

Needs the extras ``cli`` and ``graphs``. Makes a table of a million edges over 2,000 nodes in a
temporary folder, runs the command on it in a process of its own for several kinds of output, and
prints the seconds, start-up included, and the largest resident memory of each. The goal is two
minutes and 4 GB.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.csv
import pyarrow.parquet

SECONDS, GIGABYTES = 120.0, 4.0
TREES = ("--topk", "5", "--samples", "100")
RUNS = {
    "report": (),
    "parquet folder": ("--out", "parquet", "--format", "parquet", *TREES),
    "csv folder": ("--out", "csv", "--format", "csv", *TREES),
    "npz file": ("--out", "all.npz", *TREES),
    "json file": ("--out", "all.json", *TREES),
    "graphml file": ("--out", "edges.graphml"),
}


def make_table(path: Path, nodes: int, edges: int, seed: int = 0) -> None:
    """Write a random table of edges, none of them into the root, with a tree among them."""
    generator = np.random.default_rng(seed)
    heads = np.array([generator.integers(0, j) for j in range(1, nodes)])
    tree = heads * nodes + np.arange(1, nodes)
    keys = generator.permutation(nodes * nodes)
    keys = keys[(keys // nodes != keys % nodes) & (keys % nodes != 0)]
    keys = np.concatenate([tree, keys[~np.isin(keys, tree)]])[:edges]
    if len(keys) < edges:
        raise ValueError(f"{nodes} nodes have room for {len(keys)} edges, not {edges}")
    keys = generator.permutation(keys)
    names = np.array([f"node-{i:05d}" for i in range(nodes)])
    columns = {
        "source": names[keys // nodes],
        "target": names[keys % nodes],
        "weight": generator.lognormal(0.0, 3.0, edges),
    }
    table = pyarrow.table(columns)
    if path.suffix == ".csv":
        pyarrow.csv.write_csv(table, path)
    else:
        pyarrow.parquet.write_table(table, path)


def measure(folder: Path, table: str, options: tuple[str, ...]) -> tuple[float, float]:
    """Seconds and gigabytes of one run of the command."""
    command = [sys.executable, "-m", "spantree", "infer", table, "--quiet", *options]
    start = time.perf_counter()
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - start
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    unit = 1 if sys.platform == "darwin" else 1024
    return seconds, usage.ru_maxrss * unit / 1e9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--edges", type=int, default=1_000_000)
    parser.add_argument("--nodes", type=int, default=2_000)
    parser.add_argument("--output", type=Path, help="a JSON file for the figures")
    arguments = parser.parse_args()
    figures = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for extension in ("parquet", "csv"):
            make_table(folder / f"edges.{extension}", arguments.nodes, arguments.edges)
        runs = [("edges.parquet", *run) for run in RUNS.items()]
        for table, kind, options in [*runs, ("edges.csv", "report", ())]:
            seconds, gigabytes = measure(folder, table, options)
            fine = seconds <= SECONDS and gigabytes <= GIGABYTES
            figures.append({"input": table, "output": kind, "s": seconds, "GB": gigabytes})
            verdict = "ok" if fine else "MISSED"
            print(f"{table:14} {kind:15} {seconds:7.1f} s {gigabytes:6.2f} GB  {verdict}")
    if arguments.output:
        content = {"nodes": arguments.nodes, "edges": arguments.edges, "runs": figures}
        arguments.output.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    if any(run["s"] > SECONDS or run["GB"] > GIGABYTES for run in figures):
        sys.exit(1)


if __name__ == "__main__":
    main()
