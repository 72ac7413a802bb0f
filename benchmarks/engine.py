"""How fast the engine is: against its twin, the textbook route, an inverse, and the flop bound.

    python benchmarks/engine.py [--quick] [--output FILE.json]

Prints a table of ratios of medians from interleaved runs, and a verdict on every goal.
"""

import argparse
import json
import math
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch

from spantree.inference.jet import first, zeroth
from spantree.inference.question import Question
from spantree.kernels import _native

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.textbook import textbook_jet, textbook_marginals
from benchmarks.timing import fitted_exponent, interleaved_medians, matrix_product_speed

LENGTHS = (5, 10, 20, 40, 80, 160)
BATCHES = (1, 64, 1024)
LARGE = (200, 500, 1000)
MULTIPLY_ADDS = 1.3  # times N³: what the algorithm needs
TWIN_LIMIT = 64 * 160**3  # beyond this the twin and its jet would take minutes
TEXTBOOK_TROUBLE = 160  # from here on batched LU in torch 2.13 is unsafe with several threads


def scores(batch: int, length: int) -> torch.Tensor:
    """Gentle log-weights of a batch of sentences."""
    return 3 * torch.randn(batch, length + 1, length + 1, dtype=torch.float64)


def ask(log_weights: torch.Tensor, backend: str = "auto") -> Question:
    """The question behind the public functions, with their checks."""
    return Question.about(log_weights, None, "single", None, backend)  # pyright: ignore


def marginals_by(backend: str, log_weights: torch.Tensor) -> object:
    """Log Z with all marginals, checks and all."""
    return zeroth(log_weights, None, ask(log_weights, backend), with_marginals=True)


def jet_by(backend: str, log_weights: torch.Tensor, direction: torch.Tensor) -> object:
    """Log Z with all marginals, and J_1."""
    question = ask(log_weights, backend)
    return (
        zeroth(log_weights, None, question, with_marginals=True),
        first(log_weights, direction, None, question),
    )


def measure(batch: int, length: int, speed: float, seconds: float) -> dict[str, Any]:
    """One cell of the grid: median seconds a call of everything, single root."""
    log_weights, direction = scores(batch, length), scores(batch, length)
    matrices = torch.randn(batch, length, length, dtype=torch.float64)
    contenders: dict[str, Callable[[], object]] = {
        "kernel": partial(marginals_by, "native", log_weights),
        "kernel, 2 threads": partial(marginals_by, "native", log_weights),
        "textbook": partial(textbook_marginals, log_weights),
        "inverse": partial(torch.linalg.inv, matrices),
        "kernel J1": partial(jet_by, "native", log_weights, direction),
        "kernel J1, 2 threads": partial(jet_by, "native", log_weights, direction),
        "textbook J1": partial(textbook_jet, log_weights, direction),
    }
    if length < TEXTBOOK_TROUBLE:
        contenders["textbook, 2 threads"] = contenders["textbook"]
    if batch * length**3 <= TWIN_LIMIT:
        contenders["twin"] = partial(marginals_by, "torch", log_weights)
        contenders["twin J1"] = partial(jet_by, "torch", log_weights, direction)
    threads = {name: 2 for name in contenders if name.endswith("2 threads")}
    medians = interleaved_medians(contenders, threads=threads, seconds=seconds)
    bound = batch * 2 * MULTIPLY_ADDS * length**3 / speed
    return {"N": length, "B": batch, "seconds": medians, "flop bound": bound}


def ratios(cell: dict[str, Any]) -> dict[str, float]:
    """What a cell says, free of the machine's mood."""
    s = cell["seconds"]
    kernel, jet = s["kernel"], s["kernel J1"]
    return {
        "µs a sentence": 1e6 * kernel / cell["B"],
        "of bound": kernel / cell["flop bound"],
        "vs textbook": s["textbook"] / kernel,
        "vs twin": s.get("twin", math.nan) / kernel,
        "vs inverse": s["inverse"] / kernel,
        "2 threads": kernel / s["kernel, 2 threads"],
        "J1 of marginals": (jet - kernel) / kernel,
        "J1 vs textbook": s["textbook J1"] / jet,
        "both 2 threads": s.get("textbook, 2 threads", math.nan) / s["kernel, 2 threads"],
    }


def measure_large(length: int) -> dict[str, float]:
    """One large graph against the inverse of a matrix of its size, one thread."""
    log_weights = scores(1, length)
    matrix = torch.randn(length, length, dtype=torch.float64)
    medians = interleaved_medians(
        {
            "kernel": partial(marginals_by, "native", log_weights),
            "kernel, 2 threads": partial(marginals_by, "native", log_weights),
            "inverse": partial(torch.linalg.inv, matrix),
        },
        threads={"kernel, 2 threads": 2},
        seconds=2.0,
    )
    return {"N": length, **medians, "of inverse": medians["kernel"] / medians["inverse"]}


