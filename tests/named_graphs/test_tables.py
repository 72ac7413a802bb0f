"""Edge tables of every kind, and what is wrong with some."""

import math

import numpy as np
import pandas
import polars
import pyarrow
import pytest
import torch

import spantree.graphs.sizes
from spantree.graphs import GraphError, Ignored, from_table

ROWS = {
    "source": ["s", "s", "a", "b"],
    "target": ["a", "b", "b", "a"],
    "weight": [3.0, 1.0, 1.0, 2.0],
}
KINDS = {
    "dict": dict,
    "dict of arrays": lambda rows: {name: np.array(column) for name, column in rows.items()},
    "pandas": pandas.DataFrame,
    "pandas categories": lambda rows: pandas.DataFrame(
        {name: pandas.Categorical(column) for name, column in rows.items()}
    ),
    "polars": polars.DataFrame,
    "pyarrow": pyarrow.table,
}


def table(*rows: tuple) -> dict[str, list]:
    return dict(
        zip(("source", "target", "weight"), map(list, zip(*rows, strict=True)), strict=True)
    )


@pytest.fixture(params=KINDS)
def kind(request):
    return KINDS[request.param]


def test_every_kind_of_table_is_the_same_graph(kind):
    graph = from_table(kind(ROWS))
    assert graph.names == ("s", "a", "b")
    assert [type(name) for name in graph.names] == [str] * 3
    weights = torch.tensor([[0.0, 3, 1], [0, 0, 1], [0, 2, 0]], dtype=torch.float64)
    torch.testing.assert_close(graph.log_weights.exp(), weights)
    assert graph.log_weights[0, 0] == -math.inf


def test_numbers_as_names_stay_python_numbers(kind):
    rows = {"source": [10, 10, 20], "target": [20, 30, 30], "weight": [1, 2, 3]}
    graph = from_table(kind(rows))
    assert graph.names == (10, 20, 30)
    assert [type(name) for name in graph.names] == [int] * 3
    assert from_table(kind(rows), root="20").root == 20


def test_columns_by_name(kind):
    rows = {"from": ["s", "a"], "to": ["a", "b"], "score": [-1000.0, 0.5]}
    graph = from_table(kind(rows), "from", "to", log_weight="score")
    assert graph.edges(graph.log_weights) == {("s", "a"): -1000.0, ("a", "b"): 0.5}
    graph = from_table(kind(rows), source="from", target="to", weight=None)
    assert graph.edges(graph.log_weights) == {("s", "a"): 0.0, ("a", "b"): 0.0}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"source": "from"}, "no column 'from'; there are 'source', 'target', 'weight'; "
                             "name the column with source=..."),
        ({"target": "tagret"}, r"no column 'tagret'; did you mean 'target'\? \(there are source, "
                               r"target, weight\); name the column with target=..."),
        ({"weight": "rate"}, "no column 'rate'; .* weight=... or log_weight=..., or give every "
                             "edge weight 1 with weight=None"),
        ({"log_weight": "u"}, "no column 'u'; there are 'source', 'target', 'weight'"),
        ({"root": "x"}, "no node is called 'x'; there are 's', 'a', 'b'"),
        ({"merge": "min"}, "merge must be None, 'sum' or 'max', got 'min'"),
    ],
)  # fmt: skip
def test_options_that_do_not_fit(kind, options, message):
    with pytest.raises(ValueError, match=message):
        from_table(kind(ROWS), **options)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (("s", "b", -1.0), "row 1: the weight of 's' -> 'b' must be a finite number >= 0, got -1"),
        (("s", "b", math.nan), "row 1: the weight of .* must be a finite number >= 0, got nan"),
        (("s", "b", math.inf), "row 1: the weight of .* must be a finite number >= 0, got inf"),
        (("s", "b", None), "row 1: the weight of .* must be a finite number >= 0, got n"),
        ((None, "b", 1.0), "row 1: the source is missing"),
        (("s", None, 1.0), "row 1: the target is missing"),
        (("s", "a", 1.0), "row 1: the edge 's' -> 'a' repeats that of row 0; merge duplicate edges "
                          "with merge='sum' or merge='max'"),
    ],
)  # fmt: skip
def test_rows_that_are_no_edges(kind, row, message):
    with pytest.raises(GraphError, match=message):
        from_table(kind(table(("s", "a", 1.0), row)))


@pytest.mark.parametrize("value", ["heavy", [1.0], 1j])
def test_a_weight_that_is_no_number(value):
    with pytest.raises(GraphError, match="row 1: the weight of 's' -> 'b' must be a number, got"):
        from_table(table(("s", "a", 1.0), ("s", "b", value)))


def test_log_weights_may_be_anything_below_infinity():
    rows = table(("s", "a", -math.inf), ("s", "b", -1e300), ("b", "a", 0.0))
    graph = from_table(rows, log_weight="weight")
    assert graph.ignored == Ignored(zero_weight=1)
    for value, found in ((math.inf, "inf"), (math.nan, "nan")):
        rows["weight"][2] = value
        with pytest.raises(GraphError, match=f"row 2: .* must be a number below inf, got {found}"):
            from_table(rows, log_weight="weight")


