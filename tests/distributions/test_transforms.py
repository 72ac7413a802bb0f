"""The questions under the transforms of torch.func, and compiled."""

import pytest
import torch
from torch import Tensor
from torch.distributions import Distribution

import spantree as st
from spantree import objectives
from tests.graphs import random_graphs
from tests.tolerances import assert_within

FEATURES = torch.rand(5, 5, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
GOLD = torch.tensor([-1, 0, 1, 2, 3])
PARTIAL = torch.tensor([-1, -1, 1, -1, -1])


def plain(theta: Tensor) -> st.SpanningTree:
    return st.SpanningTree(theta, validate_args=False)


QUESTIONS = {
    "log_prob": lambda x: plain(x).log_prob(GOLD),
    "joint": lambda x: plain(x).joint(PARTIAL),
    "condition": lambda x: plain(x).condition(PARTIAL).entropy(),
    "pair_marginals": lambda x: plain(x).pair_marginals(torch.tensor([[1, 2]])),
    "expectation": lambda x: plain(x).expectation(FEATURES),
    "product_expectation": lambda x: plain(x).product_expectation(FEATURES),
    "covariance": lambda x: plain(x).covariance(FEATURES),
    "entropy": lambda x: plain(x).entropy(),
    "renyi_entropy": lambda x: plain(x).renyi_entropy(2),
    "kl_divergence": lambda x: plain(x).kl_divergence(plain(0.5 * x)),
    "labelled": lambda x: st.LabeledSpanningTree(
        torch.stack([x, 0.5 * x], -1), validate_args=False
    ).entropy(),
    "likelihood": lambda x: objectives.negative_log_likelihood(plain(x), GOLD),
    "risk": lambda x: objectives.risk(plain(x), GOLD),
    "generalized_expectation": lambda x: objectives.generalized_expectation(
        plain(x), FEATURES, torch.ones(2, dtype=torch.float64)
    ),
}

every_question = pytest.mark.parametrize("question", QUESTIONS)


@every_question
def test_vmap(question):
    ask, theta = QUESTIONS[question], random_graphs((3,), 4)
    expected = torch.stack([ask(x) for x in theta])
    assert_within(torch.func.vmap(ask)(theta), expected, 1e-12)
    jacobian = torch.func.jacrev(ask)
    expected = torch.stack([jacobian(x) for x in theta])
    assert_within(torch.func.vmap(jacobian)(theta), expected, 1e-12)


@every_question
def test_forward_and_reverse_mode(question):
    ask, theta = QUESTIONS[question], random_graphs((), 4)
    forward, reverse = torch.func.jacfwd, torch.func.jacrev
    expected = reverse(ask)(theta)
    assert expected.abs().max() > 1e-3
    assert_within(forward(ask)(theta), expected, 1e-12)
    expected = reverse(reverse(ask))(theta)
    assert_within(forward(reverse(ask))(theta), expected, 1e-11)


@pytest.mark.parametrize("question", ["entropy", "kl_divergence", "covariance", "risk"])
def test_compile(question):
    """In one graph; the backend changes nothing about what is recorded."""
    ask = QUESTIONS[question]
    theta = random_graphs((3,), 4).requires_grad_()
    compiled = torch.compile(ask, backend="aot_eager", fullgraph=True)
    actual, expected = compiled(theta), ask(theta)
    assert_within(actual, expected, 1e-12)
    cotangent = torch.ones_like(expected)
    gradients = [torch.autograd.grad(x, theta, cotangent)[0] for x in (actual, expected)]
    assert_within(*gradients, 1e-12)
    Distribution.set_default_validate_args(__debug__)  # compiling switches it off
