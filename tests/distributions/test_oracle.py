"""Every quantity of a distribution, and its gradients, against sums over all trees."""

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor

import spantree as st
from tests.brute import BruteForce
from tests.distributions.registry import labeled_graphs
from tests.graphs import random_graphs, random_lengths
from tests.tolerances import assert_within

# Nodes, labels (0: none), share of forbidden edges.
CASES = [
    (1, 0, 0.0),
    (2, 0, 0.0),
    (3, 0, 0.4),
    (4, 0, 0.0),
    (5, 0, 0.3),
    (5, 0, 0.8),
    (1, 3, 0.0),
    (2, 2, 0.3),
    (3, 3, 0.3),
    (4, 2, 0.5),
]


class Inputs(NamedTuple):
    """What questions are about; the first five have gradients."""

    theta: Tensor
    theta_q: Tensor
    r: Tensor
    s: Tensor
    log_q: Tensor
    lengths: Tensor
    trees: Any
    partial: Any
    edges: Tensor


Question = Callable[[Any, Any, Inputs], Tensor]

QUESTIONS: dict[str, Question] = {
    "log_partition": lambda p, q, x: p.log_partition,
    "marginals": lambda p, q, x: p.marginals,
    "log_prob": lambda p, q, x: p.log_prob(x.trees),
    "joint": lambda p, q, x: p.joint(x.partial),
    "expectation": lambda p, q, x: p.expectation(x.r),
    "expectation of shared features": lambda p, q, x: p.expectation(x.s),
    "expectation of a scalar": lambda p, q, x: p.expectation(x.r[..., 0]),
    "expectation of sparse features": lambda p, q, x: p.expectation(x.r.to_sparse()),
    "product_expectation": lambda p, q, x: p.product_expectation(x.log_q),
    "product_expectation of a scalar": lambda p, q, x: p.product_expectation(x.log_q[..., 1]),
    "covariance": lambda p, q, x: p.covariance(x.r, x.s),
    "covariance with itself": lambda p, q, x: p.covariance(x.r),
    "covariance of scalars": lambda p, q, x: p.covariance(x.r[..., 0], x.s[..., 1]),
    "covariance by the gradient": lambda p, q, x: p.covariance(x.r, x.s, method="gradient"),
    "covariance of sparse features": lambda p, q, x: p.covariance(x.r.to_sparse(), x.s.to_sparse()),
    "covariance by hats": lambda p, q, x: p.covariance(
        x.r.to_sparse(), x.s.to_sparse(), method="gradient"
    ),
    "second_moment": lambda p, q, x: p.second_moment(x.r, x.s),
    "second_moment with itself": lambda p, q, x: p.second_moment(x.s),
    "entropy": lambda p, q, x: p.entropy(),
    "cross_entropy": lambda p, q, x: p.cross_entropy(q),
    "kl_divergence": lambda p, q, x: p.kl_divergence(q),
    "pair_marginals": lambda p, q, x: p.pair_marginals(x.edges),
} | {
    f"{name}({order})": lambda p, q, x, name=name, order=order: getattr(p, name)(order)
    for name, orders in {
        "renyi_entropy": (0, 0.5, 0.9999, 0.99995, 1, 1 + 1e-7, 1.001, 2, 7.5, torch.inf),
        "norm": (0.5, 1, 2, 3.5, torch.inf),
    }.items()
    for order in orders
}


def inputs_of(num_nodes: int, labels: int, forbidden: float, root: str) -> Inputs:
    """A ragged batch of graphs, and something to ask about each."""
    batch = (2, 2)
    if labels:
        theta = labeled_graphs(batch, num_nodes, labels, forbidden=forbidden)
    else:
        theta = random_graphs(batch, num_nodes, forbidden=forbidden)
    lengths = random_lengths(batch, num_nodes)
    generator = torch.Generator().manual_seed(3)

    def draw(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    edge = theta.shape[2:]
    trees = BruteForce(theta, lengths, root=root, labeled=labels > 0).some_trees(3)
    known = torch.rand(trees[0].shape, generator=generator) < 0.5
    partial = trees[0].where(known, -1), trees[1].where(known, -1)
    edges = [[i, j, *([labels - 1] if labels else [])] for i in (0, 1) for j in (1, num_nodes)]
    return Inputs(
        theta,
        draw(*theta.shape),
        draw(*batch, *edge, 3),
        draw(*edge, 2),
        draw(*batch, *edge, 2),
        lengths,
        trees if labels else trees[0],
        partial if labels else partial[0],
        torch.tensor(edges),
    )


def answers(question: Question, x: Inputs, make: Callable[[Tensor], Any]) -> list[Tensor]:
    """The answer, its gradients, and the derivative of one of these in a direction."""
    leaves = [tensor.clone().requires_grad_() for tensor in x[:5]]
    x = Inputs(*leaves, *x[5:])
    answer = question(make(x.theta), make(x.theta_q), x)
    generator = torch.Generator().manual_seed(4)
    found = [answer]
    for order in (1, 2):
        cotangent = torch.randn(answer.shape, generator=generator, dtype=torch.float64)
        if not answer.requires_grad:
            gradients = [torch.zeros_like(leaf) for leaf in leaves]
        else:
            gradients = torch.autograd.grad(
                answer, leaves, cotangent, create_graph=True, materialize_grads=True
            )
        found += gradients if order == 1 else gradients[:1]
        answer = gradients[0]
    return [tensor.detach().to_dense() for tensor in found]


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_answers_and_gradients_equal_brute_force(case, question, root):
    x = inputs_of(*case, root)
    labeled = case[1] > 0
    kind = st.LabeledSpanningTree if labeled else st.SpanningTree
    actual = answers(QUESTIONS[question], x, lambda theta: kind(theta, x.lengths, root=root))
    expected = answers(
        QUESTIONS[question],
        x,
        lambda theta: BruteForce(theta, x.lengths, root=root, labeled=labeled),
    )
    for a, b in zip(actual, expected, strict=True):
        assert_within(a, b, 1e-10 * b.abs().clamp_min(1.0))
