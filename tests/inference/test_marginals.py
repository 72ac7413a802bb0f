"""Edge marginals: brute force, closed forms, shapes, dtypes, and what must not matter."""

import pytest
import torch

import spantree as st
from tests.graphs import brute_force_derivatives, random_graphs, random_lengths, with_garbage
from tests.tolerances import assert_close, assert_probabilities


@pytest.mark.parametrize("num_nodes", range(1, 6))
@pytest.mark.parametrize("forbidden", [0.0, 0.3, 0.7])
def test_equal_brute_force(num_nodes, forbidden, root, backend, device, dtype):
    log_weights = random_graphs((16,), num_nodes, forbidden=forbidden).to(device, dtype)
    actual = st.edge_marginals(log_weights, root=root, backend=backend)
    (expected,) = brute_force_derivatives(log_weights.double(), (), None, root)
    assert_close(actual, expected)


def test_ragged_batch_equals_brute_force(root, backend, device, dtype):
    log_weights = random_graphs((4, 6), 5, forbidden=0.3).to(device, dtype)
    lengths = random_lengths((4, 6), 5).to(device)
    dirty = with_garbage(log_weights, lengths)
    actual = st.edge_marginals(dirty, lengths, root=root, backend=backend)
    (expected,) = brute_force_derivatives(log_weights.double(), (), lengths, root)
    assert_close(actual, expected)


def test_zero_wherever_there_is_no_edge(root, backend, device, dtype):
    log_weights = random_graphs((8,), 6, forbidden=0.4).to(device, dtype)
    lengths = random_lengths((8,), 6).to(device)
    dirty = with_garbage(log_weights, lengths)
    actual = st.edge_marginals(dirty, lengths, root=root, backend=backend)
    node = torch.arange(7, device=device)
    no_edge = (node == 0) | (node == node[:, None]) | log_weights.isneginf()
    padding = node > lengths[:, None]
    no_edge = no_edge | padding[:, None, :] | padding[:, :, None]
    assert (actual[no_edge] == 0.0).all()
    assert (actual[~no_edge] >= 0.0).all()


@pytest.mark.parametrize("batch_shape", [(), (0,), (1,), (2, 3), (2, 0)], ids=str)
def test_any_leading_shape(batch_shape, root, backend, device, dtype):
    log_weights = random_graphs(batch_shape, 5).to(device, dtype)
    lengths = random_lengths(batch_shape, 5).to(device)
    for given in (None, lengths):
        actual = st.edge_marginals(log_weights, given, root=root, backend=backend)
        assert actual.shape == log_weights.shape
        flat_lengths = None if given is None else given.reshape(-1)
        flat = st.edge_marginals(
            log_weights.reshape(-1, 6, 6), flat_lengths, root=root, backend=backend
        )
        assert_close(actual, flat.reshape(actual.shape))


@pytest.mark.parametrize("num_nodes", [1, 2, 7, 40, 100, pytest.param(333, marks=pytest.mark.slow)])
def test_uniform_trees(num_nodes, root, backend, device):
    """By symmetry; without a single root, N edges fall on N(N+1)/2 pairs of nodes alike."""
    log_weights = torch.zeros(num_nodes + 1, num_nodes + 1, dtype=torch.float64, device=device)
    from_root, other = (1, 1) if root == "single" else (2, 1)
    total = num_nodes if root == "single" else num_nodes + 1
    expected = torch.full_like(log_weights, other / total)
    expected[0] = from_root / total
    expected[:, 0] = 0.0
    expected.fill_diagonal_(0.0)
    actual = st.edge_marginals(log_weights, root=root, backend=backend)
    assert_close(actual, expected, factor=1.0 / num_nodes)


@pytest.mark.parametrize("num_nodes", [20, 75, pytest.param(250, marks=pytest.mark.slow)])
def test_columns_sum_to_one_in_large_graphs(num_nodes, root, backend, device):
    log_weights = random_graphs((2,), num_nodes, scale=10.0, forbidden=0.1).to(device)
    marginals = st.edge_marginals(log_weights, root=root, backend=backend)
    assert_probabilities(marginals)
    if root == "single":
        assert_close(marginals[:, 0].sum(-1), torch.ones(2))


def test_certain_tree(root, backend, device):
    """One tree is all there is: its edges are certain, whatever they weigh."""
    chain = torch.full((5, 5), -torch.inf, dtype=torch.float64, device=device)
    chain.diagonal(offset=1).copy_(torch.tensor([-3.0, 1e4, -1e4, 0.5]))
    expected = torch.zeros(5, 5, dtype=torch.float64)
    expected.diagonal(offset=1).fill_(1.0)
    assert torch.equal(st.edge_marginals(chain, root=root, backend=backend).cpu(), expected)


@pytest.mark.parametrize("half", [torch.float32, torch.bfloat16, torch.float16], ids=str)
def test_coarse_dtype_is_the_float64_answer_rounded(half, root, backend, device):
    log_weights = random_graphs((8,), 7, scale=5.0, forbidden=0.2).to(device, half)
    actual = st.edge_marginals(log_weights, root=root, backend=backend)
    exact = st.edge_marginals(log_weights.double(), root=root, backend=backend)
    assert actual.dtype == torch.float32
    assert torch.equal(actual, exact.float())


def test_strides_do_not_matter(root, backend, device, dtype):
    log_weights = random_graphs((3, 4), 5).to(device, dtype)
    expected = st.edge_marginals(log_weights, root=root, backend=backend)
    transposed = log_weights.mT.contiguous().mT
    expanded = log_weights[0, 0].expand(3, 6, 6)
    assert torch.equal(st.edge_marginals(transposed, root=root, backend=backend), expected)
    actual = st.edge_marginals(expanded, root=root, backend=backend)
    assert torch.equal(actual, expected[0, :1].expand(3, 6, 6))


def test_minus_1e9_forbids_as_minus_inf_does(root, backend, device):
    """A mask of -1e9 is a weight like any other, and rounds to no weight at all."""
    log_weights = random_graphs((8,), 7, forbidden=0.5).to(device)
    masked = log_weights.masked_fill(log_weights.isneginf(), -1e9)
    actual = st.edge_marginals(masked, root=root, backend=backend)
    assert_close(actual, st.edge_marginals(log_weights, root=root, backend=backend))
    assert_probabilities(actual)


def test_single_root_may_be_any_distance_away(backend, device):
    log_weights = random_graphs((4,), 6).to(device)
    log_weights = log_weights.mul(64).round().div(64)  # so that the move below is exact
    expected = st.edge_marginals(log_weights, backend=backend)
    for distance in (64.0, 1024.0, 2.0**20, 2.0**30):
        moved = log_weights.clone()
        moved[:, 0] -= distance
        assert_close(st.edge_marginals(moved, backend=backend), expected)
