"""The algorithms of the past compute what the library computes; the library knows none of them."""

import ast
from pathlib import Path

import pytest
import torch

import spantree as st
from benchmarks.past import druck_et_al, druck_smith, mcdonald_satta, smith_eisner
from tests.graphs import random_directions, random_graphs
from tests.tolerances import assert_within

SOURCES = sorted((Path(__file__).parents[2] / "src").rglob("*.py"))


@pytest.fixture(params=[(1, 0.0), (2, 0.0), (7, 0.0), (7, 0.5), (12, 0.2)], ids=str)
def log_weights(request):
    num_nodes, forbidden = request.param
    return random_graphs((5,), num_nodes, scale=1.5, forbidden=forbidden)


@pytest.fixture
def constraints(log_weights):
    """20 features of edges, of which a few hold for each edge, and what they should be."""
    features = random_directions(20, log_weights).movedim(0, -1).clamp_min(1.0) - 1.0
    return features, torch.rand(5, 20, dtype=torch.float64)


def test_entropy(log_weights, root):
    expected = st.SpanningTree(log_weights, root=root).entropy()
    assert_within(smith_eisner.entropy(log_weights, root=root), expected, 1e-9)


def test_expectation(log_weights, constraints, root):
    features, _ = constraints
    expected = st.SpanningTree(log_weights, root=root).expectation(features)
    assert_within(mcdonald_satta.expectation(log_weights, features, root=root), expected, 1e-9)


@pytest.mark.parametrize("past", [druck_smith, druck_et_al], ids=["druck_smith", "druck_et_al"])
def test_gradient_of_the_ge_criterion(past, log_weights, constraints, root):
    features, target = constraints
    theta = log_weights.clone().requires_grad_()
    residual = st.SpanningTree(theta, root=root).expectation(features) - target
    (expected,) = torch.autograd.grad(residual.square().sum() / 2, theta)
    actual = past.generalized_expectation_gradient(log_weights, features, target, root=root)
    assert_within(actual, expected, 1e-9)


def test_covariance_of_edges(log_weights, root):
    covariance, marginals = druck_smith.edge_covariance(log_weights, root=root)
    assert_within(marginals, st.edge_marginals(log_weights, root=root), 1e-9)
    (direction,) = random_directions(1, log_weights)
    expected = st.hessian_vector_product(log_weights, direction, root=root)
    actual = (covariance @ direction.flatten(1)[..., None]).reshape(expected.shape)
    assert_within(actual, expected, 1e-9)


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name)
def test_the_library_imports_no_benchmark(source):
    for node in ast.walk(ast.parse(source.read_text())):
        names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        assert not any(name.split(".")[0] in ("benchmarks", "tests") for name in names)
