"""The pictures in matplotlib: what is drawn, in which colours, and no name on another."""

from itertools import combinations
from math import cos, radians, sin

import pytest

from spantree.pictures import plot_arcs, plot_heatmap
from tests.pictures.drawn import distribution, words

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")

PLOT = {"arcs": plot_arcs, "heatmap": plot_heatmap}


@pytest.fixture(autouse=True)
def _figures():
    yield
    plt.close("all")


def boxes(labels):
    """The middle of every text, along and across the direction of its letters, and its size."""
    found = []
    for label in labels:
        angle = label.get_rotation()
        turned = label.get_window_extent()
        label.set_rotation(0)
        flat = label.get_window_extent()
        label.set_rotation(angle)
        middle = ((turned.x0 + turned.x1) / 2, (turned.y0 + turned.y1) / 2)
        turn = radians(angle)
        along = middle[0] * cos(turn) + middle[1] * sin(turn)
        across = -middle[0] * sin(turn) + middle[1] * cos(turn)
        found.append((along, across, flat.width, flat.height))
    return found


def overlaps(labels):
    return [
        (a, b)
        for a, b in combinations(boxes(labels), 2)
        if abs(a[0] - b[0]) < 0.98 * (a[2] + b[2]) / 2
        and abs(a[1] - b[1]) < 0.9 * (a[3] + b[3]) / 2
    ]


@pytest.mark.filterwarnings("ignore:Glyph")
@pytest.mark.parametrize("size", [None, (9, 4), (6, 6)], ids=str)
@pytest.mark.parametrize("n", [5, 20, 60])
@pytest.mark.parametrize("name", PLOT)
def test_no_name_lies_on_another(name, n, size):
    d = distribution(n)
    ax = None if size is None else plt.subplots(figsize=size)[1]
    ax = PLOT[name](ax, d.marginals, d.mode, words(n, "mixed"))
    ax.figure.draw_without_rendering()
    if name == "arcs":
        groups = [[text for text in ax.texts if text.get_text() in words(n, "mixed")[:n]]]
    else:
        groups = [ax.get_xticklabels(), ax.get_yticklabels()]
    for labels in groups:
        assert len(labels) > 3
        assert not overlaps(labels)


def test_arcs_are_as_opaque_as_probable():
    d = distribution(6)
    ax = plot_arcs(None, d.marginals, d.mode, faintest=0.0)
    arcs = [patch for patch in ax.patches if patch.get_gid() == "arc"]
    opacities = sorted(patch.get_alpha() for patch in arcs)
    assert opacities == pytest.approx(sorted(d.marginals[d.marginals > 0].tolist()))
    in_tree = [patch for patch in arcs if patch.get_zorder() == 2]
    assert len(in_tree) == 6


def test_the_heat_map_holds_the_probabilities():
    d = distribution(6)
    ax = plot_heatmap(None, d.marginals, d.mode, title="heat")
    (image,) = ax.get_images()
    assert image.get_array().filled(0).tolist() == d.marginals[:, 1:].tolist()
    assert image.get_clim() == (0.0, 1.0)
    assert len(ax.patches) == 6
    assert ax.get_title() == "heat"
    assert [label.get_text() for label in ax.get_yticklabels()] == ["ROOT", *"123456"]


@pytest.mark.parametrize("name", PLOT)
def test_the_style_is_respected(name):
    d = distribution(5)
    with plt.style.context("dark_background"):
        dark = PLOT[name](None, d.marginals, d.mode)
    light = PLOT[name](None, d.marginals, d.mode)
    colours = [{patch.get_edgecolor()[:3] for patch in ax.patches} for ax in (dark, light)]
    assert colours[0] != colours[1]
    if name == "arcs":
        assert dark.texts[0].get_color() == "white"
        assert light.texts[0].get_color() == "black"


@pytest.mark.parametrize("name", PLOT)
def test_given_axes_are_drawn_on_and_returned(name):
    figure, axes = plt.subplots(1, 2)
    d = distribution(4)
    assert PLOT[name](axes[1], d.marginals) is axes[1]
    assert not axes[0].patches
    assert figure.axes[0] is axes[0]


@pytest.mark.parametrize("name", PLOT)
def test_axes_of_a_subfigure(name):
    part, _ = plt.figure(figsize=(9, 4), layout="constrained").subfigures(1, 2)
    d = distribution(4)
    ax = PLOT[name](part.subplots(), d.marginals, d.mode)
    assert ax.figure is part
    assert len(ax.patches) >= 4


@pytest.mark.parametrize("name", PLOT)
def test_dollars_in_names_are_dollars(name):
    d = distribution(3)
    ax = PLOT[name](None, d.marginals, d.mode, ["$x^", "a$b$", r"\frac$"])
    ax.figure.canvas.draw()  # would fail to parse them as mathematics
