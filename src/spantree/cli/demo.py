"""``spantree demo``: the library in a minute, on graphs that come with it."""

import math
from collections.abc import Iterator
from importlib.resources import as_file, files
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from spantree.checks import Root
from spantree.cli.infer_report import print_edges, print_numbers, tree_line
from spantree.cli.progress import Stages
from spantree.demo.confidence import Trial, confidence_trials
from spantree.demo.race import SIZES, Lap, race
from spantree.graphs import NamedGraph, read_graph
from spantree.graphs.findings import find
from spantree.pictures import arcs_svg, curve_svg, heatmap_svg, tree_text

__all__ = ["demo"]

SAMPLES = 3
BEST = 3
EDGES = 4  # of the most certain, and of the least


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the pictures; made if missing.")] = Path(
        "out"
    ),
    seed: Annotated[int, typer.Option(help="Of the samples, and of the graphs timed.")] = 0,
) -> None:
    """Show what the library does, in under a minute: no input needed.

    Two graphs that come with it, a sentence and an outbreak; the sentence scored ever more
    confidently, until the textbook breaks; the speed of the entropy and its gradient; and pictures.
    """
    console = Console(highlight=False)
    out.mkdir(parents=True, exist_ok=True)
    pictures: list[Path] = []
    sentence, outbreak = _embedded("sentence", "ROOT"), _embedded("outbreak", "outside")

    console.rule("A sentence: which word depends on which")
    pictures += _show(console, sentence, "single", out, "sentence", seed)
    console.rule("An outbreak: who infected whom")
    pictures += _show(console, outbreak, "multi", out, "outbreak", seed)
    console.rule("The sentence, scored ever more confidently")
    console.print(_confidence_table(confidence_trials(sentence.log_weights)))
    console.rule("The entropy of random sentences, and its gradient")
    laps = _timed(seed)
    console.print(_speed_table(laps))
    pictures.append(_drawn(out / "speed.svg", _speed_picture(laps)))

    console.print("\nPictures, for any browser:")
    for picture in pictures:
        console.print(Text(f"  {picture}"), soft_wrap=True)


def _embedded(name: str, root: str) -> NamedGraph:
    with as_file(files("spantree.demo") / "data" / f"{name}.csv") as path:
        return read_graph(path, log_weight="log_weight", root=root)


def _show(
    console: Console, graph: NamedGraph, rule: Root, out: Path, name: str, seed: int
) -> list[Path]:
    """Prints all about one graph, draws it twice, and returns the pictures' paths."""
    findings = find(graph, rule, topk=BEST, samples=SAMPLES, seed=seed)
    marginals, names = findings.marginals, [str(node) for node in graph.names]
    print_numbers(console, findings)
    print_edges(console, "Most certain edges", findings.most_certain(EDGES))
    print_edges(console, "Least certain edges", findings.least_certain(EDGES))
    log_probabilities = findings.top_log_probabilities.tolist()
    for rank, heads in enumerate(findings.top, start=1):
        probability = math.exp(log_probabilities[rank - 1])
        console.print(Text(f"\nBest tree {rank}, probability {probability:.1%}", "bold"))
        console.print(Text(tree_text(heads, names, marginals)), soft_wrap=True)
    console.print(Text(f"\n{SAMPLES} exact samples", "bold"))
    for heads in findings.samples:
        console.print(Text(tree_line(findings.tree_edges(heads))))
    console.print()
    return [
        _drawn(out / f"{name}-arcs.svg", arcs_svg(marginals, findings.best, names)),
        _drawn(out / f"{name}-marginals.svg", heatmap_svg(marginals, findings.best, names)),
    ]


def _drawn(path: Path, picture: str) -> Path:
    path.write_text(picture, encoding="utf-8")
    return path


def _timed(seed: int) -> list[Lap]:
    laps = []
    title = f"Timing graphs of {SIZES[0]} to {SIZES[-1]} nodes"
    with Stages(quiet=False) as stages, stages.stage(title) as report:
        for lap in race(SIZES, seed=seed):
            laps.append(lap)
            report(len(laps) / len(SIZES))
    return laps


def _confidence_table(trials: Iterator[Trial]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("scores ×", justify="right")
    table.add_column("probabilities by determinant", justify="right")
    table.add_column("by spantree", justify="right")
    table.add_column("largest error of the determinant", justify="right")
    for trial in trials:
        broken = not trial.error < 1e-3
        theirs, error = _interval(trial.textbook), f"{trial.error:.1g}"
        table.add_row(
            str(trial.factor),
            f"[bold red]{theirs}[/]" if broken else theirs,
            _interval(trial.library),
            f"[bold red]{error}[/]" if broken else error,
        )
    return table


def _interval(ends: tuple[float, float]) -> str:
    return f"{ends[0]:.4g} to {ends[1]:.4g}"


def _speed_table(laps: list[Lap]) -> Table:
    table = Table(box=None, pad_edge=False, caption="microseconds a sentence, one thread")
    for heading in ("words", "spantree", "textbook", "past, O(N⁴)", "faster than these"):
        table.add_column(heading, justify="right")
    for lap in laps:
        times = [f"{1e6 * seconds:,.0f}" for seconds in lap[1:]]
        factors = f"{lap.textbook / lap.library:.1f} × and {lap.past / lap.library:,.0f} ×"
        table.add_row(str(lap.nodes), *times, factors)
    return table


def _speed_picture(laps: list[Lap]) -> str:
    words = [lap.nodes for lap in laps]
    contenders = {"spantree": "library", "textbook": "textbook", "past, O(N⁴)": "past"}
    return curve_svg(
        {
            name: (words, [1e6 * getattr(lap, field) for lap in laps])
            for name, field in contenders.items()
        },
        title="Entropy and its gradient: microseconds a sentence",
        x_label="words",
        y_label="µs",
    )
