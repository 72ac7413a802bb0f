"""The primitive that is closed under differentiation, to any order and in every argument."""

import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck

import spantree as st
from tests.graphs import (
    brute_force_derivatives,
    random_directions,
    random_graphs,
    random_lengths,
    with_garbage,
)
from tests.hostile import hostile_log_weights
from tests.tolerances import assert_close


@pytest.mark.parametrize("num_nodes", [1, 2, 4])
@pytest.mark.parametrize("start", ["log_partition", "edge_marginals", "hessian_vector_product"])
def test_derivatives_up_to_the_fifth(num_nodes, start, root, backend, device):
    """Differentiate what each function returns again and again: the order is the same for all."""
    log_weights = random_graphs((3,), num_nodes, forbidden=0.2).to(device)
    directions = random_directions(4, log_weights)
    expected = brute_force_derivatives(log_weights, directions, None, root)
    theta = log_weights.clone().requires_grad_()
    options = {"root": root, "backend": backend}
    if start == "log_partition":
        actual, order = st.log_partition(theta, **options), 0
    elif start == "edge_marginals":
        actual, order = st.edge_marginals(theta, **options), 1
    else:
        actual, order = st.hessian_vector_product(theta, directions[0], **options), 2
    while order < 5:
        total = actual.sum() if order == 0 else (actual * directions[order - 1]).sum()
        (actual,) = torch.autograd.grad(total, theta, create_graph=True)
        order += 1
        assert_close(actual, expected[order - 1], factor=10.0 ** (order - 1))


def test_third_order_of_a_ragged_batch(root, backend, device):
    log_weights = random_graphs((2, 5), 4, forbidden=0.3).to(device)
    lengths = random_lengths((2, 5), 4).to(device)
    directions = random_directions(2, log_weights)
    expected = brute_force_derivatives(log_weights, directions, lengths, root)
    theta = with_garbage(log_weights, lengths).requires_grad_()
    u, v = with_garbage(directions[0], lengths), directions[1]
    first = st.hessian_vector_product(theta, u, lengths, root=root, backend=backend)
    (second,) = torch.autograd.grad((first * v).sum(), theta)
    assert_close(second, expected[2], factor=10.0)


def test_derivative_in_the_direction(root, backend, device):
    """J_1 is linear and symmetric in its direction, so its transpose is itself."""
    log_weights = random_graphs((3,), 4, forbidden=0.2).to(device)
    u, v, w = random_directions(3, log_weights)
    options = {"root": root, "backend": backend}
    theta, u = log_weights.clone().requires_grad_(), u.requires_grad_()
    product = st.hessian_vector_product(theta, u, **options)
    by_direction, by_weights = torch.autograd.grad(product, (u, theta), v, create_graph=True)
    assert_close(by_direction, st.hessian_vector_product(log_weights, v, **options))
    second = brute_force_derivatives(log_weights, torch.stack([v, w]), None, root)[2]
    (mixed,) = torch.autograd.grad((by_direction * w).sum(), theta, retain_graph=True)
    assert_close(mixed, second, factor=10.0)
    (mixed,) = torch.autograd.grad((by_weights * w).sum(), u)
    assert_close(mixed, second, factor=10.0)


def test_several_directions_differentiate_as_one(root, backend, device):
    log_weights = random_graphs((2,), 4, forbidden=0.2).to(device).requires_grad_()
    directions = random_directions(3, log_weights.detach()).requires_grad_()
    cotangents = random_directions(3, log_weights.detach(), seed=1)
    options = {"root": root, "backend": backend}
    together = st.hessian_vector_product(log_weights, directions, **options)
    loop = torch.stack([st.hessian_vector_product(log_weights, u, **options) for u in directions])
    arguments = log_weights, directions
    actual = torch.autograd.grad(together, arguments, cotangents, create_graph=True)
    expected = torch.autograd.grad(loop, arguments, cotangents, create_graph=True)
    for a, b in zip(actual, expected, strict=True):
        assert_close(a, b)
    actual = torch.autograd.grad(actual[0].square().sum(), arguments)
    expected = torch.autograd.grad(expected[0].square().sum(), arguments)
    for a, b in zip(actual, expected, strict=True):
        assert_close(a, b, factor=10.0)


