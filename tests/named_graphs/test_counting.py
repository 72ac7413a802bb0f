"""How many trees there are, exactly."""

import math

import networkx as nx
import pytest

import spantree.graphs.counting as counting
from spantree.graphs import NamedGraph, from_networkx, log_tree_count, tree_count
from tests.graphs import random_graphs


@pytest.mark.parametrize("seed", range(20))
def test_as_many_as_there_are(root, seed):
    log_weights = random_graphs((), 5, forbidden=0.5, seed=seed)
    graph = NamedGraph(log_weights, tuple("rabcde"))
    trees = graph.distribution(root, validate_args=False).enumerate_support()
    assert tree_count(graph, root) == len(trees)


def test_none_at_all():
    network = nx.DiGraph([("r", "a"), ("r", "b")])
    assert tree_count(from_networkx(network), "single") == 0
    assert tree_count(from_networkx(network), "multi") == 1


def test_cayley(root):
    for n in (1, 2, 3, 10, 50):
        graph = NamedGraph(random_graphs((), n), tuple(range(n + 1)))
        trees = n ** (n - 1) if root == "single" else (n + 1) ** (n - 1)
        assert tree_count(graph, root) == trees
        assert log_tree_count(graph, root) == pytest.approx(math.log(trees), rel=1e-12)


def test_large_graphs_by_log_z(monkeypatch):
    monkeypatch.setattr(counting, "_LARGEST_DETERMINANT", 0)
    assert tree_count(from_networkx(nx.cycle_graph(1001))) == 1001
    assert tree_count(from_networkx(nx.petersen_graph())) == 2000
    assert tree_count(from_networkx(nx.complete_graph(30))) is None
