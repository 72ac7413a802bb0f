"""How fast the decoder is, beside what a user would pick instead.

    python benchmarks/decoding.py [--quick] [--output FILE.json]

Needs the extra ``bench``. Prints medians of interleaved runs on one thread, in microseconds a
sentence, and a verdict on every goal. `ufal.chu_liu_edmonds` and networkx find the best tree with
any number of root edges, which is less than the best tree with one.
"""

import argparse
import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import networkx
import torch
import ufal.chu_liu_edmonds

import spantree as st
from spantree.kernels import _native

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.timing import interleaved_medians

LENGTHS = (10, 20, 40, 80, 160)
BATCH = 64
NETWORKX_LIMIT = 20  # longer sentences take it tenths of a second
K, LENGTH_OF_K = 50, 40


def noise(length: int) -> torch.Tensor:
    """Scores without a structure: many cycles, and often several roots."""
    return torch.randn(BATCH, length + 1, length + 1, dtype=torch.float64)


def parser_like(length: int) -> torch.Tensor:
    """Scores that prefer a random tree with one root, as those of a parser do."""
    scores = 3 * noise(length)
    for graph in scores:
        order = torch.randperm(length) + 1
        heads = [0, *(order[int(torch.randint(i, ()))] for i in range(1, length))]
        graph[torch.tensor(heads), order] += 5
    return scores


def by_networkx(network: networkx.DiGraph) -> object:
    """The best tree with any number of root edges."""
    return networkx.maximum_spanning_arborescence(network)


def as_network(graph: torch.Tensor) -> networkx.DiGraph:
    """One graph of a batch."""
    network = networkx.DiGraph()
    for i in range(len(graph)):
        network.add_weighted_edges_from(
            (i, j, graph[i, j].item()) for j in range(1, len(graph)) if i != j
        )
    return network


def with_instruction_set(name: str, run: Callable[[], object]) -> object:
    """Run on other than the best instructions of this machine."""
    _native.use_instruction_set(name)
    try:
        return run()
    finally:
        _native.use_instruction_set(_native.instruction_sets()[0])


def measure(kind: str, length: int, seconds: float) -> dict[str, Any]:
    """Median seconds a sentence, one row of the table."""
    scores = {"noise": noise, "parser-like": parser_like}[kind](length)
    matrices = [graph.T.copy() for graph in scores.numpy()]
    single = partial(st.best_tree, scores)
    contenders: dict[str, Callable[[], object]] = {
        "single root": single,
        "multi root": partial(st.best_tree, scores, root="multi"),
        "plainest code": partial(with_instruction_set, _native.instruction_sets()[-1], single),
        "ufal": lambda: [ufal.chu_liu_edmonds.chu_liu_edmonds(matrix) for matrix in matrices],
    }
    if length <= NETWORKX_LIMIT:
        contenders["networkx"] = partial(by_networkx, as_network(scores[0]))
    medians = interleaved_medians(contenders, seconds=seconds)
    found = {name: t / (1 if name == "networkx" else BATCH) for name, t in medians.items()}
    several = (st.best_tree(scores, root="multi") == 0).sum(-1) > 1
    return {
        "weights": kind,
        "N": length,
        "seconds": found,
        "share with several roots": several.double().mean().item(),
    }


def measure_ranking(kind: str, seconds: float) -> dict[str, Any]:
    """Median seconds a sentence of the k best trees."""
    scores = {"noise": noise, "parser-like": parser_like}[kind](LENGTH_OF_K)[:8]
    contenders = {
        root: partial(st.best_trees, scores, K, root=root) for root in ("single", "multi")
    }
    medians = interleaved_medians(contenders, seconds=seconds)
    return {
        "weights": kind,
        "N": LENGTH_OF_K,
        "k": K,
        "seconds": {r: t / 8 for r, t in medians.items()},
    }


def main() -> None:
    """Measures, prints, writes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="some seconds instead of a minute")
    parser.add_argument("--output", type=Path, default=Path("out/benchmarks/decoding.json"))
    options = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    seconds = 0.2 if options.quick else 2.0
    kinds = ("parser-like", "noise")
    rows = [measure(kind, n, seconds) for kind in kinds for n in LENGTHS]
    rankings = [measure_ranking(kind, seconds) for kind in kinds]

    names = ["single root", "multi root", "plainest code", "ufal", "networkx"]
    print(
        f"µs a sentence, B={BATCH}  " + "  ".join(f"{name:>13}" for name in [*names, "ufal/single"])
    )
    goals = []
    for row in rows:
        times = row["seconds"]
        cells = [f"{1e6 * times[name]:13.2f}" if name in times else " " * 13 for name in names]
        ratio = times["ufal"] / times["single root"]
        print(f"{row['weights']:>14}  N={row['N']:<5} " + "  ".join([*cells, f"{ratio:13.1f}"]))
        text = f"{row['weights']}, N={row['N']}: {ratio:.1f} times as fast as ufal, goal 5"
        goals.append((ratio >= 5, text))
    for row in rankings:
        for root, time in row["seconds"].items():
            text = f"{row['weights']}, {root} root: {K} best trees at N={LENGTH_OF_K} in "
            goals.append((time < 2e-3, text + f"{1e3 * time:.2f} ms, goal 2"))
    print()
    for met, text in goals:
        print("met   " if met else "MISSED", text)
    report = {
        "torch": torch.__version__,
        "instruction set": _native.instruction_sets()[0],
        "best trees": rows,
        "k best trees": rankings,
        "goals": goals,
    }
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
