"""From and to matrices."""

import math

import numpy as np
import pytest
import scipy.sparse
import torch

from spantree.graphs import GraphError, from_scipy, to_scipy

DENSE = np.array([[0, 3.0, 1], [0, 0, 1], [0, 2, 0]])
FORMATS = ["csr", "csc", "coo", "lil", "dok"]


@pytest.mark.parametrize("kind", [*FORMATS, "dense"])
def test_every_format(kind):
    matrix = DENSE if kind == "dense" else scipy.sparse.csr_array(DENSE).asformat(kind)
    graph = from_scipy(matrix)
    assert graph.names == (0, 1, 2)
    np.testing.assert_allclose(graph.log_weights.exp().numpy(), DENSE)
    np.testing.assert_allclose(to_scipy(graph).toarray(), DENSE)


def test_old_matrices_and_names():
    graph = from_scipy(scipy.sparse.csr_matrix(DENSE), names=["s", "a", "b"])
    assert graph.edge_table()["source"] == ["s", "s", "a", "b"]


def test_another_root_comes_first():
    graph = from_scipy(DENSE[::-1, ::-1].copy(), root=2)
    assert graph.names == (2, 0, 1)
    assert graph.distribution().log_partition.exp().item() == pytest.approx(8)


def test_logarithms():
    sparse = scipy.sparse.coo_array(([0.0, -1000.0], ([0, 1], [1, 2])), shape=(3, 3))
    graph = from_scipy(sparse, log=True)
    assert graph.edge_table()["log_weight"] == [0.0, -1000.0]
    dense = np.full((3, 3), -math.inf)
    dense[0, 1], dense[1, 2] = 0.0, -1000.0
    assert torch.equal(from_scipy(dense, log=True).log_weights, graph.log_weights)


def test_repeated_entries_add_up_but_not_as_logarithms():
    entries = ([1.0, 2.0, 1.0], ([0, 0, 1], [1, 1, 2]))
    sparse = scipy.sparse.coo_array(entries, shape=(3, 3))
    assert from_scipy(sparse).edge_table()["weight"] == pytest.approx([3.0, 1.0])
    with pytest.raises(GraphError, match=r"entry \(0, 1\): the edge 0 -> 1 repeats"):
        from_scipy(sparse, log=True)


@pytest.mark.parametrize("halves", ["both", "upper", "lower"])
@pytest.mark.parametrize("root", [0, 2])
def test_undirected(halves, root):
    full = np.array([[0, 1.0, 2], [1, 0, 3], [2, 3, 0]])
    matrix = {"both": full, "upper": np.triu(full), "lower": np.tril(full)}[halves]
    for given in (matrix, scipy.sparse.csr_array(matrix)):
        graph = from_scipy(given, root, undirected=True)
        assert graph.edge_count == 3
        assert graph.distribution().log_partition.exp().item() == pytest.approx(2 + 3 + 6)
        order = [graph.names.index(i) for i in range(3)]
        np.testing.assert_allclose(to_scipy(graph).toarray()[order][:, order], full)


def test_values_of_edges_as_a_matrix():
    graph = from_scipy(DENSE)
    marginals = graph.distribution().marginals
    np.testing.assert_array_equal(to_scipy(graph, marginals).toarray(), marginals.numpy())
    full = np.array([[0, 1.0, 2], [1, 0, 3], [2, 3, 0]])
    graph = from_scipy(full, undirected=True)
    marginals = graph.distribution().marginals
    np.testing.assert_array_equal(to_scipy(graph, marginals).toarray(), marginals.numpy())


@pytest.mark.parametrize(
    ("matrix", "options", "message"),
    [
        (np.zeros((2, 3)), {}, r"matrix must be square, got shape \(2, 3\)"),
        ([[1.0]], {}, "matrix must be square, got list"),
        (np.zeros((3, 3)), {}, "the graph has no edges"),
        (DENSE, {"root": 3}, r"root must be an index in 0..2, got 3"),
        (DENSE, {"names": "ab"}, "names must be 3 like the rows of the matrix, got 2"),
        (-DENSE, {}, r"entry \(0, 1\): the weight of 0 -> 1 must be a finite number >= 0, got -3"),
        (DENSE * np.nan, {}, r"the weight of 0 -> 0 must be a finite number >= 0, got nan"),
        (DENSE, {"undirected": True}, r"symmetric .* entry \(2, 1\) and entry \(1, 2\) differ"),
    ],
)
def test_what_is_no_graph(matrix, options, message):
    with pytest.raises(ValueError, match=message):
        from_scipy(matrix, **options)
