"""Divergences where one distribution forbids what the other may have: infinite, never NaN."""

import pytest
import torch
from torch.distributions import kl_divergence

import spantree as st
from tests.brute import BruteForce
from tests.distributions.registry import labeled_graphs
from tests.graphs import random_graphs
from tests.tolerances import assert_close, assert_within


def pair(theta, spoilt, root, labeled):
    kind = st.LabeledSpanningTree if labeled else st.SpanningTree
    return kind(theta, root=root), kind(spoilt, root=root)


@pytest.fixture(params=[0, 2], ids=["plain", "labelled"])
def graphs(request):
    """Log-weights, and the same without an edge (or a label of it) of the second item."""
    labels = request.param
    theta = labeled_graphs((3,), 4, labels) if labels else random_graphs((3,), 4)
    spoilt = theta + 0.3
    spoilt[(1, 2, 3, *([1] if labels else []))] = -torch.inf
    return theta, spoilt, labels > 0


def test_mass_that_q_forbids(graphs, root):
    theta, spoilt, labeled = graphs
    p, q = pair(theta, spoilt, root, labeled)
    brute_p, brute_q = (BruteForce(x, root=root, labeled=labeled) for x in (theta, spoilt))
    for divergence in (p.cross_entropy, p.kl_divergence):
        assert divergence(q).isposinf().tolist() == [False, True, False]
    assert_close(p.kl_divergence(q), brute_p.kl_divergence(brute_q))
    # The other way round nothing is forbidden.
    assert_close(q.kl_divergence(p), brute_q.kl_divergence(brute_p))


def test_gradients_are_those_of_the_finite_part(graphs, root):
    """As if the forbidden edges had not been counted: finite, and 0 along them in q."""
    theta, spoilt, labeled = graphs
    theta, spoilt = theta.clone().requires_grad_(), spoilt.clone().requires_grad_()
    p, q = pair(theta, spoilt, root, labeled)
    total = p.kl_divergence(q).sum()
    gradients = torch.autograd.grad(total, (theta, spoilt), retain_graph=True)
    for gradient in gradients:
        assert gradient.isfinite().all()
    assert_within(gradients[1], (q.marginals - p.marginals).where(spoilt > -torch.inf, 0.0), 1e-12)
    gap = (theta.detach() - spoilt.detach()).where(spoilt > -torch.inf, 0.0)
    (expected,) = torch.autograd.grad((p.marginals * gap).sum(), theta)
    # Where all edges count, −μ from log Z of p meets the μ of ⟨μ, θ⟩, and nothing is left of them.
    assert_within(gradients[0][[0, 2]], expected[[0, 2]], 1e-12)


def test_an_edge_that_no_tree_has_is_no_mass():
    """With a single root, an edge below nobody; q may forbid it."""
    theta = random_graphs((), 3)
    theta[0, 2:] = -torch.inf  # only node 1 can be the root's child, so nothing is above it
    without = theta.clone()
    without[2:, 1] = -torch.inf
    p, q = st.SpanningTree(theta), st.SpanningTree(without)
    assert_within(kl_divergence(p, q), torch.tensor(0.0), 1e-12)


def test_single_against_multi_root():
    theta = random_graphs((3,), 3)
    theta[1, 0, 2:] = -torch.inf
    single, multi = st.SpanningTree(theta), st.SpanningTree(theta, root="multi")
    brute = [BruteForce(theta, root=root) for root in ("single", "multi")]
    assert_close(single.kl_divergence(multi), brute[0].kl_divergence(brute[1]))
    # Only where the root has one possible child are all trees of the one trees of the other.
    assert multi.kl_divergence(single).isposinf().tolist() == [True, False, True]
    assert_close(multi.kl_divergence(single), brute[1].kl_divergence(brute[0]))
    labeled = st.LabeledSpanningTree(theta[..., None].expand(3, 4, 4, 2), root="multi")
    other = st.LabeledSpanningTree(theta[..., None].expand(3, 4, 4, 2))
    assert labeled.cross_entropy(other).isposinf().tolist() == [True, False, True]


