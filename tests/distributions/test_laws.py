"""Identities and inequalities of the quantities, for weights that Hypothesis looks for."""

import hypothesis.strategies as st
import pytest
import torch
from hypothesis import given
from torch.distributions import kl_divergence

from spantree import LabeledSpanningTree, SpanningTree
from spantree.inference.enumeration import enumerate_trees, tree_scores
from tests.strategies import batches, directions_like, lengths_for
from tests.tolerances import assert_close, assert_within, conditioning

magnitudes = pytest.mark.parametrize("magnitude", [20.0, 3000.0])


def rounding(log_weights: torch.Tensor) -> float:
    """What the rounding of log Z and of the largest log-weights can make of a sum of these."""
    finite = log_weights[log_weights.isfinite()]
    largest = finite.abs().max().item() if finite.numel() else 0.0
    return 1e-12 + 1e-14 * log_weights.shape[-1] * largest


@magnitudes
@given(data=st.data())
def test_entropy_is_between_zero_and_the_logarithm_of_the_number_of_trees(magnitude, data, root):
    log_weights = data.draw(batches(magnitude=magnitude))
    lengths = data.draw(st.none() | lengths_for(log_weights))
    d = SpanningTree(log_weights, lengths, root=root)
    slack = rounding(log_weights)
    entropy, most = d.entropy(), d.renyi_entropy(0)
    assert (entropy >= -slack).all()
    assert (entropy <= most + slack).all()


@given(data=st.data())
def test_hartley_entropy_counts_the_trees(data, root):
    log_weights = data.draw(batches(batch_shapes=[()], max_nodes=4))
    trees = enumerate_trees(log_weights.shape[-1] - 1, root)
    count = (tree_scores(log_weights, trees) > -torch.inf).sum()
    assert_close(SpanningTree(log_weights, root=root).renyi_entropy(0), count.double().log())


@magnitudes
@given(data=st.data())
def test_divergence_is_not_negative(magnitude, data, root):
    log_weights = data.draw(batches(magnitude=magnitude))
    scale = data.draw(st.sampled_from([1.0, 1e-3, 1e-6]))
    other = log_weights + scale * data.draw(directions_like(log_weights))
    p, q = SpanningTree(log_weights, root=root), SpanningTree(other, root=root)
    slack = rounding(log_weights)
    assert (kl_divergence(p, q) >= -slack).all()
    assert (kl_divergence(q, p) >= -slack).all()
    assert torch.equal(kl_divergence(p, p), torch.zeros(p.batch_shape, dtype=torch.float64))
    allowed = slack * (1.0 + p.cross_entropy(q).abs())
    assert_within(kl_divergence(p, q), p.cross_entropy(q) - p.entropy(), allowed)


@magnitudes
@given(data=st.data())
def test_divergence_of_what_is_the_same(magnitude, data, root):
    """Constants added to columns change no distribution."""
    log_weights = data.draw(batches(magnitude=magnitude))
    shift = data.draw(directions_like(log_weights))[..., :1, :]
    p, q = SpanningTree(log_weights, root=root), SpanningTree(log_weights + shift, root=root)
    divergence = kl_divergence(p, q)
    assert_within(divergence, torch.zeros_like(divergence), rounding(log_weights))


@magnitudes
@given(data=st.data())
def test_renyi_entropy_decreases_in_its_order(magnitude, data, root):
    log_weights = data.draw(batches(magnitude=magnitude))
    d = SpanningTree(log_weights, root=root)
    orders = [0, 0.3, 0.9, 1 - 1e-6, 1, 1 + 1e-6, 1.2, 2, 10, torch.inf]
    entropies = torch.stack([d.renyi_entropy(order) for order in orders])
    # Near 1 the rounding of log Z is divided by the distance from 1; see the next test for that.
    slack = 20 * rounding(log_weights)
    assert (entropies.diff(dim=0) <= slack).all()
    assert (entropies >= -slack).all()


@magnitudes
@given(data=st.data())
def test_renyi_entropy_is_continuous_at_one(magnitude, data, root):
    """H_α differs from H by less than |α − 1| times the variance of log p, and a little."""
    log_weights = data.draw(batches(magnitude=magnitude))
    d = SpanningTree(log_weights, root=root)
    log_weights = log_weights.where(log_weights > -torch.inf, 0.0)
    heaviest = (log_weights.amax(-2) - log_weights.amin(-2)).sum(-1)
    gap = data.draw(st.sampled_from([1e-3, 1.01e-4, 0.99e-4, 1e-7, 1e-12]))
    for order in (1 - gap, 1 + gap):
        allowed = gap * (1.0 + heaviest.square()) + rounding(log_weights) / min(1.0, gap / 1e-4)
        assert_within(d.renyi_entropy(order), d.entropy(), allowed)


