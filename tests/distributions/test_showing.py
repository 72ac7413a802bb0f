"""Distributions show themselves: the right graph of the batch, the right names, never a failure."""

import subprocess
import sys

import pytest
import torch

import spantree as st
from spantree import pictures
from tests.pictures.drawn import SVG, parsed

KINDS = {"arcs": pictures.arcs_svg, "heatmap": pictures.heatmap_svg}


@pytest.fixture
def batch():
    generator = torch.Generator().manual_seed(0)
    lengths = torch.tensor([[3, 5], [1, 4]])
    return st.SpanningTree(torch.randn(2, 2, 6, 6, generator=generator), lengths)


def pictures_in(html: str) -> int:
    return html.count("<svg ")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("solved", [False, True])
def test_svg_is_that_of_the_item_without_padding(batch, kind, solved):
    if solved:
        assert batch.marginals.shape == (2, 2, 6, 6)
    one = st.SpanningTree(batch.log_weights[0, 0, :4, :4].double())
    expected = KINDS[kind](one.marginals, one.mode, ["a", "b", "c"], title="t", theme="dark")
    got = batch.svg(kind, names=["a", "b", "c"], item=(0, 0), title="t", theme="dark")
    assert got == expected


def test_the_item_may_be_an_int_and_negative(batch):
    row = st.SpanningTree(batch.log_weights[0], batch.lengths[0])
    assert row.svg(item=-1) == row.svg(item=1) == batch.svg(item=(0, 1))


def test_a_single_graph_needs_no_item():
    d = st.SpanningTree(torch.zeros(4, 4))
    assert d.svg() == d.svg(item=())


def test_labels_are_summed_over():
    weights = torch.randn(5, 5, 3, generator=torch.Generator().manual_seed(1)).double()
    labeled = st.LabeledSpanningTree(weights)
    plain = labeled.unlabeled
    probabilities = [
        sorted(float(g.get("opacity")) for g in parsed(d.svg()).iter(SVG + "g"))
        for d in (labeled, plain)
    ]
    assert probabilities[0] == pytest.approx(probabilities[1])
    assert pictures_in(labeled._repr_html_()) == 1


def test_a_conditioned_distribution_is_drawn_as_such():
    d = st.SpanningTree(torch.zeros(4, 4)).condition(torch.tensor([-1, 0, 1, -1]))
    arcs = [g.get("opacity") for g in parsed(d.svg()).iter(SVG + "g")]
    assert arcs.count("1") == 2


def test_gradients_do_not_stand_in_the_way():
    d = st.SpanningTree(torch.zeros(4, 4, requires_grad=True))
    assert d.svg() == st.SpanningTree(torch.zeros(4, 4)).svg()


@pytest.mark.parametrize(
    ("item", "error", "message"),
    [
        (
            None,
            ValueError,
            r"item must say which graph .* \(2, 2\) .*=\(0, 0\), got None",
        ),
        (0, ValueError, r"item must be the index of a graph in the batch \(2, 2\), got 0"),
        (
            (0, 2),
            ValueError,
            r"item must be the index of a graph in .* \(2, 2\), got \(0, 2",
        ),
        ("a", TypeError, "item must be an int or a tuple of ints, got 'a'"),
        ((0, 0.5), TypeError, r"item must be an int or a tuple of ints, got \(0, 0\.5\)"),
    ],
)
@pytest.mark.parametrize("method", ["svg", "plot"])
def test_items_that_are_none(batch, method, item, error, message):
    with pytest.raises(error, match=message):
        getattr(batch, method)(item=item)


@pytest.mark.parametrize("method", ["svg", "plot"])
def test_other_errors(batch, method):
    with pytest.raises(ValueError, match=r"kind must be one of 'arcs', 'heatmap', got 'pie'"):
        getattr(batch, method)("pie", item=(0, 0))
    with pytest.raises(ValueError, match=r"names must hold 4 names, .* the 3 of .*, got 5"):
        getattr(batch, method)(item=(0, 0), names=["a", "b", "c", "d", "e"])
    nothing = torch.full((3, 3), -torch.inf)
    with pytest.raises(ValueError, match=r"no spanning tree exists: nodes \[1, 2\]"):
        getattr(st.SpanningTree(nothing), method)()
    with pytest.raises(ValueError, match="the graph has no spanning tree, so there is nothing to"):
        getattr(st.SpanningTree(nothing, validate_args=False), method)()


def test_a_notebook_shows_the_first_of_a_batch(batch):
    html = batch._repr_html_()
    assert html.startswith("<div><code>SpanningTree(batch_shape=(2, 2), nodes=6")
    assert "The first 3 of 4 graphs:" in html
    assert [f"item ({i}, {j})" in html for i in (0, 1) for j in (0, 1)] == [True] * 3 + [False]
    assert pictures_in(html) == 3


@pytest.mark.parametrize(
    ("n", "expected", "drawn"),
    [(60, "Opacity is the prob", 1), (61, "Heads by rows", 1), (101, "102 nodes are too many", 0)],
)
def test_a_notebook_shows_large_graphs_otherwise(n, expected, drawn):
    html = st.SpanningTree(torch.zeros(n + 1, n + 1))._repr_html_()
    assert expected in html
    assert pictures_in(html) == drawn


@pytest.mark.parametrize("validate", [True, False])
def test_a_notebook_shows_text_where_there_is_no_tree(validate):
    weights = torch.zeros(2, 4, 4)
    weights[0, :, 2] = -torch.inf
    html = st.SpanningTree(weights, validate_args=validate)._repr_html_()
    assert pictures_in(html) == 1
    assert ("item 0: no spanning tree exists" in html) == validate
    assert ("item 0: the graph has no spanning tree" in html) != validate


@pytest.mark.parametrize(
    "d",
    [
        st.SpanningTree(torch.zeros(0, 4, 4)),
        st.SpanningTree(torch.full((3, 3), torch.nan)),
        st.SpanningTree(torch.full((3, 3), torch.nan), validate_args=False),
        st.SpanningTree(torch.zeros(2, 3, 3), torch.tensor([0, 9])),
        st.SpanningTree(torch.zeros(2, 2, dtype=torch.bfloat16)),
    ],
    ids=["empty", "NaN", "NaN unchecked", "lengths", "bfloat16"],
)
def test_a_notebook_never_fails(d):
    html = d._repr_html_()
    assert "SpanningTree(" in html
    assert html.count("<div") == html.count("</div>")


@pytest.mark.parametrize("kind", KINDS)
def test_plot(batch, kind):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    ax = batch.plot(kind, item=(0, 1), title="an item")
    assert isinstance(ax, matplotlib.axes.Axes)
    assert ax.get_title() == "an item"
    matplotlib.pyplot.close(ax.figure)


def run(script: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout


def test_svg_needs_no_matplotlib():
    script = "import sys, torch, spantree; spantree.SpanningTree(torch.zeros(4, 4))._repr_html_()"
    assert run(script + "; print('matplotlib' in sys.modules)") == "False\n"


def test_plot_without_matplotlib_names_the_extra():
    script = """
import sys, torch, spantree
sys.modules["matplotlib"] = sys.modules["matplotlib.pyplot"] = None
try:
    spantree.SpanningTree(torch.zeros(4, 4)).plot()
except ImportError as error:
    print(error)
"""
    expected = "matplotlib is needed to draw a figure: pip install 'spantree[plot]'\n"
    assert run(script) == expected
