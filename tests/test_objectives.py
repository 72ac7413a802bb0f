"""Training criteria: values by brute force, gradients by gradcheck, messages."""

import re
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

import spantree as st
from spantree import objectives
from spantree.inference import autodiff
from tests.brute import BruteForce
from tests.distributions.registry import labeled_graphs
from tests.graphs import random_graphs
from tests.tolerances import assert_close, assert_within

LENGTHS = torch.tensor([4, 2, 3])


class Case:
    """A ragged batch of graphs with gold trees, features, targets and a teacher."""

    def __init__(self, labels: int, root: str) -> None:
        self.labels, self.root = labels, root
        if labels:
            self.theta = labeled_graphs((3,), 4, labels, forbidden=0.2)
        else:
            self.theta = random_graphs((3,), 4, forbidden=0.2)
        trees = self.brute(self.theta).some_trees(2)
        self.gold = tuple(part[1] for part in trees) if labels else trees[0][1]
        generator = torch.Generator().manual_seed(1)
        shape = (*self.theta.shape, 4)
        self.features = torch.rand(shape, generator=generator, dtype=torch.float64)
        self.target = torch.rand(3, 4, generator=generator, dtype=torch.float64)
        self.teacher = self.make(
            torch.randn(shape[:-1], generator=generator, dtype=torch.float64)
            .add(self.theta)
            .detach()
        )

    def make(self, theta: Tensor):
        kind = st.LabeledSpanningTree if self.labels else st.SpanningTree
        return kind(theta, LENGTHS, root=self.root)

    def brute(self, theta: Tensor) -> BruteForce:
        return BruteForce(theta, LENGTHS, root=self.root, labeled=self.labels > 0)

    def partial(self):
        """Without the head of node 2."""
        known = torch.tensor([True, True, False, True, True])
        if self.labels:
            return tuple(part.where(known, -1) for part in self.gold)
        return self.gold.where(known, -1)


@pytest.fixture(params=[0, 2], ids=["plain", "labelled"])
def case(request, root):
    return Case(request.param, root)


OBJECTIVES: dict[str, Callable[..., Tensor]] = {
    "likelihood": lambda d, x: objectives.negative_log_likelihood(d, x.gold),
    "likelihood of a partial tree": lambda d, x: objectives.negative_log_likelihood(d, x.partial()),
    "expected attachment": lambda d, x: objectives.expected_attachment(d, x.gold),
    "risk": lambda d, x: objectives.risk(d, x.gold),
    "risk of a partial tree": lambda d, x: objectives.risk(d, x.partial()),
    "entropy": lambda d, x: objectives.entropy_regularization(d),
    "entropy of trees": lambda d, x: objectives.entropy_regularization(d, per_node=False),
    "expectations": lambda d, x: objectives.generalized_expectation(d, x.features, x.target),
    "pooled expectations": lambda d, x: objectives.generalized_expectation(
        d, x.features, x.target[0], pooled=True
    ),
    "teacher": lambda d, x: objectives.kl_to_teacher(d, x.teacher),
    "reverse teacher": lambda d, x: objectives.kl_to_teacher(d, x.teacher, reverse=True),
}

every_objective = pytest.mark.parametrize("objective", OBJECTIVES)


def test_every_objective_is_tested():
    used = {name for f in OBJECTIVES.values() for name in f.__code__.co_names}
    assert set(objectives.__all__) <= used


@every_objective
def test_one_number_for_each_graph(objective, case):
    value = OBJECTIVES[objective](case.make(case.theta), case)
    assert value.shape == (() if objective == "pooled expectations" else (3,))
    assert value.dtype == torch.float64
    coarse = OBJECTIVES[objective](case.make(case.theta.float()), case)
    # A divergence is as fine as the first of the two.
    assert coarse.dtype == (torch.float64 if objective == "teacher" else torch.float32)
    assert_within(coarse, value, 1e-5 * (1.0 + value.abs()))


@every_objective
def test_gradients(objective, case):
    """First and second derivatives, where there are edges."""
    edges = case.theta > -torch.inf

    def value(free: Tensor) -> Tensor:
        theta = torch.full_like(case.theta, -torch.inf).masked_scatter(edges, free)
        return OBJECTIVES[objective](case.make(theta), case)

    free = case.theta[edges].clone().requires_grad_()
    assert torch.autograd.gradcheck(value, free, fast_mode=True)
    assert torch.autograd.gradgradcheck(value, free, fast_mode=True)


def test_gradients_in_features_and_target(case):
    theta = case.theta.clone()
    features = case.features.clone().requires_grad_()
    target = case.target.clone().requires_grad_()

    def value(features: Tensor, target: Tensor) -> Tensor:
        return objectives.generalized_expectation(case.make(theta), features, target)

    assert torch.autograd.gradcheck(value, (features, target), fast_mode=True)
    assert torch.autograd.gradgradcheck(value, (features, target), fast_mode=True)


