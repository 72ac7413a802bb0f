"""Hostile weights: entropies, divergences, covariances and their gradients, against mpmath.

All of them within 1e-9 of what hundreds of digits say: absolutely, or relatively above 1.
"""

import pytest
import torch
from mpmath import mp
from torch import Generator, Tensor
from torch.distributions import kl_divergence

import spantree as st
from tests.hostile import FAMILIES, hostile_log_weights
from tests.reference import ExactGraph
from tests.tolerances import assert_within

SIZES = [4, *(pytest.param(size, marks=pytest.mark.slow) for size in (8, 12))]

every_family = pytest.mark.parametrize("family", FAMILIES)
every_size = pytest.mark.parametrize("num_nodes", SIZES)


@pytest.fixture(scope="module")
def graph():
    """The weights of a family, and what mpmath knows of them; kept from test to test."""
    kept: dict[tuple[str, int, str], tuple[Tensor, ExactGraph]] = {}

    def find(family: str, num_nodes: int, root: str) -> tuple[Tensor, ExactGraph]:
        key = family, num_nodes, root
        if key not in kept:
            log_weights = hostile_log_weights(family, num_nodes)
            kept[key] = log_weights, ExactGraph(log_weights, root)
        return kept[key]

    return find


def noise(log_weights: Tensor, *more: int) -> Tensor:
    shape = (*log_weights.shape, *more)
    return torch.randn(shape, generator=Generator().manual_seed(8), dtype=torch.float64)


def assert_accurate(actual: Tensor, expected: Tensor) -> None:
    assert_within(actual, expected, 1e-9 * expected.abs().clamp_min(1.0))


def exact_number(value) -> Tensor:
    return torch.tensor(float(value), dtype=torch.float64)


@every_size
@every_family
def test_entropy_and_its_gradient(family, num_nodes, root, graph):
    log_weights, exact = graph(family, num_nodes, root)
    with mp.workdps(exact.digits):
        entropy = exact.log_partition - exact.expectation(exact.log_weights)
        negative = {e: -theta for e, theta in exact.log_weights.items()}
    theta = log_weights.clone().requires_grad_()
    actual = st.SpanningTree(theta, root=root).entropy()
    assert_accurate(actual, exact_number(entropy))
    (gradient,) = torch.autograd.grad(actual, theta)
    assert_accurate(gradient, exact.rounded(exact.hessian_product(negative)))


@every_size
@every_family
def test_divergences_from_and_to_gentle_weights(family, num_nodes, root, graph):
    log_weights, exact_p = graph(family, num_nodes, root)
    second, exact_q = graph("gaussian-1", num_nodes, root)
    compare(log_weights, second, exact_p, exact_q, root)
    if exact_p.weights.keys() == exact_q.weights.keys():
        compare(second, log_weights, exact_q, exact_p, root)
    else:
        p, q = (st.SpanningTree(x, root=root) for x in (second, log_weights))
        assert kl_divergence(p, q) == torch.inf


@pytest.mark.parametrize("num_nodes", SIZES[:2])
@every_family
def test_divergence_of_nearly_the_same_weights(family, num_nodes, root, graph):
    log_weights, exact_p = graph(family, num_nodes, root)
    second = log_weights + 1e-6 * noise(log_weights)
    compare(log_weights, second, exact_p, ExactGraph(second, root), root)


def compare(
    first: Tensor, second: Tensor, exact_p: ExactGraph, exact_q: ExactGraph, root: str
) -> None:
    """KL(p‖q) and its gradients with what is exact."""
    with mp.workdps(max(exact_p.digits, exact_q.digits)):
        gap = {e: theta - exact_q.log_weights[e] for e, theta in exact_p.log_weights.items()}
        shift = exact_q.log_partition - exact_p.log_partition
        divergence = shift + exact_p.expectation(gap)
        change = {e: mu - exact_p.marginals.get(e, 0) for e, mu in exact_q.marginals.items()}
    theta_p, theta_q = (x.clone().requires_grad_() for x in (first, second))
    p, q = (st.SpanningTree(x, root=root) for x in (theta_p, theta_q))
    actual = kl_divergence(p, q)
    assert_accurate(actual, exact_number(divergence))
    gradients = torch.autograd.grad(actual, (theta_p, theta_q))
    assert_accurate(gradients[0], exact_p.rounded(exact_p.hessian_product(gap)))
    assert_accurate(gradients[1], exact_q.rounded(change))


@every_size
@every_family
def test_covariance_and_gradient_of_the_ge_criterion(family, num_nodes, root, graph):
    log_weights, exact = graph(family, num_nodes, root)
    features, target = noise(log_weights, 3), torch.tensor([1.0, -2.0, 0.5]).double()
    columns = [exact.values(features[..., k]) for k in range(3)]
    products = [exact.hessian_product(column) for column in columns]
    with mp.workdps(exact.digits):
        covariance = [
            [float(mp.fsum(row[e] * column[e] for e in row)) for column in columns]
            for row in products
        ]
        residual = [
            exact.expectation(column) - mp.mpf(goal.item())
            for column, goal in zip(columns, target, strict=True)
        ]
        gradient = {
            e: mp.fsum(row[e] * x for row, x in zip(products, residual, strict=True))
            for e in exact.weights
        }
        value = mp.fsum(x * x for x in residual) / 2
    theta = log_weights.clone().requires_grad_()
    d = st.SpanningTree(theta, root=root)
    for method in ("auto", "exact"):
        expected = torch.tensor(covariance, dtype=torch.float64)
        assert_accurate(d.covariance(features, method=method), expected)
    criterion = st.objectives.generalized_expectation(d, features, target)
    assert_accurate(criterion, exact_number(value))
    (actual,) = torch.autograd.grad(criterion, theta)
    assert_accurate(actual, exact.rounded(gradient))


@pytest.mark.parametrize("scale", [1e-3, 1e-5])
def test_divergence_of_near_distributions_keeps_digits(scale, root):
    """Gentle weights: it is of the size scale², and right to what its terms' rounding leaves."""
    theta = noise(torch.zeros(9, 9))
    other = theta + scale * noise(theta.T)
    exact_p, exact_q = ExactGraph(theta, root), ExactGraph(other, root)
    with mp.workdps(exact_p.digits):
        gap = {e: x - exact_q.log_weights[e] for e, x in exact_p.log_weights.items()}
        shift = exact_q.log_partition - exact_p.log_partition
        expected = exact_number(shift + exact_p.expectation(gap))
    p, q = st.SpanningTree(theta, root=root), st.SpanningTree(other, root=root)
    assert 0.0 < expected < 10 * scale**2
    assert_within(kl_divergence(p, q), expected, 2e-14)