@pytest.mark.parametrize("which", ["p", "q"])
def test_graphs_without_a_tree(which, root):
    """Without validation: no mass diverges by 0, and no q is infinitely far."""
    theta = random_graphs((3,), 4).requires_grad_()
    cut = theta.detach().clone()
    cut[1, :, 2] = -torch.inf
    cut.requires_grad_()
    whole, none = (st.SpanningTree(x, root=root, validate_args=False) for x in (theta, cut))
    p, q = (none, whole) if which == "p" else (whole, none)
    divergence = p.kl_divergence(q)
    assert_within(divergence[[0, 2]], torch.zeros(2), 1e-12)
    assert divergence[1] == (0.0 if which == "p" else torch.inf)
    for gradient in torch.autograd.grad(divergence.sum(), (theta, cut)):
        assert gradient.isfinite().all()


def test_batches_broadcast(root):
    theta = random_graphs((2, 3), 4)
    p, q = st.SpanningTree(theta, root=root), st.SpanningTree(theta[0, 0], root=root)
    assert_close(p.kl_divergence(q), p.kl_divergence(q.expand((2, 3))))
    assert_close(q.kl_divergence(p), q.expand((2, 3)).kl_divergence(p))


@pytest.mark.parametrize(
    "question", ["entropy", "renyi_entropy", "norm", "covariance", "marginals"]
)
def test_gradients_where_edges_are_forbidden(question, root):
    """Finite everywhere, and exactly 0 along what is no edge."""
    theta = random_graphs((4,), 5, forbidden=0.6).requires_grad_()
    d = st.SpanningTree(theta, root=root)
    value = {
        "entropy": d.entropy,
        "renyi_entropy": lambda: d.renyi_entropy(0.5),
        "norm": lambda: d.norm(3),
        "covariance": lambda: d.covariance(torch.rand(6, 6, 2)),
        "marginals": lambda: d.marginals.square(),
    }[question]()
    (gradient,) = torch.autograd.grad(value.sum(), theta, create_graph=True)
    (second,) = torch.autograd.grad(gradient.square().sum(), theta)
    for derivative in (gradient, second):
        assert derivative.isfinite().all()
        assert (derivative[theta.isneginf()] == 0.0).all()
        assert (derivative.diagonal(dim1=-2, dim2=-1) == 0.0).all()
        assert (derivative[..., 0] == 0.0).all()


def test_infinite_features_off_the_edges(root):
    """Where there is no edge a feature may be anything; no tree has it."""
    theta = random_graphs((), 5, forbidden=0.5)
    d = st.SpanningTree(theta, root=root)
    edge = (theta > -torch.inf) & (d.marginals >= 0.0)
    edge &= ~torch.eye(6, dtype=torch.bool)
    edge[:, 0] = False
    clean = torch.rand(6, 6, 2, dtype=torch.float64).where(edge[..., None], 0.0)
    wild = clean.where(edge[..., None], torch.nan)
    assert torch.equal(d.expectation(wild), d.expectation(clean))
    assert torch.equal(d.covariance(wild), d.covariance(clean))
    assert torch.equal(d.product_expectation(wild), d.product_expectation(clean))


def test_a_product_that_no_tree_has(root):
    theta = random_graphs((2,), 4).requires_grad_()
    d = st.SpanningTree(theta, root=root)
    log_q = torch.zeros(2, 5, 5, dtype=torch.float64)
    log_q[1, :, 2] = -torch.inf
    value = d.product_expectation(log_q)
    assert_within(value[0], torch.tensor(0.0), 1e-12)
    assert value[1] == -torch.inf
    (gradient,) = torch.autograd.grad(value.sum(), theta)
    assert gradient.isfinite().all()
