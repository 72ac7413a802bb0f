"""Graphs with names, and what is said of those without a tree."""

import pytest
import torch

from spantree.graphs import GraphError, NamedGraph, from_table
from tests.graphs import random_graphs


def chain(*edges: str, root: str | None = None, undirected: bool = False) -> NamedGraph:
    """A graph of edges such as ``"ab"``."""
    table = {"source": [e[0] for e in edges], "target": [e[1] for e in edges]}
    return from_table(table, weight=None, root=root, undirected=undirected)


def test_keeps_names_as_they_are_and_the_root_first():
    names = ["x", 3, (1, 2), None, frozenset("ab")]
    log_weights = random_graphs((), 4)
    graph = NamedGraph(log_weights, tuple(names))
    assert graph.names == tuple(names)
    assert graph.root == "x"
    assert [graph.index(name) for name in names] == [0, 1, 2, 3, 4]
    assert repr(graph) == "NamedGraph(nodes=5, edges=16, root='x')"
    assert len(graph) == 5


def test_converts_to_float64():
    graph = NamedGraph(torch.zeros(3, 3), ("r", "a", "b"))
    assert graph.log_weights.dtype == torch.float64
    assert torch.equal(graph.distribution().marginals[:, 0], torch.zeros(3).double())


def test_edges_and_trees_by_name():
    graph = chain("sa", "sb", "ab", "ba")
    d = graph.distribution()
    edges = graph.edges(d.marginals)
    assert edges[("s", "a")] == pytest.approx(2 / 3)
    assert set(edges) == {("s", "a"), ("s", "b"), ("a", "b"), ("b", "a")}
    table = graph.edge_table(probability=d.marginals)
    assert list(table) == ["source", "target", "weight", "log_weight", "probability"]
    rows = zip(table["source"], table["target"], table["probability"], strict=True)
    assert {(source, target): p for source, target, p in rows} == edges
    heads = torch.tensor([-1, 0, 1])
    assert graph.name_tree(heads) == {"a": "s", "b": "a"}
    assert torch.equal(graph.tree_heads({"a": "s", "b": "a"}), heads)
    inside = dict(zip(graph.edge_names, graph.in_tree(heads).tolist(), strict=True))
    assert [edge for edge in inside if inside[edge]] == [("s", "a"), ("a", "b")]


def test_partial_trees_leave_unknown_heads_out():
    graph = chain("sa", "sb", "ab", "ba")
    assert graph.name_tree([-1, -1, 1]) == {"b": "a"}
    assert graph.tree_heads({"b": "a"}).tolist() == [-1, -1, 1]


def test_an_undirected_edge_is_one_edge():
    graph = chain("ab", "bc", "ca", undirected=True)
    assert repr(graph) == "NamedGraph(nodes=3, edges=3, root='a', undirected=True)"
    assert graph.edges(graph.distribution().marginals) == {
        ("a", "b"): pytest.approx(2 / 3),
        ("a", "c"): pytest.approx(2 / 3),
        ("b", "c"): pytest.approx(2 / 3),
    }
    assert graph.in_tree(torch.tensor([-1, 2, 0])).tolist() == [False, True, True]


@pytest.mark.parametrize(
    ("shape", "names", "message"),
    [
        ((3, 4), "abc", r"log_weights must have shape \(n, n\), got \(3, 4\)"),
        ((3, 3), "ab", "names must be 3 like the nodes of log_weights, got 2"),
        ((3, 3), "aba", "names must be different, got 'a' twice"),
        ((1, 1), "a", r"a graph must have a root and another node, got 1 node\(s\)"),
    ],
)
def test_refuses_what_is_no_graph(shape, names, message):
    with pytest.raises(ValueError, match=message):
        NamedGraph(torch.zeros(shape), tuple(names))


def test_refuses_values_and_heads_of_another_size():
    graph = chain("sa", "ab")
    with pytest.raises(ValueError, match=r"values must have shape \(3, 3\) like log_weights"):
        graph.edges(torch.zeros(2, 2))
    with pytest.raises(ValueError, match="heads must be 3 like the nodes, got 2"):
        graph.name_tree([-1, 0])


def test_an_unknown_name_is_answered_with_close_ones():
    graph = chain("sa", "ab")
    with pytest.raises(KeyError, match="no node is called 'A'; there are 's', 'a', 'b'"):
        graph.index("A")
    words = from_table({"source": ["root", "root"], "target": ["alice", "bob"]}, weight=None)
    with pytest.raises(KeyError, match=r"no node is called 'alcie'; did you mean 'alice'\?"):
        words.index("alcie")


def test_nodes_that_cannot_be_reached_are_named():
    graph = chain("sa", "ab", "xy", "yx", root="s")
    with pytest.raises(
        GraphError,
        match="2 of 4 nodes cannot be reached from the root 's': 'x', 'y'",
    ):
        graph.distribution()


def test_many_unreachable_nodes_are_counted():
    graph = chain("sa", *(f"{a}a" for a in "bcdefghijklm"), root="s")
    with pytest.raises(GraphError, match=r"12 of 13 .* 'k' and 2 more"):
        graph.distribution()


def test_without_validation_nothing_is_looked_for():
    graph = chain("sa", "ab", "xy", "yx", root="s")
    d = graph.distribution(validate_args=False)
    assert d.log_partition.item() == -torch.inf


def test_without_a_tree_of_one_root_edge():
    graph = chain("sa", "sb", "sc", "ac", "bd", root="s")
    graph.distribution("multi")
    message = (
        "no spanning tree with a single edge from the root 's' exists: without the root no node "
        "reaches all others; 'b', for one, does not reach 'a', 'c'; allow several with root='multi'"
    )
    with pytest.raises(GraphError, match=message):
        graph.distribution("single")


def test_the_check_of_single_roots_agrees_with_the_kernel():
    for seed in range(40):
        log_weights = random_graphs((), 6, forbidden=0.75, seed=seed)
        log_weights[0, 1:4] = -torch.inf
        graph = NamedGraph(log_weights, tuple("rabcdef"))
        for root in ("single", "multi"):
            try:
                graph.distribution(root)
                fine = True
            except GraphError:
                fine = False
            log_z = graph.distribution(root, validate_args=False).log_partition
            assert fine == bool(log_z > -torch.inf)
