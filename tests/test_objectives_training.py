"""Training free score matrices by gradient descent: every objective moves what it should."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

import spantree as st
from spantree import objectives
from tests.graphs import random_graphs
from tests.tolerances import assert_within


def trained(loss: Callable[[Tensor], Tensor], theta: Tensor, steps: int, rate: float) -> Tensor:
    """Free scores after gradient descent."""
    theta = theta.clone().requires_grad_()
    optimizer = torch.optim.Adam([theta], lr=rate)
    for _ in range(steps):
        optimizer.zero_grad()
        loss(theta).sum().backward()
        assert theta.grad.isfinite().all()
        optimizer.step()
    return theta.detach()


START = random_graphs((4,), 8, scale=0.5)
GOLD = torch.tensor([-1, 2, 0, 2, 3, 6, 4, 8, 2])


def test_likelihood_reaches_the_gold_tree(root):
    theta = trained(
        lambda x: objectives.negative_log_likelihood(st.SpanningTree(x, root=root), GOLD),
        START,
        steps=60,
        rate=0.3,
    )
    d = st.SpanningTree(theta, root=root)
    assert (d.mode[:, 1:] == GOLD[1:]).all()
    assert (d.log_prob(GOLD).exp() > 0.9).all()


def test_likelihood_of_partial_trees_learns_what_is_known(root):
    """Heads of half of the nodes; where nothing is known, no tree that agrees is left out."""
    known = torch.arange(9) % 2 == 0
    partial = GOLD.where(known, -1)
    theta = trained(
        lambda x: objectives.negative_log_likelihood(st.SpanningTree(x, root=root), partial),
        START,
        steps=60,
        rate=0.3,
    )
    d = st.SpanningTree(theta, root=root)
    assert (d.mode[:, known][:, 1:] == GOLD[known][1:]).all()
    assert (d.joint(partial).exp() > 0.9).all()
    assert (d.entropy() > 0.5).all()


@pytest.mark.parametrize("labeled", [False, True])
def test_risk_falls_and_attachment_rises(labeled, root):
    start = START[..., None].expand(4, 9, 9, 3) if labeled else START
    gold = (GOLD, GOLD % 3) if labeled else GOLD
    kind = st.LabeledSpanningTree if labeled else st.SpanningTree
    by_risk = trained(
        lambda x: objectives.risk(kind(x, root=root), gold), start, steps=50, rate=0.4
    )
    by_score = trained(
        lambda x: -objectives.expected_attachment(kind(x, root=root), gold),
        start,
        steps=50,
        rate=0.4,
    )
    for theta in (by_risk, by_score):
        d = kind(theta, root=root)
        assert (objectives.expected_attachment(d, gold) > 0.9).all()
        mode = d.mode.heads if labeled else d.mode
        assert (mode[:, 1:] == GOLD[1:]).all()
        if labeled:
            assert (d.mode.labels[:, 1:] == GOLD[1:] % 3).all()
    # The same number but for a constant, and the same descent.
    assert_within(by_risk, by_score, 1e-6)


def test_entropy_regularization_sharpens(root):
    """And, with the other sign, spreads to the uniform distribution."""
    sharp = trained(
        lambda x: objectives.entropy_regularization(st.SpanningTree(x, root=root)),
        START,
        steps=80,
        rate=0.3,
    )
    before = st.SpanningTree(START, root=root)
    after = st.SpanningTree(sharp, root=root)
    assert (after.entropy() < 0.05 * before.entropy()).all()
    assert (after.norm(torch.inf) > 0.9).all()
    flat = trained(
        lambda x: -objectives.entropy_regularization(st.SpanningTree(x, root=root)),
        START,
        steps=150,
        rate=0.1,
    )
    uniform = st.SpanningTree(torch.zeros(9, 9).double(), root=root).entropy()
    assert_within(st.SpanningTree(flat, root=root).entropy(), uniform.expand(4), 1e-3)


@pytest.mark.parametrize("sparse", [False, True])
def test_generalized_expectation_reaches_its_target(sparse, root):
    """Light supervision: how many edges point left, and how many are long."""
    node = torch.arange(9)
    leftward = (node[:, None] > node).double()
    long = ((node[:, None] - node).abs() > 3).double()
    f = torch.stack([leftward, long], -1)
    target = torch.tensor([5.0, 2.0], dtype=torch.float64)
    features = f.to_sparse() if sparse else f
    theta = trained(
        lambda x: objectives.generalized_expectation(
            st.SpanningTree(x, root=root), features, target
        ),
        START,
        steps=120,
        rate=0.1,
    )
    d = st.SpanningTree(theta, root=root)
    assert_within(d.expectation(f), target.expand(4, 2), 1e-2)
    assert (d.entropy() > 5.0).all()  # only as much as it was told


def test_pooled_expectations_reach_their_target_together(root):
    """Four sentences have 14 edges to the left in all; none is told how many it has."""
    node = torch.arange(9)
    leftward = (node[:, None] > node).double()
    theta = trained(
        lambda x: objectives.generalized_expectation(
            st.SpanningTree(x, root=root), leftward, torch.tensor(14.0).double(), pooled=True
        ),
        START,
        steps=120,
        rate=0.05,
    )
    each = st.SpanningTree(theta, root=root).expectation(leftward)
    assert_within(each.sum(), torch.tensor(14.0), 1e-2)
    assert each.max() - each.min() > 0.05


@pytest.mark.parametrize(
    ("reverse", "labeled"), [(False, False), (True, False), (False, True)], ids=str
)
def test_divergence_converges_to_the_teacher(reverse, labeled, root):
    kind = st.LabeledSpanningTree if labeled else st.SpanningTree
    more = (2,) if labeled else ()
    generator = torch.Generator().manual_seed(9)
    teacher = kind(torch.randn(2, 6, 6, *more, generator=generator, dtype=torch.float64), root=root)
    theta = trained(
        lambda x: objectives.kl_to_teacher(kind(x, root=root), teacher, reverse=reverse),
        torch.zeros(2, 6, 6, *more, dtype=torch.float64),
        steps=150,
        rate=0.1,
    )
    student = kind(theta, root=root)
    assert (student.kl_divergence(teacher) < 1e-4).all()
    assert_within(student.marginals, teacher.marginals, 1e-2)
