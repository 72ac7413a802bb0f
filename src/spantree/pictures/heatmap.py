"""Probabilities of edges as a heat map: a row for every head, a column for every dependent."""

from collections.abc import Sequence
from math import ceil, cos, radians, sin
from typing import Any, NamedTuple

from spantree.pictures.inputs import Graph, gather
from spantree.pictures.layout import (
    LARGE,
    MARGIN,
    SMALL,
    edge_tip,
    finished,
    slant_for,
    tree_in_words,
)
from spantree.pictures.lettering import LINE, abridged, written_width
from spantree.pictures.shapes import Box, Disc, Drawing, Path, Role, Shape, Text
from spantree.pictures.svg import Theme, check_theme, to_svg

__all__ = [
    "BLANK",
    "cell_role",
    "cell_size",
    "cell_text",
    "draw_heatmap",
    "heatmap_svg",
    "label_step",
]

_NAME = 130.0  # names that are wider are abridged
BLANK = 1 / 512  # half a step of a screen's colours: below it a cell looks like that of 0
_NUMBERED = 12  # graphs of so many nodes have their numbers written out
_LEGEND = 160.0  # how tall the scale of colours is
_MIDDLE = 0.36 * SMALL  # from the middle of the letters down to their baseline


def heatmap_svg(
    marginals: Any,
    heads: Any = None,
    names: Sequence[Any] | None = None,
    *,
    title: str | None = None,
    theme: Theme = "auto",
) -> str:
    """A heat map of the probabilities of edges, heads by rows, dependents by columns, as SVG.

    Args:
        marginals: ``(n, n)`` probabilities of edges, ``[head, dependent]``; node 0 is the root.
        heads: ``(n,)``, a tree whose cells to outline, -1 where there is nothing to.
        names: n names, the root's first, or those of the n - 1 other nodes.
        title: a heading.
        theme: ``"light"``, ``"dark"``, or ``"auto"`` to follow the reader's browser.

    Returns:
        An ``<svg>`` element that needs nothing else. A cell is as opaque as its edge is probable,
        so colours go from the paper's, 0, to one of even contrast, 1, in light as in dark.
    """
    check_theme(theme)
    return to_svg(draw_heatmap(gather(marginals, heads, names), title=title), theme)


class _Grid(NamedTuple):
    """Where the cells are; whole pixels, so that there are no seams between them."""

    left: float
    top: float
    cell: float
    n: int

    @property
    def right(self) -> float:
        return self.left + self.cell * (self.n - 1)

    @property
    def height(self) -> float:
        return self.cell * self.n

    def corner(self, head: int, dependent: int) -> tuple[float, float]:
        return self.left + self.cell * (dependent - 1), self.top + self.cell * head


def draw_heatmap(graph: Graph, *, title: str | None) -> Drawing:
    """The picture that `heatmap_svg` describes."""
    n = len(graph.names)
    cell = float(int(cell_size(n)))
    names = [abridged(name, _NAME, SMALL) for name in graph.names]
    angle = slant_for(names[1:], cell * label_step(cell, SMALL), SMALL)
    longest = max(written_width(name, SMALL) for name in names[1:])
    heading = LARGE + 12.0 if title else 0.0
    rise = longest * sin(radians(angle)) + SMALL * cos(radians(angle))
    left = MARGIN + 26.0 + max(written_width(name, SMALL) for name in names)
    grid = _Grid(float(ceil(left)), float(ceil(MARGIN + heading + 26.0 + rise)), cell, n)
    shapes = _ground(graph, grid) + _cells(graph, grid) + _outlines(graph, grid)
    shapes += _names(graph.names, names, grid, angle)
    shapes.append(Text(grid.left, MARGIN + heading + SMALL, "dependent →", SMALL, "muted", "start"))
    shapes.append(Text(MARGIN + 10.0, grid.top, "← head", SMALL, "muted", "end", angle=-90.0))
    legend, right = _legend(grid)
    overhang = longest * cos(radians(angle)) if angle else 0.0
    notes = ["The cells of the best tree are outlined."] if max(graph.heads) >= 0 else []
    drawing = Drawing(
        max(right, grid.right + overhang) + MARGIN,
        grid.top + max(grid.height, _LEGEND) + 14.0,
        title or f"Probabilities of the edges between {n} nodes",
        " ".join(["Heads by rows, dependents by columns.", *notes, *tree_in_words(graph)]),
    )
    return finished(drawing, [*shapes, *legend], title, notes)


def cell_size(n: int) -> float:
    """The side of a cell: with room for every name up to 80 nodes, then smaller."""
    if n > 80:
        return max(5.0, min(LINE * SMALL, 1200.0 / n))
    return max(LINE * SMALL, min(46.0, 620.0 / n))


