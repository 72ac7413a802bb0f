"""Hessian-vector products: brute force, several directions, shapes, dtypes, garbage."""

import pytest
import torch

import spantree as st
from tests.graphs import (
    brute_force_derivatives,
    random_directions,
    random_graphs,
    random_lengths,
    with_garbage,
)
from tests.tolerances import assert_close


@pytest.mark.parametrize("num_nodes", range(1, 6))
@pytest.mark.parametrize("forbidden", [0.0, 0.3, 0.7])
def test_equals_brute_force(num_nodes, forbidden, root, backend, device, dtype):
    log_weights = random_graphs((16,), num_nodes, forbidden=forbidden).to(device, dtype)
    (direction,) = random_directions(1, log_weights)
    actual = st.hessian_vector_product(log_weights, direction, root=root, backend=backend)
    expected = brute_force_derivatives(log_weights.double(), direction[None].double(), None, root)
    assert_close(actual, expected[1])


def test_ragged_batch_equals_brute_force(root, backend, device, dtype):
    log_weights = random_graphs((4, 6), 5, forbidden=0.3).to(device, dtype)
    lengths = random_lengths((4, 6), 5).to(device)
    (direction,) = random_directions(1, log_weights)
    dirty = with_garbage(log_weights, lengths), with_garbage(direction, lengths)
    actual = st.hessian_vector_product(*dirty, lengths, root=root, backend=backend)
    exact = log_weights.double(), direction[None].double()
    assert_close(actual, brute_force_derivatives(*exact, lengths, root)[1])


@pytest.mark.parametrize("extra", [(1,), (3,), (9,), (2, 5), (0,)], ids=str)
@pytest.mark.parametrize("batch_shape", [(), (4,), (2, 3), (0,)], ids=str)
def test_several_directions_share_the_weights(extra, batch_shape, root, backend, device, dtype):
    log_weights = random_graphs(batch_shape, 4, forbidden=0.2).to(device, dtype)
    lengths = random_lengths(batch_shape, 4).to(device)
    count = torch.Size(extra).numel()
    directions = random_directions(count, log_weights)
    actual = st.hessian_vector_product(
        log_weights,
        directions.reshape(*extra, *log_weights.shape),
        lengths,
        root=root,
        backend=backend,
    )
    assert actual.shape == (*extra, *log_weights.shape)
    actual = actual.reshape(directions.shape)
    for i in range(count):
        one = st.hessian_vector_product(
            log_weights, directions[i], lengths, root=root, backend=backend
        )
        assert_close(actual[i], one)


def test_zero_wherever_there_is_no_edge(root, backend, device, dtype):
    log_weights = random_graphs((8,), 6, forbidden=0.4).to(device, dtype)
    lengths = random_lengths((8,), 6).to(device)
    (direction,) = random_directions(1, log_weights)
    dirty = with_garbage(log_weights, lengths), with_garbage(direction, lengths)
    actual = st.hessian_vector_product(*dirty, lengths, root=root, backend=backend)
    node = torch.arange(7, device=device)
    no_edge = (node == 0) | (node == node[:, None]) | log_weights.isneginf()
    padding = node > lengths[:, None]
    no_edge = no_edge | padding[:, None, :] | padding[:, :, None]
    assert (actual[no_edge] == 0.0).all()
    assert actual.isfinite().all()


def test_direction_on_forbidden_edges_does_not_matter(root, backend, device, dtype):
    log_weights = random_graphs((8,), 5, forbidden=0.4).to(device, dtype)
    (direction,) = random_directions(1, log_weights)
    expected = st.hessian_vector_product(log_weights, direction, root=root, backend=backend)
    dirty = direction.masked_fill(log_weights.isneginf(), torch.nan)
    actual = st.hessian_vector_product(log_weights, dirty, root=root, backend=backend)
    assert torch.equal(actual, expected)


@pytest.mark.parametrize("half", [torch.float32, torch.bfloat16, torch.float16], ids=str)
def test_coarse_dtype_is_the_float64_answer_rounded(half, root, backend, device):
    log_weights = random_graphs((8,), 7, scale=5.0, forbidden=0.2).to(device, half)
    (direction,) = random_directions(1, log_weights)
    actual = st.hessian_vector_product(log_weights, direction, root=root, backend=backend)
    exact = log_weights.double(), direction.double()
    exact = st.hessian_vector_product(*exact, root=root, backend=backend)
    assert actual.dtype == torch.float32
    assert torch.equal(actual, exact.float())


def test_strides_do_not_matter(root, backend, device, dtype):
    log_weights = random_graphs((3,), 5).to(device, dtype)
    directions = random_directions(2, log_weights)
    expected = st.hessian_vector_product(log_weights, directions, root=root, backend=backend)
    transposed = log_weights.mT.contiguous().mT, directions.mT.contiguous().mT
    actual = st.hessian_vector_product(*transposed, root=root, backend=backend)
    assert torch.equal(actual, expected)
    expanded = directions[:1].expand_as(directions)
    actual = st.hessian_vector_product(log_weights, expanded, root=root, backend=backend)
    assert torch.equal(actual, expected[:1].expand_as(expected))


@pytest.mark.parametrize("num_nodes", [1, 2, 40, pytest.param(260, marks=pytest.mark.slow)])
def test_uniform_trees(num_nodes, backend, device):
    """The only root edge falls on each of N nodes alike: variance (1 - 1/N)/N, covariance -1/N²."""
    log_weights = torch.zeros(num_nodes + 1, num_nodes + 1, dtype=torch.float64, device=device)
    direction = torch.zeros_like(log_weights)
    direction[0, 1] = 1.0
    actual = st.hessian_vector_product(log_weights, direction, backend=backend)
    expected = torch.full((num_nodes,), -1 / num_nodes**2, dtype=torch.float64)
    expected[0] += 1 / num_nodes
    assert_close(actual[0, 1:], expected, factor=1.0 / num_nodes)