def test_text_that_reads_as_numbers_is_numbers():
    graph = from_table(table(("s", "a", "1.5"), ("a", "b", " 2 ")))
    assert graph.edge_table()["weight"] == pytest.approx([1.5, 2.0])


def test_names_must_be_hashable():
    rows = {"source": [["s"]], "target": ["a"], "weight": [1]}
    with pytest.raises(GraphError, match="row 0: the source must be a name that can be hashed"):
        from_table(rows)


def test_columns_of_different_length_and_none_at_all():
    with pytest.raises(GraphError, match=r"columns must have the same length, got \{'source': 2"):
        from_table({"source": ["s", "s"], "target": ["a"], "weight": [1.0]})
    with pytest.raises(GraphError, match="the table has no edges"):
        from_table({"source": [], "target": [], "weight": []})
    with pytest.raises(TypeError, match=r"table must be a pandas or polars frame.* got int"):
        from_table(3)


@pytest.mark.parametrize(("merge", "weight"), [("sum", 6.0), ("max", 3.0)])
def test_duplicates_merge(merge, weight):
    rows = table(("s", "a", 2.0), ("a", "b", 1.0), ("s", "a", 3.0), ("s", "a", 1.0))
    graph = from_table(rows, merge=merge)
    assert graph.edges(graph.log_weights.exp()) == {
        ("s", "a"): pytest.approx(weight),
        ("a", "b"): 1.0,
    }


def test_log_weights_merge_without_overflow():
    rows = table(("s", "a", 1e4), ("s", "a", 1e4))
    graph = from_table(rows, log_weight="weight", merge="sum")
    assert graph.log_weights[0, 1].item() == pytest.approx(1e4 + math.log(2), rel=1e-15)


def test_an_undirected_edge_and_its_reverse_are_duplicates():
    rows = table(("a", "b", 1.0), ("b", "a", 2.0))
    with pytest.raises(GraphError, match="row 1: the undirected edge 'b' -> 'a' repeats"):
        from_table(rows, undirected=True)
    assert from_table(rows, root="a").edge_count == 1
    merged = from_table(rows, undirected=True, merge="sum")
    assert merged.edges(merged.log_weights) == {("a", "b"): pytest.approx(math.log(3))}


def test_what_no_tree_has_is_left_out_and_counted():
    rows = table(("s", "a", 1.0), ("a", "a", 5.0), ("a", "s", 1.0), ("s", "b", 1.0), ("a", "b", 0))
    graph = from_table(rows, root="s")
    assert graph.ignored == Ignored(self_loops=1, into_root=1, zero_weight=1)
    assert graph.edge_count == 2
    assert from_table(rows, undirected=True, merge="max").ignored.into_root == 0


def test_self_loops_repeat_without_harm():
    rows = table(("s", "a", 1.0), ("a", "a", 5.0), ("a", "a", 5.0))
    assert from_table(rows).ignored.self_loops == 2


def test_the_root_is_the_node_without_incoming_edges():
    assert from_table(table(("a", "b", 1.0), ("r", "a", 1.0))).names == ("r", "a", "b")
    # Nor do edges count that are none.
    assert from_table(table(("a", "b", 1.0), ("r", "a", 1.0), ("b", "r", 0.0))).root == "r"


def test_a_root_that_is_not_clear():
    with pytest.raises(
        GraphError,
        match="the root is not clear: 2 nodes have no incoming edge, 'p', 'q'; name one with root=",
    ):
        from_table(table(("p", "a", 1.0), ("q", "a", 1.0)))
    with pytest.raises(
        GraphError,
        match="every node has an incoming edge; those that reach all others are 'a', 'b'; name the",
    ):
        from_table(table(("a", "b", 1.0), ("b", "a", 1.0), ("b", "c", 1.0)))
    with pytest.raises(GraphError, match="every node has an incoming edge; and none reaches all"):
        from_table(table(("a", "b", 1), ("b", "a", 1), ("c", "d", 1), ("d", "c", 1)))


def test_an_unknown_root_is_answered_with_close_names():
    rows = table(("root", "alice", 1.0), ("root", "bob", 1.0))
    with pytest.raises(GraphError, match=r"no node is called 'Root'; did you mean 'root'\?"):
        from_table(rows, root="Root")


def test_a_graph_that_does_not_fit_is_refused(monkeypatch):
    monkeypatch.setattr(spantree.graphs.sizes, "_memory", lambda: 2**30)
    rows = {"source": ["s"] * 5000, "target": list(range(5000))}
    with pytest.raises(
        GraphError,
        match=r"a graph of 5,001 nodes is too large: it takes 2.2 GiB as dense matrices, and this "
        "machine has 1.0 GiB of memory",
    ):
        from_table(rows, weight=None)
