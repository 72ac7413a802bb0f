"""Identities that hold for all weights: Hypothesis looks for weights for which they do not."""

import hypothesis.strategies as st
import pytest
import torch
from hypothesis import given
from torch import Tensor

from spantree import edge_marginals, hessian_vector_product, log_partition
from spantree.inference.enumeration import enumerate_trees, tree_scores
from tests.graphs import with_garbage
from tests.strategies import batches, directions_like, lengths_for, permutations_of_nodes
from tests.tolerances import assert_close, assert_probabilities, assert_within, conditioning

# The magnitudes of the weights: everyday ones, and ones whose exponentials no double holds.
magnitudes = pytest.mark.parametrize("magnitude", [20.0, 3000.0])


def relative_slack(*log_weights: Tensor) -> float:
    """What twice the promise and the rounding of a log-weight can make of a probability."""
    largest = max((x[x.isfinite()].abs().max().item() for x in log_weights if x.numel()), default=0)
    n = log_weights[0].shape[-1]
    return 4e-12 * conditioning(log_weights[0]) + 4 * n * torch.finfo(torch.float64).eps * largest


def assert_same_probabilities(actual: Tensor, expected: Tensor, slack: float) -> None:
    assert_within(actual, expected, slack * expected + 1e-250)


@magnitudes
@given(data=st.data())
def test_marginals_are_probabilities(magnitude, data, root):
    log_weights = data.draw(batches(magnitude=magnitude))
    marginals = edge_marginals(log_weights, root=root)
    assert_probabilities(marginals)
    from_root = marginals[..., 0, :].sum(-1)
    if root == "single":
        assert_close(from_root, torch.ones_like(from_root))
    else:
        assert (from_root >= 1.0 - 1e-12).all()


@magnitudes
@given(data=st.data())
def test_gradient_of_log_partition_is_the_marginals(magnitude, data, root):
    log_weights = data.draw(batches(magnitude=magnitude)).requires_grad_()
    lengths = data.draw(st.none() | lengths_for(log_weights.detach()))
    total = log_partition(log_weights, lengths, root=root).sum()
    (gradient,) = torch.autograd.grad(total, log_weights)
    marginals = edge_marginals(log_weights, lengths, root=root)
    assert_same_probabilities(gradient, marginals, relative_slack(log_weights.detach()))


@magnitudes
@given(data=st.data())
def test_shifting_a_column_shifts_log_partition_alone(magnitude, data, root):
    """Every tree holds exactly one edge into each node."""
    log_weights = data.draw(batches(magnitude=magnitude))
    n = log_weights.shape[-1]
    shift = torch.tensor([data.draw(st.floats(-magnitude, magnitude)) for _ in range(n)]).double()
    shifted = log_weights + shift
    expected = log_partition(log_weights, root=root) + shift[1:].sum()
    allowed = 1e-12 * (expected.abs() + shift.abs().sum() + n * magnitude)
    assert_within(log_partition(shifted, root=root), expected, allowed)
    marginals = edge_marginals(log_weights, root=root)
    slack = relative_slack(log_weights, shifted)
    assert_same_probabilities(edge_marginals(shifted, root=root), marginals, slack)


@magnitudes
@given(data=st.data())
def test_shifting_the_root_edges_of_a_single_root(magnitude, data):
    """Every tree holds exactly one of them."""
    log_weights = data.draw(batches(magnitude=magnitude))
    shift = data.draw(st.floats(-magnitude, magnitude))
    shifted = log_weights.clone()
    shifted[..., 0, :] += shift
    expected = log_partition(log_weights) + shift
    allowed = 1e-12 * (expected.abs() + abs(shift) + log_weights.shape[-1] * magnitude)
    assert_within(log_partition(shifted), expected, allowed)
    slack = relative_slack(log_weights, shifted) * max(1.0, conditioning(shifted))
    assert_same_probabilities(edge_marginals(shifted), edge_marginals(log_weights), slack)


@magnitudes
@given(data=st.data())
def test_relabelling_nodes_relabels_marginals(magnitude, data, root):
    log_weights = data.draw(batches(magnitude=magnitude))
    order = data.draw(permutations_of_nodes(log_weights))
    relabelled = log_weights[..., order, :][..., order]
    assert_close(log_partition(relabelled, root=root), log_partition(log_weights, root=root), 2.0)
    marginals = edge_marginals(log_weights, root=root)[..., order, :][..., order]
    actual = edge_marginals(relabelled, root=root)
    assert_same_probabilities(actual, marginals, relative_slack(log_weights))


@magnitudes
@given(data=st.data())
def test_batch_equals_loop(magnitude, data, root):
    log_weights = data.draw(batches(batch_shapes=[(3,), (2, 3)], magnitude=magnitude))
    lengths = data.draw(lengths_for(log_weights))
    direction = data.draw(directions_like(log_weights))
    together = _everything(log_weights, direction, lengths, root)
    for index in torch.cartesian_prod(*map(torch.arange, lengths.shape)).reshape(-1, lengths.ndim):
        item = tuple(index.tolist())
        alone = _everything(log_weights[item], direction[item], lengths[item], root)
        for a, b in zip(together, alone, strict=True):
            assert torch.equal(a[item], b)


