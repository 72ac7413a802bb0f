"""Log Z: brute force, counts of trees, shapes, dtypes, and what must not matter."""

from math import log

import pytest
import torch

import spantree as st
from tests.graphs import brute_force, random_graphs, random_lengths, with_garbage
from tests.tolerances import assert_close, assert_within

COUNTED = [1, 2, 5, 11, 40, 100, *(pytest.param(n, marks=pytest.mark.slow) for n in (201, 333))]


@pytest.mark.parametrize("num_nodes", range(1, 6))
@pytest.mark.parametrize("forbidden", [0.0, 0.3, 0.7])
def test_equals_brute_force(num_nodes, forbidden, root, backend, device, dtype):
    log_weights = random_graphs((16,), num_nodes, forbidden=forbidden).to(device, dtype)
    actual = st.log_partition(log_weights, root=root, backend=backend)
    assert_close(actual, brute_force(log_weights.double(), None, root))


def test_ragged_batch_equals_brute_force(root, backend, device, dtype):
    log_weights = random_graphs((4, 6), 5, forbidden=0.3).to(device, dtype)
    lengths = random_lengths((4, 6), 5).to(device)
    actual = st.log_partition(
        with_garbage(log_weights, lengths), lengths, root=root, backend=backend
    )
    assert_close(actual, brute_force(log_weights.double(), lengths, root))


@pytest.mark.parametrize("batch_shape", [(), (1,), (2, 3), (2, 1, 3)], ids=str)
def test_any_leading_shape(batch_shape, root, backend, device, dtype):
    log_weights = random_graphs(batch_shape, 4).to(device, dtype)
    lengths = torch.full(batch_shape, 3, device=device)
    for given in (None, lengths):
        actual = st.log_partition(log_weights, given, root=root, backend=backend)
        assert actual.shape == batch_shape
        assert_close(actual, brute_force(log_weights.double(), given, root))


@pytest.mark.parametrize("batch_shape", [(0,), (2, 0)], ids=str)
def test_empty_batch(batch_shape, root, backend, device, dtype):
    log_weights = torch.zeros(*batch_shape, 4, 4, device=device, dtype=dtype, requires_grad=True)
    for lengths in (None, torch.zeros(batch_shape, dtype=torch.int64, device=device)):
        actual = st.log_partition(log_weights, lengths, root=root, backend=backend)
        assert actual.shape == batch_shape
        (gradient,) = torch.autograd.grad(actual.sum(), log_weights)
        assert gradient.shape == log_weights.shape


@pytest.mark.parametrize("num_nodes", COUNTED)
def test_counts_trees(num_nodes, root, backend, device):
    """Cayley: N^(N-1) labelled rooted trees, (N+1)^(N-1) labelled trees on N + 1 nodes."""
    base = num_nodes if root == "single" else num_nodes + 1
    log_weights = torch.zeros(num_nodes + 1, num_nodes + 1, dtype=torch.float64, device=device)
    actual = st.log_partition(log_weights, root=root, backend=backend)
    assert_close(actual, torch.tensor((num_nodes - 1) * log(base), dtype=torch.float64))


def test_hand_derived_value(root, backend, device):
    """Two nodes: 0→1→2 weighs 3·5, 0→2→1 weighs 4·2, and both below the root 3·4."""
    weights = torch.tensor([[0.0, 3.0, 4.0], [0.0, 0.0, 5.0], [0.0, 2.0, 0.0]], device=device)
    expected = 3 * 5 + 4 * 2 + (3 * 4 if root == "multi" else 0)
    actual = st.log_partition(weights.double().log(), root=root, backend=backend)
    assert_close(actual, torch.tensor(log(expected), dtype=torch.float64))


def test_single_root_is_the_default(device):
    log_weights = torch.zeros(4, 4, dtype=torch.float64, device=device)
    assert_close(st.log_partition(log_weights), torch.tensor(log(9), dtype=torch.float64))