@pytest.mark.parametrize("order", [0.95, 0.9995, 1 - 1.5e-4, 1 + 1e-5, 1 + 1.5e-4, 1.01])
@given(data=st.data())
def test_renyi_entropy_near_one_does_not_magnify_what_log_partition_rounds(order, data, root):
    """Constants of any size in the columns change nothing but the size of log Z."""
    log_weights = data.draw(batches(batch_shapes=[(), (3,)], magnitude=5.0, max_nodes=4))
    shift = torch.tensor([0.0, 1e4, -2e4, 3e4, 5e3]).double()[: log_weights.shape[-1]]
    expected = SpanningTree(log_weights, root=root).renyi_entropy(order)
    actual = SpanningTree(log_weights + shift, root=root).renyi_entropy(order)
    assert_within(actual, expected, 2e-10)


@given(data=st.data())
def test_norms_decrease_in_their_order(data, root):
    """From the ℓ_1 norm, which is 1, to the largest probability."""
    d = SpanningTree(data.draw(batches()), root=root)
    norms = torch.stack([d.norm(order) for order in (0.5, 1, 1.5, 2, 5, torch.inf)])
    assert (norms.diff(dim=0) <= 1e-12 * norms[:-1]).all()
    assert_close(norms[1], torch.ones_like(norms[1]))
    assert_close(norms[3].log(), -0.5 * d.renyi_entropy(2))


@magnitudes
@given(data=st.data())
def test_covariance_is_symmetric_and_positive_semidefinite(magnitude, data, root):
    log_weights = data.draw(batches(magnitude=magnitude))
    features = torch.stack([data.draw(directions_like(log_weights)) for _ in range(3)], -1)
    d = SpanningTree(log_weights, root=root)
    covariance = d.covariance(features)
    assert torch.equal(covariance, covariance.mT)
    slack = 1e-10 * conditioning(log_weights)
    assert (torch.linalg.eigvalsh(covariance) >= -slack).all()
    assert_within(covariance, d.covariance(features, features.clone()), slack)
    mean = d.expectation(features)
    moment = covariance + mean[..., None] * mean[..., None, :]
    assert_within(d.second_moment(features), moment, slack)


@given(data=st.data())
def test_chain_rule(data, root):
    """P(a and b) = P(a) P(b | a) of the heads of a tree."""
    log_weights = data.draw(batches(batch_shapes=[(), (3,)], magnitude=5.0))
    n = log_weights.shape[-1]
    d = SpanningTree(log_weights, root=root)
    tree = d.mode
    known = torch.tensor([data.draw(st.sampled_from("ab-")) == "-" for _ in range(n)])
    in_a = torch.tensor([data.draw(st.booleans()) for _ in range(n)])
    both = tree.where(~known, -1)
    a, b = both.where(in_a, -1), both.where(~in_a, -1)
    assert_close(d.joint(both), d.joint(a) + d.condition(a).joint(b), 10.0)


@magnitudes
@given(data=st.data())
def test_one_label_is_no_label(magnitude, data, root):
    log_weights = data.draw(batches(magnitude=magnitude))
    lengths = data.draw(st.none() | lengths_for(log_weights))
    p = SpanningTree(log_weights, lengths, root=root)
    q = LabeledSpanningTree(log_weights[..., None], lengths, root=root)
    assert torch.equal(p.log_partition, q.log_partition)
    assert torch.equal(p.marginals, q.marginals[..., 0])
    assert_within(q.entropy(), p.entropy(), rounding(log_weights))


@given(data=st.data())
def test_splitting_an_edge_into_labels(data, root):
    """Equal shares of the weight: the tree is as before, and each edge adds log Y of entropy."""
    log_weights = data.draw(batches())
    count = data.draw(st.integers(1, 5))
    split = log_weights[..., None] - torch.tensor(float(count)).log()
    p = SpanningTree(log_weights, root=root)
    q = LabeledSpanningTree(split.expand(*log_weights.shape, count), root=root)
    slack = 1e-6 if count > 1 else 1e-12  # log Y came in float32
    assert_within(q.log_partition, p.log_partition, slack * (1 + p.log_partition.abs()))
    assert_within(q.unlabeled.marginals, p.marginals, slack * p.marginals + 1e-250)
    more = (log_weights.shape[-1] - 1) * torch.tensor(count, dtype=torch.float64).log()
    assert_within(q.entropy(), p.entropy() + more, slack * (1 + more))


@magnitudes
@given(data=st.data())
def test_multi_root_weighs_more(magnitude, data):
    log_weights = data.draw(batches(magnitude=magnitude))
    single, multi = (SpanningTree(log_weights, root=root) for root in ("single", "multi"))
    slack = rounding(log_weights)
    assert (multi.log_partition >= single.log_partition - slack).all()
    # The single-root distribution is the other one, given that there is a single root edge.
    expected = multi.log_partition - single.log_partition
    assert_within(kl_divergence(single, multi), expected, slack * (1 + expected.abs()))
