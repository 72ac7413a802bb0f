"""The two oracles against each other, and each against itself: they share no algorithm."""

import pytest
import torch

from spantree.inference.enumeration import enumerate_trees, log_partition_by_enumeration
from tests.graphs import brute_force_derivatives, random_directions, random_graphs
from tests.hostile import FAMILIES, hostile_log_weights
from tests.reference import exact_inference
from tests.tolerances import assert_close, assert_within, conditioning


@pytest.mark.parametrize("num_nodes", range(1, 6))
def test_enumeration_lists_each_tree_once(num_nodes):
    for root, count in (
        ("single", num_nodes ** (num_nodes - 1)),
        ("multi", (num_nodes + 1) ** (num_nodes - 1)),
    ):
        trees = enumerate_trees(num_nodes, root)
        assert len({tuple(heads) for heads in trees.tolist()}) == len(trees) == count
        assert (trees[:, 0] == -1).all()


def test_enumeration_without_a_tree(root):
    log_weights = random_graphs((3,), 4)
    log_weights[1, :, 2] = -torch.inf
    total = log_partition_by_enumeration(log_weights.requires_grad_(), root)
    assert total.isneginf().tolist() == [False, True, False]
    for _ in range(3):
        (gradient,) = torch.autograd.grad(total.sum(), log_weights, create_graph=True)
        assert gradient.isfinite().all()
        assert (gradient[1] == 0.0).all()
        total = gradient.square()


@pytest.mark.parametrize("family", FAMILIES)
def test_oracles_agree(family, root):
    """What enumeration loses in the exponentials of large scores is all that they differ by."""
    log_weights = hostile_log_weights(family, 4)
    directions = random_directions(2, log_weights)
    exact = exact_inference(log_weights, root, tuple(directions))
    total = log_partition_by_enumeration(log_weights, root)
    assert_within(total, exact.log_partition, 1e-14 * exact.log_partition.abs().clamp_min(1.0))
    derivatives = brute_force_derivatives(log_weights, directions, None, root)
    size = log_weights[log_weights.isfinite()].abs().max()
    unit = 1e-15 * size.clamp_min(1.0) * exact.marginals + 1e-300
    rounding = [4 * unit, 16 * unit, 64 * unit]
    for actual, expected, allowed in zip(derivatives, exact[1:4], rounding, strict=True):
        assert_within(actual, expected, allowed)


@pytest.mark.parametrize("family", FAMILIES)
def test_more_digits_change_nothing(family, root):
    """To the last bit of float64."""
    log_weights = hostile_log_weights(family, 4)
    directions = tuple(random_directions(2, log_weights))
    few = exact_inference(log_weights, root, directions)
    many = exact_inference(log_weights, root, directions, digits=few.digits + 200)
    assert many.digits > few.digits >= 300
    for a, b in zip(few[:4], many[:4], strict=True):
        relevant = b.abs() > 1e-300
        assert torch.equal(a[relevant], b[relevant])


def test_every_family_is_what_it_says():
    for family in FAMILIES:
        assert log_partition_by_enumeration(hostile_log_weights(family, 4), "single").isfinite()
        log_weights = hostile_log_weights(family, 8)
        if "1e4" in family:
            assert conditioning(log_weights) > 30.0
        if "600" in family:
            assert conditioning(log_weights) > 1.9


def test_assertion_helpers_can_fail():
    one = torch.tensor([1.0, 2.0], dtype=torch.float64)
    for wrong in (one + 1e-11, one * torch.nan, -one, one * torch.inf):
        with pytest.raises(AssertionError):
            assert_close(wrong, one)
    assert_close(one + 1e-13, one)
