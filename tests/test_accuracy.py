"""The promise: full relative accuracy, whatever the weights, against hundreds of digits."""

from functools import cache

import pytest
import torch

import spantree as st
from tests.graphs import random_directions, with_garbage
from tests.hostile import FAMILIES, hostile_log_weights
from tests.reference import Exact, exact_inference
from tests.tolerances import (
    assert_close,
    assert_keeps_promise,
    assert_probabilities,
    assert_within,
    conditioning,
)

# An inverse of weights so near to 0 must be taken to 17,000 digits, which costs N³ times 1 ms.
DEEP = ["blocks-at-1e4", "root-1e4-below"]
LARGER = [(3, 1), (3, 2), (3, 3), (12, 0), *((n, s) for n in (10, 17) for s in (1, 2, 3)), (24, 0)]
every_family = pytest.mark.parametrize("family", FAMILIES)
every_size = pytest.mark.parametrize("num_nodes", [4, 7])


@cache
def _exact(family: str, num_nodes: int, root: str) -> Exact:
    log_weights = hostile_log_weights(family, num_nodes)
    return exact_inference(log_weights, root, tuple(random_directions(2, log_weights)))


@pytest.fixture
def case(family, num_nodes, device):
    """The weights, their conditioning, and two directions with garbage where no edge is."""
    log_weights = hostile_log_weights(family, num_nodes)
    u, v = with_garbage(random_directions(2, log_weights)).to(device)
    return log_weights.to(device), conditioning(log_weights), u, v


@every_size
@every_family
def test_log_partition(family, num_nodes, case, root, backend):
    log_weights, c, _, _ = case
    exact = _exact(family, num_nodes, root)
    actual = st.log_partition(log_weights, root=root, backend=backend)
    assert_keeps_promise(0, actual, exact.log_partition, exact.marginals, c)


@every_size
@every_family
def test_marginals(family, num_nodes, case, root, backend):
    log_weights, c, _, _ = case
    exact = _exact(family, num_nodes, root)
    actual = st.edge_marginals(log_weights, root=root, backend=backend)
    assert_keeps_promise(1, actual, exact.marginals, exact.marginals, c)
    assert_probabilities(actual)


@every_size
@every_family
def test_first_jet(family, num_nodes, case, root, backend):
    log_weights, c, u, _ = case
    exact = _exact(family, num_nodes, root)
    actual = st.hessian_vector_product(log_weights, u, root=root, backend=backend)
    assert_keeps_promise(2, actual, exact.first, exact.marginals, c)


@every_size
@every_family
def test_second_jet(family, num_nodes, case, root, backend):
    log_weights, c, u, v = case
    exact = _exact(family, num_nodes, root)
    theta = log_weights.clone().requires_grad_()
    first = st.hessian_vector_product(theta, u, root=root, backend=backend)
    (actual,) = torch.autograd.grad(first, theta, v)
    assert_keeps_promise(3, actual, exact.second, exact.marginals, c)


@pytest.mark.parametrize("num_nodes", [7, pytest.param(24, marks=pytest.mark.slow)])
@every_family
def test_float32_is_the_float64_answer_rounded(family, num_nodes, case, root, backend):
    log_weights, _, u, _ = case
    options = {"root": root, "backend": backend}
    coarse, u = log_weights.float(), u.float()
    fine = coarse.double()
    actual = st.log_partition(coarse, **options)
    assert torch.equal(actual, st.log_partition(fine, **options).float())
    actual = st.edge_marginals(coarse, **options)
    assert torch.equal(actual, st.edge_marginals(fine, **options).float())
    actual = st.hessian_vector_product(coarse, u, **options)
    assert torch.equal(actual, st.hessian_vector_product(fine, u.double(), **options).float())


@pytest.mark.parametrize("num_nodes", [7])
@pytest.mark.parametrize("family", ["forbidden-0.3", "forbidden-0.7", "one-tree", "acyclic"])
@pytest.mark.parametrize("mask", [-1e5, -1e9, -3.4e38])
def test_finite_mask(family, num_nodes, mask, case, root, backend):
    """Where trees avoid all masked edges, a mask is as good as -inf, and costs no accuracy."""
    log_weights, c, u, _ = case
    exact = _exact(family, num_nodes, root)
    masked = log_weights.masked_fill(log_weights.isneginf(), mask)
    actual = st.log_partition(masked, root=root, backend=backend)
    assert_keeps_promise(0, actual, exact.log_partition, exact.marginals, c)
    actual = st.edge_marginals(masked, root=root, backend=backend)
    assert_keeps_promise(1, actual, exact.marginals, exact.marginals, c)
    actual = st.hessian_vector_product(masked, u, root=root, backend=backend)
    assert_keeps_promise(2, actual, exact.first, exact.marginals, c)


@pytest.mark.parametrize("num_nodes", [1])
@pytest.mark.parametrize("score", [0.0, -1e9, 1e300, -1e300, 5e-324])
def test_single_node(num_nodes, score, root, backend, device):
    """One node, one tree, however far from 1 its weight is."""
    log_weights = torch.tensor([[torch.nan, score], [0.0, torch.inf]], device=device).double()
    log_weights[0, 1] = score
    options = {"root": root, "backend": backend}
    total = torch.tensor(score, dtype=torch.float64)
    assert_close(st.log_partition(log_weights, **options), total)
    expected = torch.tensor([[0.0, 1.0], [0.0, 0.0]], dtype=torch.float64)
    assert_within(st.edge_marginals(log_weights, **options), expected, 0.0)
    first = st.hessian_vector_product(log_weights, torch.ones_like(log_weights), **options)
    assert_within(first, torch.zeros_like(expected), 0.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "num_nodes", "seed"),
    [(f, *draw) for draw in LARGER for f in FAMILIES if f not in DEEP or draw[0] <= 12],
)
def test_larger_graphs(family, num_nodes, seed, root, device):
    """All quantities by all backends at once, as the reference is dear."""
    log_weights = hostile_log_weights(family, num_nodes, seed)
    u, v = random_directions(2, log_weights, seed)
    exact = exact_inference(log_weights, root, (u, v))
    theta, u, v = log_weights.to(device).requires_grad_(), u.to(device), v.to(device)
    for backend in ("native", "torch") if device.type == "cpu" else ("torch",):
        options = {"root": root, "backend": backend}
        first = st.hessian_vector_product(theta, u, **options)
        (second,) = torch.autograd.grad(first, theta, v)
        marginals = st.edge_marginals(theta, **options)
        assert_probabilities(marginals)
        actual = st.log_partition(theta, **options), marginals, first, second
        for order, (got, expected) in enumerate(zip(actual, exact[:4], strict=True)):
            assert_keeps_promise(order, got, expected, exact.marginals, conditioning(log_weights))
