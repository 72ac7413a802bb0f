"""The line chart: points where they belong, ticks that can be read, errors that help."""

import re
from itertools import pairwise
from math import log10

import pytest

from spantree.pictures import curve_svg
from spantree.pictures.curve import log_ticks
from tests.pictures.drawn import SVG, parsed, tip

SERIES = {"fast": ([10, 20, 40, 80], [1e-6, 4e-6, 2e-5, 1e-4]), "slow": ([10, 80], [1e-5, 3e-2])}


def test_points_lie_on_logarithmic_axes():
    dots = [dot for dot in parsed(curve_svg(SERIES)).iter(SVG + "circle") if tip(dot)]
    places = {}
    for dot in dots:
        name, x, y = re.fullmatch(r"(\w+): (\S+), (\S+)", tip(dot)).groups()
        places[name, float(x), float(y)] = float(dot.get("cx")), float(dot.get("cy"))
    given = {(name, x, y) for name, line in SERIES.items() for x, y in zip(*line, strict=True)}
    assert places.keys() == given
    (left, low), (right, high) = places["fast", 10, 1e-6], places["slow", 80, 3e-2]
    for (_, x, y), (px, py) in places.items():
        assert px - left == pytest.approx((right - left) * log10(x / 10) / log10(8), abs=0.2)
        share = log10(y / 1e-6) / log10(3e-2 / 1e-6)
        assert py - low == pytest.approx((high - low) * share, abs=0.2)


def test_names_labels_and_ticks_are_written():
    svg = curve_svg(SERIES, title="Costs", x_label="nodes & more", y_label="seconds")
    written = {"".join(text.itertext()) for text in parsed(svg).iter(SVG + "text")}
    assert {"fast", "slow", "Costs", "nodes & more", "seconds"} <= written
    assert {"10", "20", "40", "80", "10⁻⁶", "10⁻¹"} <= written


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (1.0, 10.0, [1, 2, 5, 10]),
        (3.0, 30.0, [2, 5, 10, 20, 50]),
        (7.0, 7.0, [5, 10]),
        (1.0, 1.0, [1, 2]),
        (1e-6, 1e-2, [1e-6, 1e-5, 1e-4, 1e-3, 1e-2]),
        (2e-6, 3e-2, [1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1]),
    ],
)
def test_ticks_enclose_the_numbers(low, high, ticks):
    assert log_ticks(low, high) == pytest.approx(ticks)


@pytest.mark.parametrize(("low", "high"), [(1e-300, 1e300), (3.0, 4e20), (0.99, 1001.0)])
def test_there_are_never_many_ticks(low, high):
    ticks = log_ticks(low, high)
    assert ticks[0] <= low
    assert ticks[-1] >= high
    assert len(ticks) <= 12


def test_ticks_too_close_to_be_told_apart_are_left_out():
    svg = curve_svg({"a": (list(range(1000, 1100)), [1.0] * 100)})
    ticks = [t for t in parsed(svg).iter(SVG + "text") if re.fullmatch(r"1\d\d\d", t.text or "")]
    places = sorted(float(tick.get("x")) for tick in ticks)
    assert 3 <= len(places) <= 20
    assert min(b - a for a, b in pairwise(places)) > 30


@pytest.mark.parametrize(
    ("series", "message"),
    [
        ({}, "series must hold at least one line, got none"),
        ({"a": ([1, 2], [1])}, "series 'a' must hold as many y as x, at least one, got 1 and 2"),
        ({"a": ([], [])}, "series 'a' must hold as many y as x, at least one, got 0 and 0"),
        ({"a": ([1], [0.0])}, r"series 'a' must hold finite numbers > 0, found \(1\.0, 0\.0\)"),
        ({"a": ([1], [float("nan")])}, r"series 'a' must hold finite numbers > 0, found"),
    ],
)
def test_errors(series, message):
    with pytest.raises(ValueError, match=message):
        curve_svg(series)
