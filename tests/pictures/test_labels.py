"""Labels: none hides another, whatever their number and length."""

import string

import pytest

from spantree.pictures.arcs import draw_arcs
from spantree.pictures.heatmap import draw_heatmap
from spantree.pictures.lettering import abridged, clean, percent, wrapped, written_width
from spantree.pictures.shapes import Arc, Drawing, Text
from tests.pictures.drawn import graph, outside, overlapping, texts, words

DRAW = {"arcs": draw_arcs, "heatmap": draw_heatmap}


@pytest.mark.parametrize("kind", ["none", "short", "long", "mixed"])
@pytest.mark.parametrize("n", [1, 2, 5, 10, 14, 20, 60, 100])
@pytest.mark.parametrize("draw", DRAW.values(), ids=DRAW)
def test_no_label_overlaps_another_or_leaves_the_picture(draw, n, kind):
    names = None if kind == "none" else words(n, kind)
    drawing = draw(
        graph(n, names, scale=12.0), title="A heading that is longer than a small picture is wide"
    )
    assert not overlapping(drawing)
    assert not outside(drawing)


@pytest.mark.parametrize("n", [5, 20, 60])
@pytest.mark.parametrize("draw", DRAW.values(), ids=DRAW)
def test_every_name_is_there_in_a_size_that_can_be_read(draw, n):
    names = [f"name{i}" for i in range(n)]
    shown = {text.text: text.size for text in texts(draw(graph(n, names), title=None))}
    assert {"ROOT", *names} <= shown.keys()
    assert min(shown.values()) >= 12


@pytest.mark.parametrize("n", [5, 60])
def test_names_are_level_while_there_is_room(n):
    names = {text.text: text for text in texts(draw_arcs(graph(n), title=None))}
    assert (names["1"].angle == 0) == (n == 5)


@pytest.mark.parametrize("n", [5, 60])
def test_no_arc_reaches_the_names(n):
    drawing = draw_arcs(graph(n), title="heading")
    arcs = [shape for shape in drawing.shapes if isinstance(shape, Arc)]
    heading, *others = sorted(texts(drawing), key=lambda text: text.y)
    assert heading.text == "heading"
    assert heading.y < min(arc.y - arc.height for arc in arcs)
    assert max(arc.y for arc in arcs) < min(text.y - text.size for text in others)
    assert max(arc.height for arc in arcs) <= 300


def test_rows_of_many_small_cells_have_fewer_labels():
    drawing = draw_heatmap(graph(200), title=None)
    rows = [text.text for text in texts(drawing) if text.anchor == "end" and not text.angle]
    assert rows == ["ROOT", *map(str, range(3, 201, 3))]
    assert not overlapping(drawing)


def test_overlaps_are_found():
    def drawing(*shapes: Text) -> Drawing:
        return Drawing(100, 100, "", "", list(shapes))

    assert overlapping(drawing(Text(20, 20, "abc", 10), Text(25, 22, "def", 10)))
    assert overlapping(drawing(Text(20, 20, "abc", 10), Text(25, 22, "def", 10, angle=-60)))
    assert not overlapping(drawing(Text(20, 20, "abc", 10), Text(60, 20, "def", 10)))
    assert outside(drawing(Text(2, 20, "abc", 10)))


def test_widths_are_upper_bounds_in_a_wide_font():
    text_path = pytest.importorskip("matplotlib.textpath")
    font = pytest.importorskip("matplotlib.font_manager").FontProperties(family="DejaVu Sans")
    samples = [*words(16, "short"), *words(3, "long")[:3], "Äußerungen", "naïve", "ROOT", "97.3 %"]
    samples += ["Opacity is the probability of the edge.", "Какая-то фраза", "Ευχαριστώ πολύ"]
    samples += [4 * letter for letter in string.ascii_letters + string.digits + string.punctuation]
    for sample in samples:
        literal = sample.replace("$", r"\$")
        real = text_path.TextPath((0, 0), literal, size=20, prop=font).get_extents().width
        assert real <= written_width(sample, 20) * 1.001, sample


def test_abridged_names_fit_and_keep_their_beginning():
    short = abridged("internationalization", 60, 12)
    assert short.endswith("…")
    assert "internationalization".startswith(short[:-1])
    assert len(short) > 3
    assert written_width(short, 12) <= 60
    assert abridged("fits", 60, 12) == "fits"


def test_marks_take_no_width_and_wide_letters_two():
    assert written_width("e\u0301", 10) == written_width("e", 10)
    assert written_width("国", 10) > 1.5 * written_width("e", 10)


def test_lines_are_wrapped_between_phrases():
    assert wrapped(["one.", "two.", "three."], 80, 12) == ["one.  two.", "three."]
    assert wrapped(["a phrase too long for it"], 20, 12) == ["a phrase too long for it"]


def test_names_are_cleaned():
    assert clean("a\tb\nc\x00\ud800\uffff") == "a b c\ufffd\ufffd\ufffd"


@pytest.mark.parametrize(
    ("probability", "expected"),
    [
        (0.0, "0.0 %"),
        (1e-300, "< 0.1 %"),
        (0.00051, "0.1 %"),
        (0.97349, "97.3 %"),
        (0.99949, "99.9 %"),
        (0.9999, "> 99.9 %"),
        (1 - 1e-15, "100.0 %"),
        (1.0, "100.0 %"),
    ],
)
def test_percent(probability, expected):
    assert percent(probability) == expected
