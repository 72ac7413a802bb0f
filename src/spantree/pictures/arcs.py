"""Edges as arcs above a row of nodes, as opaque as they are probable."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from spantree.pictures.inputs import Graph, gather
from spantree.pictures.layout import (
    FAINTEST,
    LARGE,
    MARGIN,
    SMALL,
    WIDEST,
    Row,
    edge_tip,
    finished,
    place_row,
    tree_in_words,
)
from spantree.pictures.lettering import percent, written_width
from spantree.pictures.shapes import Arc, Disc, Drawing, Shape, Text
from spantree.pictures.svg import Theme, check_theme, to_svg

__all__ = ["arcs_svg", "draw_arcs"]


def arcs_svg(
    marginals: Any,
    heads: Any = None,
    names: Sequence[Any] | None = None,
    *,
    title: str | None = None,
    theme: Theme = "auto",
    faintest: float = FAINTEST,
) -> str:
    """Arcs from heads to dependents, the opacity of each its exact probability, as SVG.

    Args:
        marginals: ``(n, n)`` probabilities of edges, ``[head, dependent]``; node 0 is the root.
        heads: ``(n,)``, a tree to highlight, -1 where there is nothing to.
        names: n names, the root's first, or those of the n - 1 other nodes.
        title: a heading.
        theme: ``"light"``, ``"dark"``, or ``"auto"`` to follow the reader's browser.
        faintest: edges of smaller probability are left out, and counted below the picture; those of
            the highlighted tree never are.

    Returns:
        An ``<svg>`` element that needs nothing else. Names and the exact probability of every arc
        appear when pointed at.
    """
    check_theme(theme)
    graph = gather(marginals, heads, names)
    return to_svg(draw_arcs(graph, title=title, faintest=faintest), theme)


def draw_arcs(
    graph: Graph, *, title: str | None, faintest: float = FAINTEST, widest: float = WIDEST
) -> Drawing:
    """The picture that `arcs_svg` describes, of about the width ``widest`` or less if it can be."""
    if not 0 <= faintest <= 1:
        raise ValueError(f"faintest must be a probability in 0..1, got {faintest}")
    shares = _shares(graph)
    room = max((written_width(share, SMALL) for share in shares.values()), default=0.0)
    row = place_row(graph.names, widest, room=room)
    above = max(90.0, min(300.0, 0.3 * row.width))
    floor = MARGIN + above + (LARGE + 14.0 if title else 0.0)
    arcs = _arcs(graph, row, above, floor, faintest)
    dots = [
        Disc(x, floor + 6.0, 4.0 if node == 0 else 3.0, "text", tip=name)
        for node, (x, name) in enumerate(zip(row.positions, graph.names, strict=True))
    ]
    names = [replace(name, y=floor + 6.0 + name.y) for name in row.names]
    shapes: list[Shape] = [*arcs, *dots, *names]
    depth = row.depth
    if shares and not row.is_slanted:
        y = floor + 6.0 + depth + 10.0
        shapes += [Text(row.positions[k], y, share, SMALL, "tree") for k, share in shares.items()]
        depth += 14.0
    height = floor + 6.0 + depth + 8.0
    n = len(graph.names)
    notes = _notes(graph, shown=len(arcs), faintest=faintest)
    drawing = Drawing(
        row.width,
        height,
        title or f"Probabilities of the edges between {n} nodes",
        " ".join([*notes, *tree_in_words(graph)]),
    )
    return finished(drawing, shapes, title, notes)


def _arcs(graph: Graph, row: Row, above: float, floor: float, faintest: float) -> list[Arc]:
    """From the faintest to the clearest, those of the tree in front."""
    widest = row.positions[-1] - row.positions[0]
    arcs = []
    for head, dependent in zip(*graph.marginals.nonzero(), strict=True):
        probability = float(graph.marginals[head, dependent])
        in_tree = graph.heads[dependent] == head
        if probability < faintest and not in_tree:
            continue
        start, end = row.positions[head], row.positions[dependent]
        forward = 1.0 if end > start else -1.0
        # An edge and its reverse differ in their ends and their height, so that both can be seen.
        height = 22.0 + (above - 22.0) * (abs(end - start) / widest) ** 0.7
        arcs.append(
            Arc(
                start + 1.5 * forward,
                end - 4.5 * forward,
                floor,
                height * (1.0 if end > start else 0.92),
                "tree" if in_tree else "edge",
                2.6 if in_tree else 1.6,
                probability,
                edge_tip(graph.names[head], graph.names[dependent], probability),
                traced=in_tree,
            )
        )
    return sorted(arcs, key=lambda arc: (arc.role == "tree", arc.opacity))


def _shares(graph: Graph) -> dict[int, str]:
    """By node, how probable its edge in the tree is."""
    return {
        node: percent(float(graph.marginals[head, node]))
        for node, head in enumerate(graph.heads)
        if head >= 0
    }


def _notes(graph: Graph, *, shown: int, faintest: float) -> list[str]:
    notes = ["Opacity is the probability of the edge."]
    if max(graph.heads) >= 0:
        notes.append("The best tree is in orange.")
    missing = int((graph.marginals > 0).sum()) - shown
    if missing:
        edges = "1 edge" if missing == 1 else f"{missing:,} edges".replace(",", "\u202f")
        notes.append(f"{edges} below {100 * faintest:g} % left out.")
    return notes
