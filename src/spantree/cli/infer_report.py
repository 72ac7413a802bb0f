"""What `spantree infer` prints."""

import math
from collections.abc import Hashable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from spantree.graphs.findings import Findings
from spantree.graphs.problems import count_of

__all__ = ["print_edges", "print_findings", "print_notes", "print_numbers", "tree_line"]

# A tree of more edges is no longer read from one line.
_EDGES_IN_LINE = 30


def print_notes(console: Console, findings: Findings) -> None:
    """What of the input was left out."""
    ignored = findings.graph.ignored
    parts = [
        count_of(ignored.self_loops, "self-loop"),
        count_of(ignored.into_root, "edge into the root", "edges into the root"),
        count_of(ignored.zero_weight, "edge of weight 0", "edges of weight 0"),
    ]
    if any(parts):
        found = ", ".join(part for part in parts if part)
        note = Text(f"note: {found} ignored, which no tree has", style="dim")
        console.print(note, soft_wrap=True)


def print_findings(
    console: Console, findings: Findings, *, show: int, with_trees: bool, written: list[Path]
) -> None:
    """Numbers, tables of edges and the best tree.

    Args:
        console: where to.
        findings: what.
        show: how many of the most and of the least certain edges.
        with_trees: whether to print the best trees and samples asked for.
        written: files to be named.
    """
    print_numbers(console, findings)
    if show:
        print_edges(console, "Most certain edges", findings.most_certain(show))
        print_edges(console, "Least certain edges (closest to 1/2)", findings.least_certain(show))
    best = tree_line(findings.tree_edges(findings.best))
    console.print(Text(f"\nBest tree ({_probability(findings.best_log_probability)})", "bold"))
    console.print(Text(best))
    if with_trees:
        _print_trees(console, findings)
    if written:
        console.print()
    for path in written:
        console.print(Text(f"wrote {path}"), soft_wrap=True)


def print_numbers(console: Console, findings: Findings) -> None:
    """What the graph is, and the numbers that tell of all its trees."""
    graph = findings.graph
    kind = "undirected" if graph.undirected else "directed"
    rule = "one edge" if findings.rule == "single" else "any number of edges"
    rows = {
        "nodes": f"{len(graph):,}, with the root",
        "edges": f"{graph.edge_count:,}, {kind}",
        "root": f"{graph.root}, with {rule} from it",
        "log Z": f"{findings.log_partition:.12g}",
        "trees": f"{_tree_count(findings)}, if every edge had weight 1",
        "entropy": f"{findings.entropy:.12g} nats",
    }
    grid = Table.grid(padding=(0, 2))
    for name, value in rows.items():
        grid.add_row(Text(name, "bold"), Text(value))
    console.print(grid)


def print_edges(console: Console, title: str, edges: list[dict[str, Any]]) -> None:
    """Edges with their probabilities, as `Findings` chooses them."""
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("source", overflow="fold")
    table.add_column("target", overflow="fold")
    table.add_column("probability", justify="right")
    for edge in edges:
        table.add_row(
            Text(str(edge["source"])), Text(str(edge["target"])), f"{edge['probability']:.6g}"
        )
    console.print(Text(f"\n{title}", "bold"))
    console.print(table)


def _print_trees(console: Console, findings: Findings) -> None:
    if len(findings.top):
        console.print(Text("\nBest trees", "bold"))
        pairs = zip(findings.top, findings.top_log_probabilities.tolist(), strict=True)
        for rank, (heads, log_probability) in enumerate(pairs, start=1):
            line = tree_line(findings.tree_edges(heads))
            console.print(Text(f"{rank}. {_probability(log_probability)}: {line}"))
    if len(findings.samples):
        console.print(Text("\nSamples", "bold"))
        for number, heads in enumerate(findings.samples, start=1):
            console.print(Text(f"{number}. {tree_line(findings.tree_edges(heads))}"))


def tree_line(edges: list[tuple[Hashable, Hashable]]) -> str:
    """A tree in a line, or where it would be too long, its size."""
    if len(edges) > _EDGES_IN_LINE:
        return f"{len(edges):,} edges; --out or --json has them"
    return ", ".join(f"{source} → {target}" for source, target in edges)


def _probability(log_probability: float) -> str:
    if log_probability > math.log(1e-6):
        return f"probability {math.exp(log_probability):.6g}"
    return f"log-probability {log_probability:.6g}"


def _tree_count(findings: Findings) -> str:
    count = findings.tree_count
    if count is not None and count < 10**24:
        return f"{count:,}"
    exponent = findings.log_tree_count / math.log(10)
    return f"≈ {10 ** (exponent % 1):.4f}·10^{math.floor(exponent)}"