@pytest.mark.parametrize("half", [torch.float32, torch.bfloat16, torch.float16], ids=str)
def test_coarse_dtype_is_the_float64_answer_rounded(half, root, backend, device):
    log_weights = random_graphs((8,), 7, scale=5.0, forbidden=0.2).to(device, half)
    actual = st.log_partition(log_weights, root=root, backend=backend)
    exact = st.log_partition(log_weights.double(), root=root, backend=backend)
    assert actual.dtype == torch.float32
    assert torch.equal(actual, exact.float())


@pytest.mark.parametrize(
    "integer", [torch.int8, torch.uint8, torch.uint16, torch.int32, torch.int64], ids=str
)
def test_any_integer_dtype_of_lengths(integer, backend, device):
    log_weights = random_graphs((5,), 4).to(device)
    lengths = random_lengths((5,), 4).to(device)
    expected = st.log_partition(log_weights, lengths, backend=backend)
    assert torch.equal(
        st.log_partition(log_weights, lengths.to(integer), backend=backend), expected
    )


def test_strides_do_not_matter(root, backend, device, dtype):
    log_weights = random_graphs((3, 4), 5).to(device, dtype)
    lengths = random_lengths((3, 4), 5).to(device)
    expected = st.log_partition(log_weights, lengths, root=root, backend=backend)
    transposed = log_weights.mT.contiguous().mT
    permuted = log_weights.permute(3, 1, 0, 2).contiguous().permute(2, 1, 3, 0)
    sliced = torch.stack([log_weights, -log_weights], dim=-1)[..., 0]
    strided_lengths = torch.stack([lengths, lengths], dim=-1)[..., 0]
    for view in (transposed, permuted, sliced):
        assert not view.is_contiguous()
        actual = st.log_partition(view, strided_lengths, root=root, backend=backend)
        assert torch.equal(actual, expected)


def test_expanded_input(root, backend, device, dtype):
    one = random_graphs((), 5).to(device, dtype).requires_grad_()
    actual = st.log_partition(one.expand(3, 6, 6), root=root, backend=backend)
    assert torch.equal(actual, st.log_partition(one, root=root, backend=backend).expand(3))
    (gradient,) = torch.autograd.grad(actual.sum(), one)
    marginals = st.edge_marginals(one, root=root, backend=backend)
    assert_close(gradient, 3 * marginals.to(gradient))


def test_garbage_off_the_edges_does_not_matter(root, backend, device, dtype):
    log_weights = random_graphs((6,), 6, forbidden=0.2).to(device, dtype)
    lengths = random_lengths((6,), 6).to(device)
    for given in (None, lengths):
        clean = st.log_partition(log_weights, given, root=root, backend=backend)
        dirty = with_garbage(log_weights, given)
        assert torch.equal(st.log_partition(dirty, given, root=root, backend=backend), clean)


def test_input_stays_as_it_is(root, backend, device, dtype):
    log_weights = with_garbage(random_graphs((3,), 4).to(device, dtype))
    lengths = torch.tensor([4, 1, 2], device=device)
    before = log_weights.clone(), lengths.clone()
    st.log_partition(log_weights, lengths, root=root, backend=backend)
    assert_within(log_weights.nan_to_num(), before[0].nan_to_num(), 0.0)
    assert torch.equal(lengths, before[1])


@pytest.mark.parametrize("distance", [1e4, 1e9])
def test_single_root_may_be_any_distance_away(distance, backend, device):
    """Every tree holds one root edge, so raising them all moves log Z and no probability."""
    log_weights = random_graphs((4,), 6).to(device)
    moved = log_weights.clone()
    moved[:, 0] -= distance
    expected = st.log_partition(log_weights, backend=backend) - distance
    assert_close(st.log_partition(moved, backend=backend), expected)


def test_gradient_has_the_dtype_of_the_input(backend, device):
    for half in (torch.float64, torch.float32, torch.bfloat16, torch.float16):
        log_weights = random_graphs((2,), 4).to(device, half).requires_grad_()
        (gradient,) = torch.autograd.grad(
            st.log_partition(log_weights, backend=backend).sum(), log_weights
        )
        assert gradient.dtype == half
        assert_close(gradient, st.edge_marginals(log_weights.double(), backend=backend))
