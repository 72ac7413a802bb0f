"""The same pictures in matplotlib: on axes of any size, in the colours of the active style."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from spantree.extras import load
from spantree.pictures.arcs import draw_arcs
from spantree.pictures.heatmap import cell_role, cell_text, label_step
from spantree.pictures.inputs import gather
from spantree.pictures.layout import FAINTEST, SMALL, WIDEST, slant_for
from spantree.pictures.lettering import LINE, abridged
from spantree.pictures.shapes import Arc, Disc, Drawing, Role, Text
from spantree.pictures.svg import THEMES

__all__ = ["plot_arcs", "plot_heatmap"]

_POINTS = 0.75  # in a pixel
_TITLE = 34.0  # pixels
_LONGEST = 130.0  # pixels; names that are wider are abridged


def plot_arcs(
    ax: Any,
    marginals: Any,
    heads: Any = None,
    names: Sequence[Any] | None = None,
    *,
    title: str | None = None,
    faintest: float = FAINTEST,
) -> Any:
    """Draws what `arcs_svg` does on matplotlib axes, and returns these; None for axes of its own.

    Letters are scaled with the picture to the size that the axes have now, so that names never
    overlap; on axes of the picture's own shape it fills them.
    """
    graph = gather(marginals, heads, names)
    widest = WIDEST if ax is None else min(WIDEST, _pixels(ax)[0])
    drawing = draw_arcs(graph, title=None, faintest=faintest, widest=widest)
    if ax is None:
        ax = _axes_for(drawing)
    if title:
        ax.set_title(title)
    ax.set(xlim=(0, drawing.width), ylim=(drawing.height, 0), aspect="equal")
    ax.set_axis_off()
    width, height = _pixels(ax)
    scale = min(width / drawing.width, height / drawing.height)
    for shape in drawing.shapes:
        if isinstance(shape, Arc):
            _draw_arc(ax, shape, scale)
        elif isinstance(shape, Disc):
            _draw_disc(ax, shape)
        elif isinstance(shape, Text):
            _draw_text(ax, shape, scale)
    return ax


def plot_heatmap(
    ax: Any,
    marginals: Any,
    heads: Any = None,
    names: Sequence[Any] | None = None,
    *,
    title: str | None = None,
) -> Any:
    """Draws what `heatmap_svg` does on matplotlib axes, and returns these; None for its own.

    Rows are heads, columns are the dependents 1..n-1. Ticks and colour bar are matplotlib's.
    """
    graph = gather(marginals, heads, names)
    n = len(graph.names)
    if ax is None:
        pyplot = load("matplotlib.pyplot", extra="plot", purpose="to draw a figure")
        side = min(14.0, max(4.0, 1.6 + n * LINE * SMALL / 90))
        _, ax = pyplot.subplots(figsize=(side + 1.2, side), layout="constrained")
    shown = graph.marginals[:, 1:]
    possible = ~np.eye(n, dtype=bool)[:, 1:]
    image = ax.imshow(
        np.ma.masked_where(~possible, shown),
        cmap=_colours(ax),
        vmin=0.0,
        vmax=1.0,
        aspect="equal",
        interpolation="nearest",
        extent=(0.5, n - 0.5, n - 0.5, -0.5),
    )
    ax.set(xlabel="dependent", ylabel="head")
    if title:
        ax.set_title(title)
    bar = ax.figure.colorbar(image, ax=ax, label="probability", fraction=0.045, pad=0.03)
    bar.outline.set_visible(False)
    cell = float("inf")
    for _ in range(4):  # names take room from the cells, whose size decides on the names
        _whole_figure(ax).draw_without_rendering()
        width, height = _pixels(ax)
        if min(width / (n - 1), height / n) > 0.99 * cell:
            break
        cell = min(width / (n - 1), height / n)
        _label_axes(ax, graph.names, cell)
    _mark_cells(ax, graph.heads, cell)
    if cell >= 2.2 * SMALL:
        _write_cells(ax, shown, min(SMALL, 0.35 * cell))
    return ax


def _axes_for(drawing: Drawing) -> Any:
    """Axes as large as the drawing, in a figure that has room for a title above."""
    pyplot = load("matplotlib.pyplot", extra="plot", purpose="to draw a figure")
    height = drawing.height + _TITLE
    figure = pyplot.figure(figsize=(drawing.width / 96, height / 96))
    return figure.add_axes((0.0, 0.0, 1.0, drawing.height / height))


def _pixels(ax: Any) -> tuple[float, float]:
    """Width and height of the axes in 96ths of an inch."""
    box, inch = ax.get_window_extent(), ax.figure.dpi / 96
    return box.width / inch, box.height / inch


def _whole_figure(ax: Any) -> Any:
    """The figure that the axes are in, though they may be in a part of it that is one, too."""
    figure = ax.figure
    return figure if hasattr(figure, "draw_without_rendering") else figure.figure


def _draw_arc(ax: Any, arc: Arc, scale: float) -> None:
    patches = load("matplotlib.patches", extra="plot", purpose="to draw")
    colour = _role_colour(ax, arc.role)
    middle, span = (arc.start + arc.end) / 2, abs(arc.end - arc.start)
    order = 2 if arc.role == "tree" else 1
    # The axis points down, so the upper half of the picture is at 180 to 360 degrees.
    unit = load("matplotlib.path", extra="plot", purpose="to draw").Path.arc(180, 360)
    vertices = unit.vertices * (span / 2, arc.height) + (middle, arc.y)
    path = type(unit)(vertices, unit.codes)

    def half_ellipse(width: float, alpha: float) -> Any:
        stroke = width * _POINTS * scale
        return patches.PathPatch(
            path, fill=False, edgecolor=colour, linewidth=stroke, alpha=alpha, zorder=order
        )

    line = half_ellipse(arc.stroke, arc.opacity)
    line.set_gid("arc")
    half = 2.8 + 0.3 * arc.stroke
    points = [(arc.end, arc.y + 1), (arc.end - half, arc.y - 7), (arc.end + half, arc.y - 7)]
    tip = patches.Polygon(points, color=colour, alpha=arc.opacity, linewidth=0, zorder=order)
    drawn = [line, tip]
    if arc.traced:
        thin = 0.8 * _POINTS * scale
        outline = patches.Polygon(
            points, fill=False, edgecolor=colour, linewidth=thin, zorder=order
        )
        drawn = [half_ellipse(0.8, 1.0), outline, *drawn]
    for patch in drawn:
        ax.add_artist(patch)  # unlike add_patch it leaves alone the limits, which are known


def _draw_disc(ax: Any, disc: Disc) -> None:
    patches = load("matplotlib.patches", extra="plot", purpose="to draw")
    colour = _role_colour(ax, disc.role)
    ax.add_patch(patches.Circle((disc.x, disc.y), disc.radius, color=colour, zorder=3))


def _draw_text(ax: Any, text: Text, scale: float) -> None:
    ax.text(
        text.x,
        text.y,
        _literal(text.text),
        color=_role_colour(ax, text.role),
        fontsize=text.size * _POINTS * scale,
        ha={"start": "left", "middle": "center", "end": "right"}[text.anchor],
        va="baseline",
        rotation=-text.angle,
        rotation_mode="anchor",
        zorder=4,
    )


def _label_axes(ax: Any, names: list[str], cell: float) -> None:
    """Names at as many cells as have room for one, and at an angle that keeps them apart."""
    size = min(SMALL, max(cell / LINE, 0.6 * SMALL))
    step = label_step(cell, size)
    shown = [_literal(abridged(name, _LONGEST, size)) for name in names]
    angle = slant_for(shown[1:], cell * step, size)
    rows, columns = range(0, len(names), step), range(1, len(names), step)
    points = size * _POINTS
    ax.set_yticks(rows, [shown[i] for i in rows], fontsize=points)
    ax.set_xticks(columns, [shown[i] for i in columns], fontsize=points, rotation=angle)
    ax.xaxis.set(ticks_position="top", label_position="top")
    ax.tick_params(length=0)
    if 0 < angle < 90:
        for label in ax.get_xticklabels():
            label.set(ha="left", rotation_mode="anchor")


def _write_cells(ax: Any, shown: np.ndarray, size: float) -> None:
    for head, column in zip(*shown.nonzero(), strict=True):
        probability = float(shown[head, column])
        ax.text(
            column + 1,
            head,
            cell_text(probability),
            color=_role_colour(ax, cell_role(probability)),
            fontsize=size * _POINTS,
            ha="center",
            va="center",
        )


def _mark_cells(ax: Any, heads: list[int], cell: float) -> None:
    """Outlines for the tree, dots on the diagonal, which has no edges."""
    patches = load("matplotlib.patches", extra="plot", purpose="to draw")
    tree = _role_colour(ax, "tree")
    stroke = 1.5 if cell > SMALL else 0.8
    nodes = range(1, len(heads))
    ax.scatter(nodes, nodes, s=(0.12 * cell) ** 2, color=_role_colour(ax, "muted"), linewidths=0)
    for dependent, head in enumerate(heads):
        if head >= 0:
            corner = (dependent - 0.45, head - 0.45)
            box = patches.Rectangle(corner, 0.9, 0.9, fill=False, edgecolor=tree, linewidth=stroke)
            ax.add_patch(box)


def _colours(ax: Any) -> Any:
    colors = load("matplotlib.colors", extra="plot", purpose="to draw")
    ends = [_paper(ax), _role_colour(ax, "edge")]
    return colors.LinearSegmentedColormap.from_list("probability", ends)


def _role_colour(ax: Any, role: Role) -> Any:
    """Text in the style's colour, all else in the theme's that suits the background."""
    matplotlib = load("matplotlib", extra="plot", purpose="to draw")
    if role == "text":
        return matplotlib.rcParams["text.color"]
    colors = load("matplotlib.colors", extra="plot", purpose="to draw")
    red, green, blue = colors.to_rgb(_paper(ax))
    is_dark = 0.299 * red + 0.587 * green + 0.114 * blue < 0.5
    return THEMES["dark" if is_dark else "light"][role]


def _paper(ax: Any) -> Any:
    """What is behind the axes: the figure, where they are transparent."""
    own = ax.get_facecolor()
    figure = ax.figure.get_facecolor()
    visible = [colour for colour in (own, figure) if colour[3] > 0]
    return visible[0][:3] if visible else (1.0, 1.0, 1.0)


def _literal(text: str) -> str:
    """Keeps matplotlib from reading what is between dollars as mathematics."""
    return text.replace("$", r"\$")
