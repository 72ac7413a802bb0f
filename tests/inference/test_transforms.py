"""What torch may do to a function: torch.func transforms and their compositions, autocast."""

import pytest
import torch
from torch.func import functional_call, grad, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap

import spantree as st
from spantree.inference.enumeration import log_partition_by_enumeration
from tests.graphs import (
    brute_force_derivatives,
    random_directions,
    random_graphs,
    random_lengths,
    with_garbage,
)
from tests.tolerances import assert_close


@pytest.fixture
def options(root, backend):
    return {"root": root, "backend": backend}


@pytest.fixture
def log_z(options):
    return lambda theta: st.log_partition(theta, **options)


@pytest.fixture
def marginals(options):
    return lambda theta: st.edge_marginals(theta, **options)


@pytest.fixture
def graph(device):
    return random_graphs((), 3, forbidden=0.2).to(device)


@pytest.fixture
def graphs(device):
    return random_graphs((5,), 3, forbidden=0.2).to(device)


def test_grad(log_z, marginals, graph):
    assert_close(grad(log_z)(graph), marginals(graph))


def test_vjp(marginals, graph, options):
    (cotangent,) = random_directions(1, graph)
    value, pull = vjp(marginals, graph)
    assert_close(value, marginals(graph))
    assert_close(pull(cotangent)[0], st.hessian_vector_product(graph, cotangent, **options))


def test_jvp(log_z, marginals, graph, options):
    """Forward mode, with anything at all in the tangent where there is no edge."""
    (tangent,) = random_directions(1, graph)
    edges = (tangent * (marginals(graph) > 0)).nan_to_num()
    value, derivative = jvp(log_z, (graph,), (with_garbage(tangent),))
    assert_close(value, log_z(graph))
    assert_close(derivative, (marginals(graph) * edges).sum())
    _, derivative = jvp(marginals, (graph,), (with_garbage(tangent),))
    assert_close(derivative, st.hessian_vector_product(graph, tangent, **options))


def test_jvp_of_the_hessian_vector_product(graph, options, root):
    u, v = random_directions(2, graph)

    def first(theta, direction):
        return st.hessian_vector_product(theta, direction, **options)

    _, along_both = jvp(first, (graph, u), (v, v))
    second = brute_force_derivatives(graph, torch.stack([u, v]), None, root)[2]
    assert_close(along_both, second + first(graph, v), factor=10.0)


def test_tracing_is_right_or_refused(marginals, graph, options):
    """A tracer that cannot see into the kernel must not be handed unfinished memory."""
    (tangent,) = random_directions(1, graph)
    try:
        _, push = linearize(marginals, graph)
    except RuntimeError:
        return
    assert_close(push(tangent), st.hessian_vector_product(graph, tangent, **options))


def test_full_hessians(log_z, marginals, graph, root):
    expected = hessian(lambda theta: log_partition_by_enumeration(theta, root))(graph)
    assert_close(hessian(log_z)(graph), expected)
    assert_close(jacrev(marginals)(graph), expected)
    assert_close(jacfwd(marginals)(graph), expected)
    assert_close(jacrev(jacrev(log_z))(graph), expected)
    assert_close(jacfwd(jacfwd(log_z))(graph), expected)


def test_third_derivative(log_z, root, device):
    graph = random_graphs((), 2).to(device)
    expected = jacrev(hessian(lambda theta: log_partition_by_enumeration(theta, root)))(graph)
    assert_close(jacrev(hessian(log_z))(graph), expected, factor=10.0)


def test_jacrev_of_a_batch(log_z, marginals, graphs):
    """An item's log Z depends on no other item."""
    actual = jacrev(log_z)(graphs)
    expected = torch.zeros_like(actual)
    expected[range(5), range(5)] = marginals(graphs)
    assert_close(actual, expected)


def test_grad_of_grad(log_z, graph, options):
    (u,) = random_directions(1, graph)

    def inner(theta):
        return (grad(log_z)(theta) * u).sum()

    assert_close(grad(inner)(graph), st.hessian_vector_product(graph, u, **options))


@pytest.mark.parametrize("in_dim", [0, 1, 2])
def test_vmap(in_dim, log_z, marginals, graphs):
    moved = graphs.movedim(0, in_dim)
    assert_close(vmap(log_z, in_dims=in_dim)(moved), log_z(graphs))
    assert_close(vmap(marginals, in_dims=in_dim)(moved), marginals(graphs))