def test_log_partition_and_marginals_in_one_graph(root, backend, device):
    """Entropy: a function of both, whose gradient is minus the Hessian times the weights."""
    log_weights = random_graphs((3,), 5).to(device).requires_grad_()
    options = {"root": root, "backend": backend}
    marginals = st.edge_marginals(log_weights, **options)
    entropy = st.log_partition(log_weights, **options) - (marginals * log_weights).sum((-2, -1))
    (gradient,) = torch.autograd.grad(entropy.sum(), log_weights)
    weights = log_weights.detach()
    assert_close(gradient, -st.hessian_vector_product(weights, weights, **options), factor=10.0)


CHECKED = {
    "log_partition": lambda theta, lengths, **kw: st.log_partition(theta, lengths, **kw),
    "edge_marginals": lambda theta, lengths, **kw: st.edge_marginals(theta, lengths, **kw),
}


@pytest.mark.parametrize("function", CHECKED)
def test_gradcheck_and_gradgradcheck(function, root, backend, device):
    log_weights = random_graphs((2,), 3, forbidden=0.2).to(device).requires_grad_()
    lengths = torch.tensor([3, 2], device=device)

    def checked(theta: torch.Tensor) -> torch.Tensor:
        return CHECKED[function](theta, lengths, root=root, backend=backend)

    assert gradcheck(checked, log_weights)
    assert gradgradcheck(checked, log_weights)


def test_gradcheck_of_the_hessian_vector_product(root, backend, device):
    log_weights = random_graphs((), 3, forbidden=0.2).to(device).requires_grad_()
    directions = random_directions(2, log_weights.detach()).requires_grad_()

    def checked(theta: torch.Tensor, u: torch.Tensor) -> torch.Tensor:
        return st.hessian_vector_product(theta, u, root=root, backend=backend)

    assert gradcheck(checked, (log_weights, directions))
    smaller = random_graphs((), 2).to(device).requires_grad_()
    assert gradgradcheck(
        checked, (smaller, random_directions(1, smaller.detach()).requires_grad_())
    )


def test_gradcheck_of_the_third_order(root, backend, device):
    """∇⟨J_1(u), v⟩ against differences of ⟨J_1(u), v⟩, and its own gradient in turn."""
    log_weights = random_graphs((), 3).to(device).requires_grad_()
    u, v = random_directions(2, log_weights.detach())

    def second(theta: torch.Tensor) -> torch.Tensor:
        first = st.hessian_vector_product(theta, u, root=root, backend=backend)
        return torch.autograd.grad((first * v).sum(), theta, create_graph=True)[0]

    assert gradcheck(second, log_weights)


@pytest.mark.parametrize(
    "family", ["gaussian-100", "root-1e4-below", "chain-of-2-cycles-bound-by-600"]
)
def test_derivatives_of_hostile_weights_are_finite(family, root, backend, device):
    log_weights = hostile_log_weights(family, 6).to(device).requires_grad_()
    directions = random_directions(3, log_weights.detach())
    total = st.log_partition(log_weights, root=root, backend=backend)
    for direction in directions:
        (gradient,) = torch.autograd.grad(total, log_weights, create_graph=True)
        assert gradient.isfinite().all()
        total = (gradient * direction).sum()


def test_no_graph_where_none_is_asked_for(root, backend, device):
    log_weights = random_graphs((2,), 3).to(device)
    assert not st.log_partition(log_weights, root=root, backend=backend).requires_grad
    with torch.no_grad():
        theta = log_weights.requires_grad_()
        assert not st.edge_marginals(theta, root=root, backend=backend).requires_grad


def test_inference_mode(root, backend, device):
    log_weights = random_graphs((2,), 3).to(device)
    (direction,) = random_directions(1, log_weights)

    def results():
        options = {"root": root, "backend": backend}
        # Copies, so that these are inference tensors where they are made in inference mode.
        theta, u = log_weights.clone(), direction.clone()
        yield st.log_partition(theta, **options)
        yield st.edge_marginals(theta, **options)
        yield st.hessian_vector_product(theta, u, **options)

    with torch.inference_mode():
        actual = list(results())
    assert all(map(torch.equal, actual, results()))