def test_values_by_brute_force(case):
    brute, d = case.brute(case.theta), case.make(case.theta)
    actual = {name: function(d, case) for name, function in OBJECTIVES.items()}
    assert_within(actual["likelihood"], -brute.log_prob(case.gold), 1e-10)
    assert_within(actual["likelihood of a partial tree"], -brute.joint(case.partial()), 1e-10)
    assert_within(actual["entropy of trees"], brute.entropy(), 1e-10)
    assert_within(actual["entropy"], brute.entropy() / LENGTHS, 1e-10)
    errors = brute.expectation(case.features) - case.target
    assert_within(actual["expectations"], errors.square().sum(-1) / 2, 1e-10)
    errors = brute.expectation(case.features).sum(0) - case.target[0]
    assert_within(actual["pooled expectations"], errors.square().sum() / 2, 1e-10)
    teacher = case.brute(case.teacher.log_weights)
    assert_within(actual["teacher"], teacher.kl_divergence(brute), 1e-10)
    assert_within(actual["reverse teacher"], brute.kl_divergence(teacher), 1e-10)
    right = expected_share(case, case.gold)
    assert_within(actual["expected attachment"], right, 1e-10)
    assert_within(actual["risk"], 1.0 - right, 1e-10)
    assert_within(
        actual["risk of a partial tree"], 1.0 - expected_share(case, case.partial()), 1e-10
    )


def expected_share(case: Case, gold) -> Tensor:
    """Over all trees, of the annotated nodes with the gold head and label."""
    heads, labels = gold if case.labels else (gold, None)
    shares = []
    for item, graph in enumerate(case.brute(case.theta).graphs):
        at = graph.at  # (T, length): the edge into each node
        length = at.shape[1]
        known = heads[item, 1 : length + 1]
        hit = at // graph.labels // graph.n == known
        if labels is not None:
            hit = hit & (at % graph.labels == labels[item, 1 : length + 1])
        annotated = known >= 0
        shares.append(graph.p @ hit[:, annotated].double().mean(-1))
    return torch.stack(shares)


def test_attachment_without_labels_of_labelled_trees(root):
    """Gold heads alone: any label will do."""
    case = Case(2, root)
    d = case.make(case.theta)
    heads = case.gold[0]
    plain = d.unlabeled
    assert_close(
        objectives.expected_attachment(d, heads), objectives.expected_attachment(plain, heads)
    )
    assert_close(objectives.risk(d, heads), objectives.risk(plain, heads))
    likelihood = objectives.negative_log_likelihood(d, heads)
    assert_close(likelihood, objectives.negative_log_likelihood(plain, heads))
    assert (likelihood < objectives.negative_log_likelihood(d, case.gold)).all()


def test_one_label_may_be_left_out():
    d = st.LabeledSpanningTree(torch.randn(4, 4, 1, generator=torch.Generator().manual_seed(0)))
    heads = torch.tensor([-1, 0, 1, 2])
    expected = objectives.negative_log_likelihood(d, (heads, torch.tensor([-1, 0, 0, 0])))
    assert_close(objectives.negative_log_likelihood(d, heads), expected)
    unknown = torch.full((4,), -1)
    assert_close(objectives.negative_log_likelihood(d, (heads, unknown)), expected)


def test_small_risks_keep_their_digits():
    theta = torch.zeros(4, 4, dtype=torch.float64)
    theta[0, 1] = theta[1, 2] = theta[2, 3] = 60.0
    d, gold = st.SpanningTree(theta), torch.tensor([-1, 0, 1, 2])
    edges = d.edge_indicator(gold)
    expected = d.marginals.masked_fill(edges, 0.0).sum() / 3
    assert 0.0 < expected < 1e-20
    assert_within(objectives.risk(d, gold), expected, 1e-12 * expected)
    assert objectives.expected_attachment(d, gold) == 1.0


def test_nothing_annotated():
    d, nothing = st.SpanningTree(torch.zeros(2, 4, 4)), torch.full((4,), -1)
    assert_within(objectives.negative_log_likelihood(d, nothing), torch.zeros(2), 1e-6)
    assert (objectives.risk(d, nothing) == 0.0).all()
    assert (objectives.expected_attachment(d, nothing) == 0.0).all()