def test_vmap_over_lengths(graphs, options):
    lengths = random_lengths((5,), 3).to(graphs.device)
    actual = vmap(lambda theta, n: st.log_partition(theta, n, **options))(graphs, lengths)
    assert_close(actual, st.log_partition(graphs, lengths, **options))
    actual = vmap(lambda n: st.edge_marginals(graphs[0], n, **options))(lengths)
    expected = st.edge_marginals(graphs[:1].expand_as(graphs), lengths, **options)
    assert_close(actual, expected)


def test_vmap_over_directions(graphs, options):
    directions = random_directions(4, graphs)
    expected = st.hessian_vector_product(graphs, directions, **options)

    def first(theta, u):
        return st.hessian_vector_product(theta, u, **options)

    assert_close(vmap(first, in_dims=(None, 0))(graphs, directions), expected)
    actual = vmap(first, in_dims=(0, 1), out_dims=1)(graphs, directions)
    assert_close(actual, expected)
    nested = vmap(vmap(first, in_dims=(None, 0)), in_dims=(0, 1), out_dims=1)
    assert_close(nested(graphs, directions), expected)


def test_vmap_of_grad(log_z, marginals, graphs):
    assert_close(vmap(grad(log_z))(graphs), marginals(graphs))


def test_vmap_of_jvp(marginals, graphs, options):
    (tangents,) = random_directions(1, graphs)
    actual = vmap(lambda theta, u: jvp(marginals, (theta,), (u,))[1])(graphs, tangents)
    assert_close(actual, st.hessian_vector_product(graphs, tangents, **options))


def test_vmap_of_hessian(log_z, graphs):
    expected = torch.stack([hessian(log_z)(theta) for theta in graphs])
    assert_close(vmap(hessian(log_z))(graphs), expected)


def test_grad_of_vmap(log_z, marginals, graphs):
    assert_close(grad(lambda theta: vmap(log_z)(theta).sum())(graphs), marginals(graphs))


def test_backward_through_vmap(marginals, graphs, options):
    theta = graphs.clone().requires_grad_()
    (cotangent,) = random_directions(1, graphs)
    (gradient,) = torch.autograd.grad(vmap(marginals)(theta), theta, cotangent)
    assert_close(gradient, st.hessian_vector_product(graphs, cotangent, **options))


def test_per_example_gradients_of_a_module(graphs, options):
    """The use that vmap of grad was made for."""
    layer = torch.nn.Linear(4, 4, dtype=torch.float64)
    layer = layer.to(graphs.device)
    inputs = graphs.masked_fill(graphs.isinf(), 0.0)

    def loss(parameters, example):
        scores = functional_call(layer, parameters, (example,))
        return st.log_partition(scores, **options)

    parameters = {name: value.detach() for name, value in layer.named_parameters()}
    actual = vmap(grad(loss), in_dims=(None, 0))(parameters, inputs)
    for i, example in enumerate(inputs):
        expected = grad(loss)(parameters, example)
        for name in parameters:
            assert_close(actual[name][i], expected[name])


def test_forward_mode_without_transforms(root):
    """Of the kernel alone: the twin uses forward mode itself, and torch does not nest this one."""
    graphs = random_graphs((5,), 3, forbidden=0.2)
    (tangent,) = random_directions(1, graphs)
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(graphs, tangent)
        marginals = st.edge_marginals(dual, root=root, backend="native")
        derivative = torch.autograd.forward_ad.unpack_dual(marginals).tangent
    expected = st.hessian_vector_product(graphs, tangent, root=root, backend="native")
    assert_close(derivative, expected)


@pytest.mark.parametrize("low", [torch.bfloat16, torch.float16], ids=str)
def test_autocast_changes_nothing(low, graphs, options):
    theta = graphs.float().requires_grad_()
    (direction,) = random_directions(1, theta.detach())

    def results():
        log_partition = st.log_partition(theta, **options)
        first = st.hessian_vector_product(theta, direction, **options)
        (backward,) = torch.autograd.grad(log_partition.sum(), theta, create_graph=True)
        (second,) = torch.autograd.grad((first * backward).sum(), theta)
        return log_partition, st.edge_marginals(theta, **options), first, backward, second

    expected = results()
    with torch.autocast(theta.device.type, dtype=low):
        actual = results()
    for a, b in zip(actual, expected, strict=True):
        assert a.dtype == torch.float32
        assert torch.equal(a, b)
