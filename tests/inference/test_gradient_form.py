"""The Hessian from the gradient: brute force off the edges too, and what its subtractions lose."""

import pytest
import torch

from spantree.inference.ensemble import Ensemble
from spantree.inference.enumeration import enumerate_trees
from spantree.inference.gradient_form import GradientForm
from tests.graphs import brute_force, random_directions, random_graphs, random_lengths
from tests.hostile import FAMILIES, hostile_log_weights
from tests.tolerances import assert_close, assert_within, conditioning


def form_of(log_weights, lengths, root, **kwargs):
    return GradientForm.of(Ensemble.of(log_weights, lengths, root, None, **kwargs))


@pytest.mark.parametrize("num_nodes", range(1, 6))
@pytest.mark.parametrize("forbidden", [0.0, 0.5, 1.0])
def test_gradient_of_every_pair_equals_brute_force(num_nodes, forbidden, root):
    """Where no edge is, the derivative is the total weight of the trees that would have it."""
    log_weights = random_graphs((12,), num_nodes, forbidden=forbidden)
    form = form_of(log_weights, None, root)
    assert form.holds.all()
    assert_close(form.log_partition, brute_force(log_weights, None, root))
    weights = log_weights.exp().requires_grad_()
    trees = enumerate_trees(num_nodes, root)[:, 1:]
    total = weights[:, trees, torch.arange(1, num_nodes + 1)].prod(-1).sum(-1)
    (gradient,) = torch.autograd.grad(total.log().sum(), weights)
    assert_close(form.marginals, weights * gradient)
    # The form's weights are scaled by column, and so is its gradient; an edge tells how.
    pair = ~torch.eye(num_nodes, dtype=torch.bool)
    among, scaled = weights.detach()[:, 1:, 1:].where(pair, 0.0), form.weights[:, 1:, 1:]
    scale = (scaled.amax(1) / among.amax(1))[:, None].nan_to_num()
    expected = gradient[:, 1:, 1:].where(pair & (scale > 0.0), 0.0)
    actual = (form.gradient[:, 1:, 1:] * scale).where(pair, 0.0)
    assert_within(actual, expected, 1e-12 * expected + 1e-50)


@pytest.mark.parametrize("forbidden", [0.0, 0.4, 0.8])
@pytest.mark.parametrize("labels", [0, 3])
def test_products_equal_the_accurate_ones(forbidden, labels, root):
    lengths = random_lengths((2, 4), 9)
    log_weights = random_graphs((2, 4), 9, forbidden=forbidden)
    if labels:
        log_weights = log_weights[..., None] + torch.randn(labels, dtype=torch.float64)
    form = form_of(log_weights, lengths, root, labeled=bool(labels))
    directions = random_directions(3, form.ensemble.log_weights)
    directions = directions.where(form.ensemble.present, 0.0)
    expected = form.ensemble.hessian_vector_product(directions)
    assert_within(form.products(directions), expected, 1e-13)
    if not labels:
        rows = form.products_of_edges(20, 70)
        edges = torch.eye(100, dtype=torch.float64)[20:70].reshape(50, 1, 1, 10, 10)
        edges = edges.expand(50, 2, 4, 10, 10).where(form.ensemble.present, 0.0)
        expected = form.ensemble.hessian_vector_product(edges)
        assert_within(rows.reshape(expected.shape), expected, 1e-13)


@pytest.mark.parametrize("family", FAMILIES)
def test_harmless_is_harmless(family, root):
    """Whatever is judged to lose less than 1e-8 does."""
    log_weights = torch.stack([hostile_log_weights(family, 10, seed) for seed in range(4)])
    generator = torch.Generator().manual_seed(0)
    for item in log_weights:
        form = form_of(item, None, root)
        if form.harmless_below(1e-8):
            direction = torch.rand(11, 11, generator=generator, dtype=torch.float64)
            direction = direction.where(form.ensemble.present, 0.0)
            exact = form.ensemble.hessian_vector_product(direction)
            allowed = 1e-8 + 1e-12 * conditioning(item)
            assert_within(form.products(direction), exact, allowed)


@pytest.mark.parametrize("scale", [1.0, 3.0])
def test_gentle_weights_are_harmless(scale, root):
    form = form_of(random_graphs((64,), 40, scale=scale), None, root)
    assert form.harmless_below(1e-12)


def test_bound_nodes_are_not(root):
    log_weights = random_graphs((4,), 10, scale=1.0)
    log_weights[2, 1, 2] = log_weights[2, 2, 1] = 40.0
    form = form_of(log_weights, None, root)
    assert not form.harmless_below(1e-8)


def test_a_graph_without_a_tree_is_not(root):
    log_weights = random_graphs((4,), 6)
    log_weights[1, :, 3] = -torch.inf
    form = form_of(log_weights, None, root)
    assert form.holds.tolist() == [True, False, True, True]
