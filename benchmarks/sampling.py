"""How fast trees are drawn: against a plain Wilson in Python, and each of the library's ways.

    python benchmarks/sampling.py [--quick] [--output FILE.json]

Prints microseconds a tree, all that is shared by the samples of a sentence included, from medians
of interleaved runs, and a verdict on every goal.
"""

import argparse
import bisect
import itertools
import json
import math
import random
import sys
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

import spantree as st
from spantree.inference.ensemble import Ensemble
from spantree.inference.without_replacement import sample_without_replacement
from spantree.kernels import _native, sampling

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.timing import interleaved_medians

LENGTHS = (10, 20, 40, 80, 160)
BATCH, SAMPLES = 64, 100
GOAL = 5.0  # microseconds a tree at N = 40 on the weights of a parser
PYTHON_LIMIT = 1e4  # steps a tree beyond which a plain walk is not waited for


def noise(length: int) -> Tensor:
    return 3 * torch.randn(BATCH, length + 1, length + 1, dtype=torch.float64)


def parser_like(length: int) -> Tensor:
    """Noise and a tree that stands out by 5."""
    log_weights = noise(length)
    for item in log_weights:
        order = (torch.randperm(length) + 1).tolist()
        for rank, node in enumerate(order):
            item[random.choice(order[:rank]) if rank else 0, node] += 5.0
    return log_weights


def tight_cycles(length: int) -> Tensor:
    """Pairs of nodes bound to each other by e⁴⁰."""
    log_weights = torch.randn(BATCH, length + 1, length + 1, dtype=torch.float64)
    for a in range(1, length, 2):
        log_weights[:, a, a + 1] += 40.0
        log_weights[:, a + 1, a] += 40.0
    return log_weights


def far_apart(length: int) -> Tensor:
    """Half of the edges 10⁴ below the others."""
    low = torch.rand(BATCH, length + 1, length + 1) < 0.5
    return torch.randn(BATCH, length + 1, length + 1, dtype=torch.float64) - 1e4 * low


KINDS = {
    "noise": noise,
    "parser": parser_like,
    "weak root": lambda n: noise(n) - 200.0 * (torch.arange(n + 1) == 0)[:, None],
    "tight cycles": tight_cycles,
    "far apart": far_apart,
}


def plain_wilson(log_weights: Tensor, at_root: Tensor, samples: int) -> list[list[int]]:
    """Wilson's algorithm as one writes it in Python, for a single root whose law is known."""
    n = len(log_weights)
    weights = log_weights.exp().fill_diagonal_(0.0)[1:].T.tolist()
    columns = [list(itertools.accumulate(column)) for column in weights]
    roots = list(itertools.accumulate(at_root.tolist()))
    trees = []
    for _ in range(samples):
        child = bisect.bisect(roots, random.random() * roots[-1])
        heads = [-1] * n
        done = {child}
        heads[child] = 0
        for start in range(1, n):
            node = start
            while node not in done:
                column = columns[node]
                heads[node] = 1 + bisect.bisect(column, random.random() * column[-1])
                node = heads[node]
            node = start
            while node not in done:
                done.add(node)
                node = heads[node]
        trees.append(heads)
    return trees


def one_way(log_weights: Tensor, method: sampling.Method) -> Tensor:
    plan = sampling.plan(log_weights, None, single_root=True)
    return sampling.draw(log_weights, None, plan, 1, SAMPLES, single_root=True, method=method)


def measure(kind: str, length: int, seconds: float) -> dict[str, Any]:
    """One row: median microseconds a tree of everything, single root."""
    log_weights = KINDS[kind](length)
    plan = sampling.plan(log_weights, None, single_root=True)
    steps = float((plan.at_root * plan.steps).sum(-1).mean())
    contenders = {
        "library": partial(st.sample_trees, log_weights, (SAMPLES,)),
        "2 threads": partial(st.sample_trees, log_weights, (SAMPLES,)),
        "regrow": partial(one_way, log_weights, "regrow"),
        "one sample": partial(st.sample_trees, log_weights),
    }
    trees = dict.fromkeys(contenders, BATCH * SAMPLES) | {"one sample": BATCH}
    if steps < PYTHON_LIMIT:
        contenders["walk"] = partial(one_way, log_weights, "walk")
        contenders["Python"] = partial(plain_wilson, log_weights[0], plan.at_root[0], 10)
        trees |= {"walk": BATCH * SAMPLES, "Python": 10}
    medians = interleaved_medians(contenders, threads={"2 threads": 2}, seconds=seconds)
    micro = {name: 1e6 * medians[name] / trees[name] for name in contenders}
    return {"kind": kind, "N": length, "steps": steps, "microseconds": micro}


def measure_distinct(length: int, k: int) -> dict[str, float]:
    """Milliseconds a sentence for k different trees."""
    ensembles = {kind: Ensemble.of(KINDS[kind](length), None, "single", None) for kind in KINDS}
    contenders = {
        kind: partial(sample_without_replacement, ensemble, k, None)
        for kind, ensemble in ensembles.items()
    }
    medians = interleaved_medians(contenders, seconds=0.0)
    return {kind: 1e3 * seconds / BATCH for kind, seconds in medians.items()}


def verdicts(rows: list[dict[str, Any]]) -> list[tuple[bool, str]]:
    """Every goal, whether it is met, and what was measured."""
    found = []
    for row in rows:
        micro = row["microseconds"]
        place = f"{row['kind']}, N={row['N']}"
        if row["N"] == 40 and row["kind"] in ("noise", "parser"):
            text = f"{place}: {micro['library']:.2f} µs a tree, goal {GOAL}"
            found.append((micro["library"] < GOAL, text))
        if row["N"] == 40 and row["kind"] == "tight cycles":
            milli = micro["library"] * SAMPLES / 1e3
            found.append((milli < 5, f"{place}: {milli:.1f} ms for {SAMPLES} trees, goal 5"))
        best = min(micro["regrow"], micro.get("walk", math.inf))
        found.append(
            (
                micro["library"] < 1.25 * best + 0.2,
                f"{place}: {micro['library'] / best:.2f} of the better way",
            )
        )
    return found


def main() -> None:
    """Measures, prints, writes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="half a minute instead of some")
    parser.add_argument("--output", type=Path, default=Path("out/benchmarks/sampling.json"))
    options = parser.parse_args()
    torch.manual_seed(0)
    random.seed(0)
    torch.set_num_threads(1)
    seconds = 0.2 if options.quick else 2.0
    rows = [measure(kind, length, seconds) for kind in KINDS for length in LENGTHS]
    names = ["library", "2 threads", "walk", "regrow", "one sample", "Python"]
    print("kind            N      steps  " + "  ".join(f"{name:>10}" for name in names))
    for row in rows:
        cells = "  ".join(f"{row['microseconds'].get(name, math.nan):10.2f}" for name in names)
        print(f"{row['kind']:12} {row['N']:4d}  {row['steps']:9.3g}  {cells}")
    distinct = measure_distinct(40, 50)
    print("\nmilliseconds a sentence for 50 different trees, N=40:")
    print("  ".join(f"{kind} {milli:.1f}" for kind, milli in distinct.items()), "\n")
    goals = verdicts(rows)
    for met, text in goals:
        print("met   " if met else "MISSED", text)
    report = {
        "torch": torch.__version__,
        "instruction set": _native.instruction_sets()[0],
        "rows": rows,
        "milliseconds for 50 different trees, N=40": distinct,
        "goals": goals,
    }
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