def label_step(pitch: float, size: float) -> int:
    """There is room for the label of every how manieth row."""
    return ceil(LINE * size / pitch - 1e-9)


def cell_text(probability: float) -> str:
    """The probability in a cell, in percent; nothing for what rounds to 0."""
    share = f"{100 * probability:.0f}"
    return "" if share == "0" else share


def cell_role(probability: float) -> Role:
    """What text in a cell is written in to have a contrast of 4.5 or more, in light and in dark."""
    return "low" if probability < 0.5 else "middle" if probability < 0.7 else "high"


def _ground(graph: Graph, grid: _Grid) -> list[Shape]:
    """A frame, lines to keep one's eyes on track, and dots on the diagonal, which has no edges."""
    shapes: list[Shape] = [
        Box(grid.left, grid.top, grid.right - grid.left, grid.height, "grid", stroke=1.0)
    ]
    for node in range(5, grid.n if grid.n > _NUMBERED else 0, 5):
        x, y = grid.corner(node, node)
        shapes.append(Path([(grid.left, y), (grid.right, y)], "grid"))
        shapes.append(Path([(x, grid.top), (x, grid.top + grid.height)], "grid"))
    for node in range(1, grid.n):
        x, y = grid.corner(node, node)
        tip = f"{graph.names[node]}: no edge to itself"
        radius = 0.08 * grid.cell
        shapes.append(Disc(x + grid.cell / 2, y + grid.cell / 2, radius, "muted", tip=tip))
    return shapes


def _cells(graph: Graph, grid: _Grid) -> list[Shape]:
    shapes: list[Shape] = []
    for head, dependent in zip(*graph.marginals.nonzero(), strict=True):
        probability = float(graph.marginals[head, dependent])
        if probability < BLANK:
            continue
        x, y = grid.corner(head, dependent)
        tip = edge_tip(graph.names[head], graph.names[dependent], probability)
        shapes.append(Box(x, y, grid.cell, grid.cell, "edge", probability, tip=tip))
        if grid.n <= _NUMBERED and cell_text(probability):
            role = cell_role(probability)
            y += grid.cell / 2 + _MIDDLE
            shapes.append(Text(x + grid.cell / 2, y, cell_text(probability), SMALL, role, tip=tip))
    return shapes


def _outlines(graph: Graph, grid: _Grid) -> list[Shape]:
    shapes: list[Shape] = []
    for dependent, head in enumerate(graph.heads):
        if head >= 0:
            x, y = grid.corner(head, dependent)
            stroke = 2.0 if grid.cell > 12 else 1.0
            side = grid.cell - stroke
            shapes.append(Box(x + stroke / 2, y + stroke / 2, side, side, "tree", stroke=stroke))
    return shapes


def _names(full: list[str], shown: list[str], grid: _Grid, angle: float) -> list[Shape]:
    step = label_step(grid.cell, SMALL)
    shapes: list[Shape] = []
    for node in range(0, grid.n, step):
        y = grid.top + grid.cell * (node + 0.5) + _MIDDLE
        shapes.append(Text(grid.left - 8.0, y, shown[node], SMALL, anchor="end", tip=full[node]))
    for node in range(1, grid.n, step):
        x = grid.left + grid.cell * (node - 0.5)
        if angle == 0.0:
            shapes.append(Text(x, grid.top - 8.0, shown[node], SMALL, tip=full[node]))
        else:
            # The middle of the letters, not their baseline, points at the column.
            x += _MIDDLE * sin(radians(angle))
            tip = full[node]
            shapes.append(
                Text(x, grid.top - 7.0, shown[node], SMALL, "text", "start", -angle, tip=tip)
            )
    return shapes


def _legend(grid: _Grid) -> tuple[list[Shape], float]:
    """The scale of colours beside the cells, and how far to the right it reaches."""
    x, steps = grid.right + 24.0, 40
    tall = _LEGEND / steps
    shapes: list[Shape] = [
        Box(x, grid.top + tall * (steps - 1 - i), 14.0, tall, "edge", (i + 0.5) / steps)
        for i in range(steps)
    ]
    shapes.append(Box(x, grid.top, 14.0, _LEGEND, "grid", stroke=1.0))
    for share in (0, 25, 50, 75, 100):
        y = grid.top + _LEGEND * (1 - share / 100) + _MIDDLE
        shapes.append(Text(x + 22.0, y, f"{share} %", SMALL, "muted", anchor="start"))
    return shapes, x + 22.0 + written_width("100 %", SMALL)