@magnitudes
@given(data=st.data())
def test_padding_changes_nothing(magnitude, data, root):
    log_weights = data.draw(batches(batch_shapes=[(), (3,)], magnitude=magnitude))
    direction = data.draw(directions_like(log_weights))
    n, more = log_weights.shape[-1], data.draw(st.integers(0, 9))
    lengths = torch.full(log_weights.shape[:-2], n - 1)
    padded = torch.nn.functional.pad(torch.stack([log_weights, direction]), (0, more, 0, more))
    expected = _everything(log_weights, direction, None, root)
    actual = _everything(*with_garbage(padded, lengths), lengths, root)
    for a, b in zip(actual, expected, strict=True):
        a = a[..., :n, :n] if a.ndim > lengths.ndim else a
        assert torch.equal(a, b)


def _everything(
    log_weights: Tensor, direction: Tensor, lengths: Tensor | None, root: str
) -> tuple[Tensor, Tensor, Tensor]:
    return (
        log_partition(log_weights, lengths, root=root),
        edge_marginals(log_weights, lengths, root=root),
        hessian_vector_product(log_weights, direction, lengths, root=root),
    )


@given(data=st.data())
def test_multi_root_sums_over_the_numbers_of_root_edges(data):
    """Z is the single-root Z and, for every larger number of root edges, the trees with so many."""
    log_weights = data.draw(batches(batch_shapes=[()], max_nodes=4))
    trees = enumerate_trees(log_weights.shape[-1] - 1, "multi")
    root_edges = (trees == 0).sum(-1)
    single = log_partition(log_weights, root="single")
    more = [
        tree_scores(log_weights, trees[root_edges == count]).logsumexp(-1)
        for count in range(2, log_weights.shape[-1])
    ]
    expected = torch.stack([single, *more]).logsumexp(-1)
    assert_close(log_partition(log_weights, root="multi"), expected)


@given(data=st.data())
def test_faint_root_edges_leave_single_roots(data):
    """Root edges of weight t → 0 make every tree but those with one of them impossible."""
    log_weights = data.draw(batches())
    faint = log_weights.clone()
    faint[..., 0, :] -= 1e5
    expected = edge_marginals(log_weights, root="single")
    assert_within(edge_marginals(faint, root="multi"), expected, 1e-8 * expected + 1e-250)
    expected = log_partition(log_weights, root="single") - 1e5
    assert_close(log_partition(faint, root="multi"), expected)


@given(data=st.data())
def test_forbidding_an_edge_removes_its_probability(data, root):
    """Z without an edge is (1 - μ) Z."""
    log_weights = data.draw(batches(batch_shapes=[()], magnitude=5.0))
    n = log_weights.shape[-1]
    dependent = data.draw(st.integers(1, n - 1))
    head = data.draw(st.integers(0, n - 1).filter(lambda i: i != dependent))
    without = log_weights.clone()
    without[head, dependent] = -torch.inf
    rest = log_partition(without, root=root, validate_args=False)
    ratio = (rest - log_partition(log_weights, root=root)).exp()
    marginals = edge_marginals(log_weights, root=root)
    assert_close(ratio, 1.0 - marginals[head, dependent], 10.0)


@magnitudes
@given(data=st.data())
def test_hessian_is_symmetric(magnitude, data, root):
    log_weights = data.draw(batches(magnitude=magnitude))
    u, v = data.draw(directions_like(log_weights)), data.draw(directions_like(log_weights))
    along_u = hessian_vector_product(log_weights, u, root=root)
    along_v = hessian_vector_product(log_weights, v, root=root)
    left, right = (along_u * v).sum((-2, -1)), (along_v * u).sum((-2, -1))
    assert_close(left, right, 100.0 * conditioning(log_weights))


@magnitudes
@given(data=st.data())
def test_hessian_is_a_covariance(magnitude, data, root):
    """Never negative with itself; linear; 0 with what is the same for all trees."""
    log_weights = data.draw(batches(magnitude=magnitude))
    slack = 100.0 * conditioning(log_weights)
    u = data.draw(directions_like(log_weights))
    along_u = hessian_vector_product(log_weights, u, root=root)
    assert ((along_u * u).sum((-2, -1)) >= -1e-12 * slack).all()
    assert_close(along_u.sum(-2), torch.zeros_like(along_u[..., 0, :]), slack)
    by_node = u[..., :1, :].expand_as(u)
    along_nodes = hessian_vector_product(log_weights, by_node, root=root)
    assert_close(along_nodes, torch.zeros_like(u), slack)
    along_both = hessian_vector_product(log_weights, 2.0 * u - by_node, root=root)
    assert_close(along_both, 2.0 * along_u, slack)


@given(data=st.data())
def test_log_partition_is_convex(data, root):
    """Being a logarithm of a sum of exponentials of linear functions."""
    left = data.draw(batches(batch_shapes=[()], forbid=False))
    right = left + data.draw(directions_like(left))
    middle = log_partition((left + right) / 2, root=root)
    ends = log_partition(torch.stack([left, right]), root=root)
    assert middle <= ends.mean() + 1e-12 * ends.abs().sum()
    assert ends.mean() <= ends.max()


@magnitudes
@given(data=st.data())
def test_backends_agree(magnitude, data, root):
    log_weights = data.draw(batches(magnitude=magnitude))
    lengths = data.draw(st.none() | lengths_for(log_weights))
    by_kernel, by_twin = (
        edge_marginals(log_weights, lengths, root=root, backend=backend)
        for backend in ("native", "torch")
    )
    assert_same_probabilities(by_twin, by_kernel, relative_slack(log_weights))
