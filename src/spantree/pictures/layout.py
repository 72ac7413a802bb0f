"""The rules that keep labels apart: where nodes and their names go, in a row or along a grid."""

from collections.abc import Sequence
from itertools import pairwise
from math import cos, radians, sin
from typing import NamedTuple

from spantree.pictures.inputs import Graph
from spantree.pictures.lettering import LINE, abridged, percent, wrapped, written_width
from spantree.pictures.shapes import Drawing, Shape, Text

__all__ = [
    "FAINTEST",
    "LARGE",
    "MARGIN",
    "SMALL",
    "WIDEST",
    "Row",
    "edge_tip",
    "finished",
    "place_row",
    "slant_for",
    "tree_in_words",
]

MARGIN = 20.0
FAINTEST = 0.02  # edges of smaller probability cannot be seen
SMALL = 12.0  # the size of slanted names and of notes
LARGE = 15.0  # of names in a row, and of titles
_LONGEST = 150.0  # names that are wider are abridged
WIDEST = 1000.0  # rows that would be wider have slanted names


class Row(NamedTuple):
    """Nodes side by side.

    Attributes:
        positions: where every node is, from the left edge of the picture.
        names: their names, at the height 0 of the nodes; below it.
        width: of the whole, margins included.
        depth: how far the names reach below the nodes.
        is_slanted: whether the names are.
    """

    positions: list[float]
    names: list[Text]
    width: float
    depth: float
    is_slanted: bool


def place_row(names: Sequence[str], widest: float = WIDEST, *, room: float = 0.0) -> Row:
    """Names in a line if that does not become too wide, else slanted, a line's height apart.

    In a line every node has at least the given room for what is written below its name.
    """
    shown = [abridged(name, _LONGEST, LARGE) for name in names]
    widths = [max(room, written_width(name, LARGE)) for name in shown]
    least = min(90.0, max(46.0, min(500.0, widest - 2 * MARGIN) / len(names)))
    gap = 0.8 * LARGE
    positions = [MARGIN + max(widths[0] / 2, 14.0)]
    for before, after in pairwise(widths):
        positions.append(positions[-1] + max(least, (before + after) / 2 + gap))
    width = positions[-1] + widths[-1] / 2 + MARGIN
    if width > widest:
        return _slanted_row(names, widest)
    texts = [
        Text(x, 1.5 * LARGE, text, LARGE, tip=name)
        for x, text, name in zip(positions, shown, names, strict=True)
    ]
    return Row(positions, texts, width, 2.0 * LARGE, is_slanted=False)


def _slanted_row(names: Sequence[str], widest: float) -> Row:
    angle, reach = 60.0, _LONGEST
    shown = [abridged(name, reach, SMALL) for name in names]
    # Slanted lines of text are closer than the nodes that they start from.
    pitch = max(LINE * SMALL / sin(radians(angle)) + 1.0, min(40.0, (widest - 80) / len(names)))
    longest = max(written_width(name, SMALL) for name in shown)
    left = max(
        written_width(name, SMALL) * cos(radians(angle)) - i * pitch for i, name in enumerate(shown)
    )
    start = MARGIN + max(left, 14.0)
    positions = [start + i * pitch for i in range(len(names))]
    texts = [
        Text(x + 4, 14.0, text, SMALL, anchor="end", angle=-angle, tip=name)
        for x, text, name in zip(positions, shown, names, strict=True)
    ]
    depth = 16.0 + longest * sin(radians(angle)) + SMALL * cos(radians(angle))
    return Row(positions, texts, positions[-1] + 14.0 + MARGIN, depth, is_slanted=True)


def slant_for(names: Sequence[str], pitch: float, size: float) -> float:
    """The least of some angles at which names stand clear of each other at this pitch."""
    if max(written_width(name, size) for name in names) + 0.5 * size <= pitch:
        return 0.0
    return next((a for a in (45.0, 60.0) if pitch * sin(radians(a)) >= LINE * size), 90.0)


def edge_tip(head: str, dependent: str, probability: float) -> str:
    """What a reader is told of one edge."""
    share = percent(probability)
    return f"{head} → {dependent}: {share} ({probability:.12g})"


def tree_in_words(graph: Graph) -> list[str]:
    """The highlighted tree as a sentence, for those who cannot see it; nothing without one."""
    edges = [
        f"{graph.names[head]} → {graph.names[node]} {percent(float(graph.marginals[head, node]))}"
        for node, head in enumerate(graph.heads)
        if head >= 0
    ]
    return [f"The best tree: {', '.join(edges)}."] if edges else []


def finished(
    drawing: Drawing, shapes: Sequence[Shape], heading: str | None, notes: list[str]
) -> Drawing:
    """Adds what every picture has: a heading above, notes below, and the width that they need."""
    room = max(drawing.width, 300.0) - 2 * MARGIN
    lines = wrapped(notes, room, SMALL)
    needed = max([written_width(line, SMALL) for line in lines], default=0.0)
    if heading:
        room = max(room, min(written_width(heading, LARGE, bold=True), WIDEST))
    drawing.width = max(drawing.width, needed + 2 * MARGIN, room + 2 * MARGIN)
    drawing.shapes += shapes
    if heading:
        shown = abridged(heading, room, LARGE, bold=True)
        tip = heading if shown != heading else ""
        drawing.shapes.append(
            Text(MARGIN, MARGIN + LARGE, shown, LARGE, anchor="start", bold=True, tip=tip)
        )
    for line in lines:
        drawing.height += LINE * SMALL
        drawing.shapes.append(
            Text(MARGIN, drawing.height - 0.3 * SMALL, line, SMALL, "muted", anchor="start")
        )
    drawing.height += 0.6 * MARGIN
    return drawing