@pytest.mark.parametrize("count", [1, 50])
def test_a_gradient_is_one_product_with_the_hessian(count, monkeypatch):
    """However many features there are."""
    asked = []

    def counted(log_weights, lengths, directions, question, **options):
        several = [u.shape[0] for u in directions]
        asked.append((len(directions), *several[:1]))
        return answer(log_weights, lengths, directions, question, **options)

    answer = autodiff.answer
    monkeypatch.setattr(autodiff, "answer", counted)
    theta = random_graphs((3,), 6).requires_grad_()
    features = torch.rand(3, 7, 7, count, dtype=torch.float64)
    value = objectives.generalized_expectation(
        st.SpanningTree(theta), features, torch.zeros(count, dtype=torch.float64)
    )
    torch.autograd.grad(value.sum(), theta)
    assert asked == [(0,), (1, 1)]


# Bad input.


def raises(error, message):
    return pytest.raises(error, match=re.escape(message))


def test_targets_that_do_not_fit():
    d = st.SpanningTree(torch.zeros(2, 5, 5))
    many, scalar = torch.ones(5, 5, 4), torch.ones(5, 5)

    def ge(f, target, **options):
        return objectives.generalized_expectation(d, f, target, **options)

    for shape in ((3,), (2, 3), (4, 2), (1, 4), ()):
        message = f"target must have shape (4,) or (2, 4) like the expectations, got {shape}"
        with raises(ValueError, message):
            ge(many, torch.ones(shape))
        message = (
            f"target must have shape (4,) like the expectations of the whole batch, got {shape}"
        )
        with raises(ValueError, message):
            ge(many, torch.ones(shape), pooled=True)
    with raises(ValueError, "target must have shape (4,) like the expectations of the whole batch"):
        ge(many, torch.ones(2, 4), pooled=True)
    with raises(ValueError, "target must have shape () or (2,) like the expectations, got (1,)"):
        ge(scalar, torch.ones(1))
    with raises(TypeError, "target must be a floating-point torch.Tensor, got list"):
        ge(many, [1.0] * 4)
    with raises(TypeError, "target must be a floating-point torch.Tensor, got torch.int64"):
        ge(many, torch.ones(4, dtype=torch.int64))
    with raises(ValueError, "features must have shape (2, 5, 5) or (2, 5, 5, R)"):
        ge(torch.ones(3, 5, 5, 4), torch.ones(4))


def test_targets_that_fit():
    d = st.SpanningTree(torch.zeros(2, 5, 5))
    for target in (torch.ones(()), torch.ones(2)):
        value = objectives.generalized_expectation(d, torch.ones(5, 5), target)
        assert_close(value, torch.full((2,), 4.5))
    one = st.SpanningTree(torch.zeros(5, 5))
    value = objectives.generalized_expectation(one, torch.ones(5, 5, 3), torch.ones(3))
    assert_close(value, torch.tensor(13.5))
    value = objectives.generalized_expectation(d, torch.ones(5, 5), torch.tensor(1.0), pooled=True)
    assert_close(value, torch.tensor(24.5))


GOLD_QUESTIONS = ["negative_log_likelihood", "expected_attachment", "risk"]


@pytest.mark.parametrize("question", GOLD_QUESTIONS)
def test_gold_trees_that_are_none(question):
    ask = getattr(objectives, question)
    d = st.SpanningTree(torch.zeros(2, 5, 5))
    with raises(ValueError, "node 1 is in a cycle, or below one at index (0,)"):
        ask(d, torch.tensor([-1, 2, 1, 0, -1]))
    with raises(ValueError, "nodes [1, 2] all hang on the root, and root='single' allows one"):
        ask(d, torch.tensor([-1, 0, 0, 1, 1]))
    with raises(ValueError, "heads must have shape (..., 2, 5), got (4,)"):
        ask(d, torch.tensor([-1, 0, 1, 1]))
    with raises(TypeError, "value must be heads in a torch.Tensor, got list"):
        ask(d, [-1, 0, 1, 1, 1])


def test_a_gold_tree_with_a_forbidden_edge():
    theta = torch.zeros(2, 5, 5)
    theta[1, 2, 3] = -torch.inf
    d, gold = st.SpanningTree(theta), torch.tensor([-1, 0, 1, 2, 3])
    with raises(ValueError, "the graph has no edge 2 -> 3 at index (1,)"):
        objectives.negative_log_likelihood(d, gold)
    tolerant = st.SpanningTree(theta, validate_args=False)
    assert objectives.negative_log_likelihood(tolerant, gold).isposinf().tolist() == [False, True]


def test_a_teacher_that_does_not_fit():
    d = st.SpanningTree(torch.zeros(2, 5, 5))
    for reverse in (False, True):
        with raises(ValueError, "q must have graphs of the size of p's"):
            objectives.kl_to_teacher(d, st.SpanningTree(torch.zeros(2, 4, 4)), reverse=reverse)
        with raises(TypeError, "q must be a "):
            teacher = st.LabeledSpanningTree(torch.zeros(2, 5, 5, 1))
            objectives.kl_to_teacher(d, teacher, reverse=reverse)
