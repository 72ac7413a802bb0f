"""``spantree infer``: what there is to know of the trees of a graph in a file."""

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from spantree.cli.infer_report import print_findings, print_notes
from spantree.cli.progress import Stages
from spantree.graphs.findings import Findings, find
from spantree.graphs.problems import GraphError
from spantree.graphs.reading import read_graph
from spantree.graphs.results import check_destination, write_findings

__all__ = ["infer"]

_INPUT, _QUESTION, _OUTPUT = "The graph", "The question", "The answer"


class Merge(Enum):
    """What to do with duplicate edges."""

    sum = "sum"
    max = "max"


class Format(Enum):
    """Of the files in a folder."""

    csv = "csv"
    tsv = "tsv"
    parquet = "parquet"
    json = "json"
    graphml = "graphml"
    npz = "npz"


def infer(
    graph: Annotated[
        Path,
        typer.Argument(
            metavar="GRAPH",
            help="A .csv, .tsv, .parquet, .graphml or .npz file.",
            show_default=False,
        ),
    ],
    source: Annotated[
        str, typer.Option(help="Column with the head of each edge.", rich_help_panel=_INPUT)
    ] = "source",
    target: Annotated[
        str, typer.Option(help="Column with its dependent.", rich_help_panel=_INPUT)
    ] = "target",
    weight: Annotated[
        str | None,
        typer.Option(
            help="Column (GraphML: attribute) with weights >= 0; 0 is no edge.",
            show_default="weight",
            rich_help_panel=_INPUT,
        ),
    ] = None,
    log_weight: Annotated[
        str | None,
        typer.Option(help="Column with log-weights, instead.", rich_help_panel=_INPUT),
    ] = None,
    unweighted: Annotated[
        bool, typer.Option("--unweighted", help="Every weight is 1.", rich_help_panel=_INPUT)
    ] = False,
    undirected: Annotated[
        bool,
        typer.Option(
            "--undirected",
            help="Edges go both ways. (GraphML says itself.)",
            rich_help_panel=_INPUT,
        ),
    ] = False,
    merge: Annotated[
        Merge | None,
        typer.Option(
            help="Add up duplicate edges, or take the largest; otherwise they are an error.",
            rich_help_panel=_INPUT,
        ),
    ] = None,
    root: Annotated[
        str | None,
        typer.Option(
            metavar="NODE",
            help="The root. By default the only node without incoming edges; if undirected, "
            "any: it makes no difference.",
            rich_help_panel=_QUESTION,
        ),
    ] = None,
    single_root: Annotated[
        bool,
        typer.Option(
            "--single-root",
            help="Trees with exactly one edge from the root.",
            rich_help_panel=_QUESTION,
        ),
    ] = False,
    topk: Annotated[
        int, typer.Option(min=0, help="The k best trees.", rich_help_panel=_QUESTION)
    ] = 0,
    samples: Annotated[
        int, typer.Option(min=0, help="Exact random trees.", rich_help_panel=_QUESTION)
    ] = 0,
    seed: Annotated[int, typer.Option(help="Of the samples.", rich_help_panel=_QUESTION)] = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE|FOLDER",
            help="Write a file (.csv, .tsv, .parquet, .graphml: the edges; .json, .npz: all) "
            "or a folder with a table for each question.",
            rich_help_panel=_OUTPUT,
        ),
    ] = None,
    format: Annotated[
        Format | None,
        typer.Option(
            help="Of the files in the folder.", show_default="csv", rich_help_panel=_OUTPUT
        ),
    ] = None,
    show: Annotated[
        int,
        typer.Option(
            min=0,
            help="How many of the most and the least certain edges.",
            rich_help_panel=_OUTPUT,
        ),
    ] = 5,
    as_json: Annotated[
        bool,
        typer.Option("--json", help="Print JSON, and nothing else.", rich_help_panel=_OUTPUT),
    ] = False,
    quiet: Annotated[
        bool,
        typer.Option("--quiet", "-q", help="No progress, no notes.", rich_help_panel=_OUTPUT),
    ] = False,
) -> None:
    """Edge probabilities, entropy, best trees and samples of a weighted graph.

    Reads an edge table (a line for each edge, columns named in the first line), GraphML or a
    matrix, and answers for *all* its spanning trees at once, exactly. A tree gives each node but
    the root one edge that leads to it; its probability is in proportion to the product of its
    weights. Undirected graphs have undirected trees.

    ```
    spantree infer contacts.csv
    spantree infer contacts.csv --source from --target to --weight rate
    spantree infer network.graphml --root A --topk 3 --samples 5
    spantree infer scores.parquet --log-weight score --single-root
    spantree infer roads.csv --undirected --out trees --format parquet
    spantree infer contacts.csv --json | jq .entropy
    ```

    Least certain are the edges whose probability is closest to 1/2. Self-loops, edges into the
    root and edges of weight 0 are in no tree: they are left out, with a note. What is written
    appears when it is complete, or not at all.
    """
    if weight is not None and (log_weight is not None or unweighted):
        raise GraphError("--weight excludes --log-weight and --unweighted")
    if log_weight is not None and unweighted:
        raise GraphError("--log-weight excludes --unweighted")
    if format is not None and out is None:
        raise GraphError("--format needs --out")
    if out is not None:
        check_destination(out, _value(format), trees=bool(topk or samples))
    with Stages(quiet=quiet) as stages:
        with stages.stage(f"reading {graph.name}") as report:
            named = read_graph(
                graph,
                source=source,
                target=target,
                weight=None if unweighted else weight or "weight",
                log_weight=log_weight,
                root=root,
                undirected=undirected or None,
                merge=_value(merge),
                progress=report,
            )
        if named.undirected and single_root and root is None:
            raise GraphError(
                "the trees of an undirected graph with a single edge at the root depend on which "
                "node that is: name it with --root"
            )
        try:
            findings = find(
                named,
                "single" if single_root else "multi",
                topk=topk,
                samples=samples,
                seed=seed,
                stage=stages.stage,
            )
        except GraphError as error:
            raise error.at(str(graph)) from None
        written = [] if out is None else _write(stages.stage, out, findings, _value(format))
    if as_json:
        summary = findings.summary(show) | {"written": [str(file) for file in written]}
        print(json.dumps(summary, ensure_ascii=False, default=str))
        return
    if not quiet:
        print_notes(Console(stderr=True), findings)
    print_findings(
        Console(highlight=False), findings, show=show, with_trees=out is None, written=written
    )


def _write(
    stage: Callable[[str], AbstractContextManager[Callable[[float], None]]],
    out: Path,
    findings: Findings,
    format: Any,
) -> list[Path]:
    with stage(f"writing {out.name}") as report:
        return write_findings(out, findings, format, report)


def _value(option: Enum | None) -> Any:
    return None if option is None else option.value
