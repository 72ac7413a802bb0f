"""A line chart on logarithmic axes, for how a cost grows with a size."""

from collections.abc import Mapping, Sequence
from math import ceil, floor, isfinite, log10
from typing import Any, NamedTuple

from spantree.pictures.layout import LARGE, MARGIN, SMALL, finished
from spantree.pictures.lettering import LINE, written_width
from spantree.pictures.shapes import Disc, Drawing, Path, Role, Shape, Text
from spantree.pictures.svg import Theme, check_theme, to_svg

__all__ = ["curve_svg", "log_ticks", "tick_texts"]

_ROLES: list[Role] = ["one", "two", "three", "four", "five"]
_DASHES = ["", "7 4", "2 3"]  # told apart without colours, too
_WIDTH, _HEIGHT = 520.0, 300.0  # of the frame
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


class _Axis(NamedTuple):
    """From numbers to pixels: logarithms between two numbers, on a line between two points."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        share = log10(value / self.low) / log10(self.high / self.low)
        return self.start + share * (self.end - self.start)


def curve_svg(
    series: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    *,
    title: str | None = None,
    x_label: str = "",
    y_label: str = "",
    theme: Theme = "auto",
) -> str:
    """Lines through points on logarithmic axes, as SVG.

    Args:
        series: by name, the x and the y of the points of a line, all > 0.
        title: a heading.
        x_label: what x is, with its unit.
        y_label: what y is.
        theme: as for `arcs_svg`.

    Returns:
        An ``<svg>`` element that needs nothing else; lines differ in colour and, past the fifth,
        in dashes. The numbers of a point appear when it is pointed at.
    """
    check_theme(theme)
    lines = {str(name): _points(str(name), *given) for name, given in series.items()}
    if not lines:
        raise ValueError("series must hold at least one line, got none")
    every = [point for points in lines.values() for point in points]
    top = MARGIN + (LARGE + 12.0 if title else 0.0)
    legend, top = _legend(list(lines), top)
    top += LINE * SMALL + 14.0 if y_label else 10.0
    ys = log_ticks(min(y for _, y in every), max(y for _, y in every))
    left = float(ceil(MARGIN + max(written_width(text, SMALL) for text in tick_texts(ys)) + 10.0))
    low, high = min(x for x, _ in every), max(x for x, _ in every)
    across = _Axis(low / 1.12, high * 1.12, left, left + _WIDTH)
    upright = _Axis(ys[0], ys[-1], top + _HEIGHT, top)
    shapes = _frame(across, upright, _shown_ticks({x for x, _ in every}, across), ys)
    for index, (name, points) in enumerate(lines.items()):
        shapes += _line(name, points, across, upright, *_style(index))
    if y_label:
        shapes.append(Text(left, top - 12.0, y_label, SMALL, "muted", "start"))
    bottom = top + _HEIGHT + 20.0
    if x_label:
        bottom += 1.5 * SMALL
        middle = left + _WIDTH / 2
        shapes.append(Text(middle, bottom, x_label, SMALL, "muted"))
    what = title or f"{y_label or 'y'} against {x_label or 'x'}"
    drawing = Drawing(left + _WIDTH + MARGIN, bottom + 4.0, what, _described(lines))
    return to_svg(finished(drawing, [*shapes, *legend], title, []), theme)


def log_ticks(low: float, high: float) -> list[float]:
    """Round numbers from at most ``low`` to at least ``high``; powers of ten if these are many."""
    first, last = floor(log10(low) + 1e-9), ceil(log10(high) - 1e-9)
    last = max(last, first + 1)
    decades = last - first
    if decades > 3:
        step = ceil(decades / 8)
        return [10.0**e for e in range(first, last + step, step)]
    ticks = [m * 10.0**e for e in range(first, last) for m in (1.0, 2.0, 5.0)] + [10.0**last]
    start = max(i for i, tick in enumerate(ticks) if tick <= low * (1 + 1e-9) or i == 0)
    stop = min(i for i, tick in enumerate(ticks) if tick >= high * (1 - 1e-9))
    return ticks[start : max(stop, start + 1) + 1]


def tick_texts(ticks: list[float]) -> list[str]:
    """Round numbers as they are if all of them are short, else all as powers of ten.

    Example:
        >>> tick_texts([0.05, 1.0, 20.0, 1000.0]), tick_texts([1e-5, 1.0, 2e5])
        (['0.05', '1', '20', '1000'], ['10⁻⁵', '1', '2·10⁵'])
    """
    if min(ticks) >= 1e-3 and max(ticks) < 1e5:
        return [f"{tick:.6g}" for tick in ticks]
    return [_power(tick) for tick in ticks]


def _power(value: float) -> str:
    digits, _, exponent = f"{value:.3e}".partition("e")
    if int(exponent) == 0:
        return f"{float(digits):g}"
    power = "10" + str(int(exponent)).translate(_SUPERSCRIPTS)
    factor = f"{float(digits):g}"
    return power if factor == "1" else f"{factor}·{power}"


def _short(value: float) -> str:
    return tick_texts([value])[0]


def _points(name: str, xs: Sequence[Any], ys: Sequence[Any]) -> list[tuple[float, float]]:
    if len(xs) != len(ys) or not len(xs):
        raise ValueError(
            f"series {name!r} must hold as many y as x, at least one, got {len(ys)} and {len(xs)}"
        )
    points = sorted((float(x), float(y)) for x, y in zip(xs, ys, strict=True))
    for point in points:
        if not all(isfinite(value) and value > 0 for value in point):
            raise ValueError(f"series {name!r} must hold finite numbers > 0, found {point}")
    return points


def _style(index: int) -> tuple[Role, str]:
    return _ROLES[index % len(_ROLES)], _DASHES[index // len(_ROLES) % len(_DASHES)]


def _shown_ticks(values: set[float], axis: _Axis) -> list[float]:
    """Those of the values whose labels stand clear of each other, from the right."""
    shown: list[float] = []
    edge = float("inf")
    for value in sorted(values, reverse=True):
        half = written_width(_short(value), SMALL) / 2
        if axis.at(value) + half + 8.0 <= edge:
            shown.append(value)
            edge = axis.at(value) - half
    return shown


def _frame(across: _Axis, upright: _Axis, xs: list[float], ys: list[float]) -> list[Shape]:
    left, right, bottom, top = across.start, across.end, upright.start, upright.end
    shapes: list[Shape] = []
    for y, text in zip(ys, tick_texts(ys), strict=True):
        at = upright.at(y)
        shapes.append(Path([(left, at), (right, at)], "grid"))
        shapes.append(Text(left - 8.0, at + 0.36 * SMALL, text, SMALL, "muted", "end"))
    for x in xs:
        at = across.at(x)
        shapes.append(Path([(at, bottom), (at, bottom + 5.0)], "muted"))
        shapes.append(Text(at, bottom + 18.0, _short(x), SMALL, "muted"))
    shapes.append(Path([(left, top), (left, bottom), (right, bottom)], "muted"))
    return shapes


def _line(
    name: str,
    points: list[tuple[float, float]],
    across: _Axis,
    upright: _Axis,
    role: Role,
    dashes: str,
) -> list[Shape]:
    placed = [(across.at(x), upright.at(y)) for x, y in points]
    dots = [
        Disc(*place, 3.5, role, tip=f"{name}: {x:.4g}, {y:.4g}")
        for place, (x, y) in zip(placed, points, strict=True)
    ]
    return [Path(placed, role, stroke=2.2, dashes=dashes), *dots]


def _legend(names: list[str], top: float) -> tuple[list[Shape], float]:
    """Names beside a piece of their lines, in as many rows as they need, and where these end."""
    shapes: list[Shape] = []
    x, y = MARGIN, top + SMALL
    for index, name in enumerate(names):
        role, dashes = _style(index)
        width = 30.0 + written_width(name, SMALL) + 18.0
        if x > MARGIN and x + width > MARGIN + _WIDTH:
            x, y = MARGIN, y + 1.6 * SMALL
        middle = y - 0.36 * SMALL
        shapes.append(Path([(x, middle), (x + 22.0, middle)], role, stroke=2.2, dashes=dashes))
        shapes.append(Disc(x + 11.0, middle, 3.5, role))
        shapes.append(Text(x + 30.0, y, name, SMALL, anchor="start"))
        x += width
    return shapes, y + 0.8 * SMALL


def _described(lines: dict[str, list[tuple[float, float]]]) -> str:
    """From where to where every line goes."""
    ends = []
    for name, points in lines.items():
        (x, y), (last_x, last_y) = points[0], points[-1]
        ends.append(f"{name}: {y:.3g} at {x:g}, {last_y:.3g} at {last_x:g}.")
    return " ".join(ends)
