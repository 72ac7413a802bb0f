"""From and to networkx, and agreement with it on undirected graphs."""

import math

import networkx as nx
import numpy as np
import pytest
import torch
from networkx.algorithms.tree.mst import SpanningTreeIterator

from spantree.graphs import (
    GraphError,
    from_networkx,
    from_table,
    log_tree_count,
    to_networkx,
    tree_count,
)
from tests.frequencies import assert_fits


def weighted(graph, seed=0):
    generator = np.random.default_rng(seed)
    for _, _, data in graph.edges(data=True):
        data["weight"] = float(generator.uniform(0.2, 5.0))
    return graph


UNDIRECTED = {
    "petersen": nx.petersen_graph(),
    "grid": nx.grid_2d_graph(3, 4),
    "karate": nx.karate_club_graph(),
    "tree": nx.balanced_tree(2, 3),
    "complete": nx.complete_graph(7),
}


@pytest.fixture(params=UNDIRECTED)
def undirected(request):
    return weighted(UNDIRECTED[request.param].copy())


def test_the_number_of_trees_is_that_of_networkx(undirected):
    graph = from_networkx(undirected)
    assert tree_count(graph) == pytest.approx(nx.number_of_spanning_trees(undirected))
    assert log_tree_count(graph) == pytest.approx(math.log(tree_count(graph)), rel=1e-12, abs=1e-12)


def test_log_z_is_the_weighted_number_of_trees_of_networkx(undirected):
    log_z = from_networkx(undirected).distribution().log_partition.item()
    count = nx.number_of_spanning_trees(undirected, weight="weight")
    assert log_z == pytest.approx(math.log(count), rel=1e-10)


def test_edge_probabilities_are_weight_times_resistance(undirected):
    graph = from_networkx(undirected)
    probabilities = graph.edges(graph.distribution().marginals)
    assert len(probabilities) == undirected.number_of_edges()
    for (u, v), p in probabilities.items():
        resistance = nx.resistance_distance(undirected, u, v, "weight", invert_weight=False)
        assert p == pytest.approx(undirected.edges[u, v]["weight"] * resistance, rel=1e-8)


def test_nothing_depends_on_the_root(undirected):
    first = from_networkx(undirected)
    nodes = list(undirected)
    for root in (nodes[1], nodes[-1]):
        other = from_networkx(undirected, root=root)
        assert other.root == root
        d, e = first.distribution(), other.distribution()
        assert e.entropy().item() == pytest.approx(d.entropy().item(), rel=1e-11, abs=1e-12)
        unordered = [
            {frozenset(edge): p for edge, p in graph.edges(q.marginals).items()}
            for graph, q in ((first, d), (other, e))
        ]
        assert unordered[0] == pytest.approx(unordered[1], rel=1e-11)


def test_the_best_tree_is_that_of_networkx(undirected):
    graph = from_networkx(undirected)
    logarithms = undirected.copy()
    for _, _, data in logarithms.edges(data=True):
        data["weight"] = math.log(data["weight"])
    best = to_networkx(graph, heads=graph.distribution().mode)
    assert nx.is_tree(best)
    wanted = nx.maximum_spanning_tree(logarithms)
    assert {frozenset(e) for e in best.edges} == {frozenset(e) for e in wanted.edges}


def test_the_law_is_that_of_networkx():
    network = weighted(nx.cycle_graph(5))
    network.add_edge(0, 2, weight=1.7)
    graph = from_networkx(network)
    d = graph.distribution()
    trees = {}
    for tree in SpanningTreeIterator(network, weight="weight"):
        edges = frozenset(frozenset(edge) for edge in tree.edges)
        trees[edges] = math.prod(w for _, _, w in tree.edges(data="weight"))
    total = sum(trees.values())
    heads = d.enumerate_support()
    found = {
        frozenset(frozenset(pair) for pair in graph.name_tree(tree).items()): p
        for tree, p in zip(heads, d.log_prob(heads).exp().tolist(), strict=True)
    }
    assert found == pytest.approx({tree: weight / total for tree, weight in trees.items()})
    entropy = -sum(w / total * math.log(w / total) for w in trees.values())
    assert d.entropy().item() == pytest.approx(entropy)