def growth(lengths: tuple[int, ...] = (40, 80, 160, 320)) -> float:
    """The exponent of N in the time of a sentence, fitted by least squares."""
    times = interleaved_medians(
        {str(n): partial(marginals_by, "native", scores(16, n)) for n in lengths}, seconds=3.0
    )
    return fitted_exponent(lengths, [times[str(n)] for n in lengths])


def verdicts(
    cells: list[dict[str, Any]], large: list[dict[str, float]], report: dict[str, Any]
) -> list[tuple[bool, str]]:
    """Every goal, whether it is met, and what was measured."""
    by = {(c["N"], c["B"]): ratios(c) for c in cells}
    found: list[tuple[bool, str]] = []

    def judge(met: bool, text: str) -> None:
        found.append((met, text))

    for n, goal in ((40, 2.0), (80, 1.7), (160, 1.7)):
        worst = max(r["of bound"] for (m, b), r in by.items() if m == n and b >= 64)
        judge(worst <= goal, f"N={n}, B>=64: {worst:.2f} of the flop bound, goal {goal}")
    for n, goal in ((5, 6), (10, 6), (20, 6), (40, 5)):
        least = min(r["vs textbook"] for (m, b), r in by.items() if m == n and b >= 64)
        judge(least >= goal, f"N={n}, B>=64: {least:.1f} times the textbook route, goal {goal}")
    least = min(by, key=lambda k: by[k]["vs textbook"])
    judge(
        by[least]["vs textbook"] >= 1,
        f"anywhere: at least {by[least]['vs textbook']:.1f} times the textbook route, "
        f"at N={least[0]}, B={least[1]}",
    )
    for (n, b), r in by.items():
        if b >= 64:
            judge(r["2 threads"] >= 1.8, f"N={n}, B={b}: 2 threads {r['2 threads']:.2f}, goal 1.8")
    most = max(by, key=lambda k: by[k]["J1 of marginals"])
    judge(
        by[most]["J1 of marginals"] <= 3,
        f"J1 costs at most {by[most]['J1 of marginals']:.1f} times the marginals, "
        f"at N={most[0]}, B={most[1]}, goal 3",
    )
    for one in large:
        if one["N"] >= 500:
            judge(
                one["of inverse"] <= 4,
                f"N={one['N']:.0f}, B=1: {one['of inverse']:.2f} of an inverse, goal 4",
            )
    micro = report["microseconds for one sentence of 20 words"]
    judge(micro < 60, f"one sentence of 20 words: {micro:.0f} µs from Python, goal 60")
    exponent = report["exponent of N, 40 to 320"]
    judge(exponent <= 3.1, f"time grows as N^{exponent:.2f} from 40 to 320, goal 3.1")
    return found


def print_table(cells: list[dict[str, Any]]) -> None:
    """The grid as text."""
    names = list(ratios(cells[0]))
    print("   N     B  " + "  ".join(f"{name[:15]:>15}" for name in names))
    for cell in cells:
        row = "  ".join(f"{value:15.2f}" for value in ratios(cell).values())
        print(f"{cell['N']:4d}  {cell['B']:4d}  {row}")


def main() -> None:
    """Measures, prints, writes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a minute instead of many")
    parser.add_argument("--output", type=Path, default=Path("out/benchmarks/engine.json"))
    options = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    batches = BATCHES[:2] if options.quick else BATCHES
    seconds = 0.3 if options.quick else 2.0
    cells = []
    for batch in batches:
        for length in LENGTHS:
            cells.append(measure(batch, length, matrix_product_speed(), seconds))
            print(f"measured N={length}, B={batch}", file=sys.stderr, flush=True)
    large = [measure_large(n) for n in (LARGE[:2] if options.quick else LARGE)]
    one = scores(1, 20)[0]
    call = interleaved_medians({"call": partial(marginals_by, "auto", one)}, seconds=1.0)["call"]
    report: dict[str, Any] = {
        "torch": torch.__version__,
        "instruction set": _native.instruction_sets()[0],
        "grid": cells,
        "large": large,
        "microseconds for one sentence of 20 words": 1e6 * call,
        "exponent of N, 40 to 320": growth(),
    }
    print_table(cells)
    print()
    for found in large:
        print("  ".join(f"{name} {value:.4g}" for name, value in found.items()))
    print()
    report["goals"] = verdicts(cells, large, report)
    for met, text in report["goals"]:
        print("met   " if met else "MISSED", text)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