def test_random_spanning_trees_of_networkx_have_our_probabilities():
    network = weighted(nx.complete_graph(4))
    graph = from_networkx(network)
    d = graph.distribution()
    heads = d.enumerate_support()
    trees = [frozenset(frozenset(pair) for pair in graph.name_tree(tree).items()) for tree in heads]
    counts = dict.fromkeys(trees, 0)
    for seed in range(400):
        tree = nx.random_spanning_tree(network, "weight", seed=seed)
        counts[frozenset(frozenset(edge) for edge in tree.edges)] += 1
    assert_fits(torch.tensor([counts[tree] for tree in trees]), d.log_prob(heads).exp())


def test_a_digraph_there_and_back():
    network = weighted(nx.gnp_random_graph(8, 0.6, seed=1, directed=True))
    network.remove_edges_from(list(network.in_edges(0)))
    graph = from_networkx(network)
    assert graph.root == 0
    d = graph.distribution()
    back = to_networkx(graph, marginals=d.marginals)
    assert back.graph["root"] == 0
    assert set(back.edges) == set(network.edges)
    for u, v, data in back.edges(data=True):
        assert data["weight"] == pytest.approx(network.edges[u, v]["weight"])
        assert data["log_weight"] == pytest.approx(math.log(data["weight"]))
        assert data["probability"] == d.marginals[graph.index(u), graph.index(v)].item()
    assert from_networkx(back).names == graph.names
    arborescence = to_networkx(graph, marginals=d.marginals, heads=d.sample())
    assert nx.is_arborescence(arborescence)
    assert all("probability" in data for _, _, data in arborescence.edges(data=True))
    assert nx.number_of_spanning_trees(network, root=0) == pytest.approx(tree_count(graph))


def test_parallel_edges_of_multigraphs():
    network = nx.MultiDiGraph()
    network.add_edge("r", "a", weight=1.0)
    network.add_edge("r", "a", weight=2.0)
    with pytest.raises(GraphError, match="edge 2: the edge 'r' -> 'a' repeats that of edge 1"):
        from_networkx(network)
    for merge, weight in (("sum", 3.0), ("max", 2.0)):
        graph = from_networkx(network, merge=merge)
        assert graph.edge_table()["weight"] == pytest.approx([weight])
    assert from_networkx(nx.MultiGraph(network), merge="sum").undirected


def test_a_digraph_may_be_taken_as_undirected():
    network = nx.DiGraph([("a", "b"), ("c", "b")])
    assert from_networkx(network, undirected=True).distribution().log_partition.item() == 0
    with pytest.raises(GraphError, match="the root is not clear"):
        from_networkx(network)


def test_attributes():
    network = nx.DiGraph()
    network.add_edge("r", "a", rate=2.0, score=-1.0)
    network.add_edge("a", "b", rate=3.0, score=-2.0)
    assert from_networkx(network, weight="rate").edge_table()["weight"] == pytest.approx([2, 3])
    scores = from_networkx(network, log_weight="score").edge_table()["log_weight"]
    assert scores == [-1.0, -2.0]
    assert from_networkx(network, weight=None).edge_table()["weight"] == [1.0, 1.0]
    with pytest.raises(
        GraphError,
        match="the edge 'r' -> 'a' has no attribute 'weight'; edges have 'rate', 'score'; name the",
    ):
        from_networkx(network)
    with pytest.raises(GraphError, match="no attribute 'x'; edges have none"):
        from_networkx(nx.DiGraph([("r", "a")]), log_weight="x")
    network.edges["a", "b"]["rate"] = "fast"
    with pytest.raises(GraphError, match="the rate of 'a' -> 'b' must be a number, got 'fast'"):
        from_networkx(network, weight="rate")


def test_nodes_without_edges_cannot_be_reached():
    network = nx.Graph([("a", "b")])
    network.add_node("z")
    with pytest.raises(GraphError, match="1 of 2 nodes cannot be reached from the root 'a': 'z'"):
        from_networkx(network).distribution()


def test_what_is_no_graph():
    with pytest.raises(TypeError, match="graph must be a networkx graph, got dict"):
        from_networkx({})
    with pytest.raises(GraphError, match="the graph has no edges"):
        from_networkx(nx.empty_graph(3))


def test_an_undirected_graph_comes_back_as_a_graph():
    table = {"source": "aab", "target": "bcc", "weight": [1.0, 2.0, 3.0]}
    network = to_networkx(from_table(table, undirected=True))
    assert not network.is_directed()
    assert {frozenset(e) for e in network.edges} == set(map(frozenset, ("ab", "ac", "bc")))
