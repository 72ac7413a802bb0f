"""Trees of which something is known: the chain rule, and brute force over what remains."""

import pytest
import torch
from torch import Tensor

import spantree as st
from tests.brute import BruteForce
from tests.distributions.registry import labeled_graphs
from tests.graphs import random_graphs, random_lengths
from tests.tolerances import assert_close, assert_within

BATCH = (2, 2)


class Case:
    """A ragged batch, with and without labels, and partial trees of its support."""

    def __init__(self, labels: int, root: str, num_nodes: int = 4) -> None:
        if labels:
            self.theta = labeled_graphs(BATCH, num_nodes, labels, forbidden=0.2)
        else:
            self.theta = random_graphs(BATCH, num_nodes, forbidden=0.2)
        self.labels, self.root = labels, root
        self.lengths = random_lengths(BATCH, num_nodes)
        trees = self.brute().some_trees(1)
        self.tree = tuple(part[0] for part in trees) if labels else trees[0][0]

    def make(self, theta: Tensor | None = None, **options):
        kind = st.LabeledSpanningTree if self.labels else st.SpanningTree
        theta = self.theta if theta is None else theta
        return kind(theta, self.lengths, root=self.root, **options)

    def brute(self, theta: Tensor | None = None) -> BruteForce:
        theta = self.theta if theta is None else theta
        return BruteForce(theta, self.lengths, root=self.root, labeled=self.labels > 0)

    def partial(self, *nodes: int):
        """The tree, known at these nodes only."""
        known = torch.zeros(self.theta.shape[2], dtype=torch.bool)
        known[list(nodes)] = True
        if self.labels:
            return tuple(part.where(known, -1) for part in self.tree)
        return self.tree.where(known, -1)


@pytest.fixture(params=[0, 2], ids=["plain", "labelled"])
def case(request, root):
    return Case(request.param, root)


def test_conditioned_distributions_equal_brute_force(case):
    """Of the trees that remain, in their old proportions."""
    partial = case.partial(2, 4)
    d, whole = case.make().condition(partial), case.brute()
    for item, graph in enumerate(whole.graphs):
        heads, labels = partial if case.labels else (partial, None)
        heads = heads.flatten(0, 1)[item]
        labels = None if labels is None else labels.flatten(0, 1)[item]
        left = graph.agrees(heads, labels)[:, 0]
        p = graph.p[left] / graph.p[left].sum()
        at = item // 2, item % 2
        marginals = (p @ graph.has[left]).reshape(case.theta.shape[2:])
        assert_within(d.marginals[at], marginals, 1e-10)
        assert_within(d.entropy()[at], -(p * p.log()).sum(), 1e-10)


def test_chain_rule(case):
    """P(a and b) = P(a) P(b | a), in logarithms."""
    d = case.make()
    both = d.joint(case.partial(1, 2, 4))
    assert (both <= d.joint(case.partial(2))).all()
    steps = d.joint(case.partial(2)) + d.condition(case.partial(2)).joint(case.partial(1, 4))
    assert_close(both, steps)
    further = d.condition(case.partial(2)).condition(case.partial(1)).joint(case.partial(4))
    first = d.condition(case.partial(2)).joint(case.partial(1))
    assert_close(both, d.joint(case.partial(2)) + first + further)


def test_the_whole_tree_is_a_partial_one(case):
    d = case.make()
    assert_close(d.joint(case.tree), d.log_prob(case.tree))
    certain = d.condition(case.tree)
    assert_within(certain.log_prob(case.tree), torch.zeros(BATCH), 1e-12)
    assert_within(certain.entropy(), torch.zeros(BATCH), 1e-12)


def test_nothing_known(case):
    d = case.make()
    assert_within(d.joint(case.partial()), torch.zeros(BATCH), 1e-12)
    assert torch.equal(d.condition(case.partial()).marginals, d.marginals)
    assert torch.equal(d.condition().marginals, d.marginals)


def test_partial_trees_of_one_node_sum_to_one(case):
    d = case.make()
    n = case.theta.shape[2]
    heads = torch.full((n, *BATCH, n), -1)
    heads[:, :, :, 1] = torch.arange(n)[:, None, None]
    # Node 1 has one head; what is beyond a graph's length is none.
    possible = torch.arange(n)[:, None, None] <= case.lengths
    possible &= (torch.arange(n) != 1)[:, None, None]
    log_probs = d.joint(heads.where(possible[..., None], -1))
    total = log_probs.exp().where(possible, 0.0).sum(0)
    assert_close(total, torch.ones(BATCH))


def test_several_conditions_at_once(case):
    """Further axes in front are further distributions."""
    d = case.make()
    options = [case.partial(1), case.partial(2, 3)]
    if case.labels:
        together = tuple(torch.stack(parts) for parts in zip(*options, strict=True))
    else:
        together = torch.stack(options)
    many = d.condition(together)
    assert many.batch_shape == (2, *BATCH)
    assert_close(d.joint(together), torch.stack([d.joint(x) for x in options]))
    expected = torch.stack([d.condition(x).entropy() for x in options])
    assert_close(many.entropy(), expected)
    sample = many.sample((3,))
    assert many.log_prob(sample).shape == (3, 2, *BATCH)


def test_heads_without_labels_sum_over_them(root):
    case = Case(2, root)
    d = case.make()
    heads, labels = case.partial(1)
    each = [d.joint((heads, labels.where(heads < 0, label))) for label in range(2)]
    assert_close(torch.stack(each).logsumexp(0), d.joint(heads))
    assert_close(d.joint((heads, torch.full_like(labels, -1))), d.joint(heads))


def test_labels_without_heads(root):
    """To know the label of the edge into a node forbids the others, whatever its head."""
    case = Case(2, root)
    d = case.make()
    heads, labels = (torch.full_like(part, -1) for part in case.tree)
    labels[..., 1] = 1
    without = case.theta.clone()
    without[..., 1, 0] = -torch.inf
    restricted = case.make(without, validate_args=False)
    assert_close(d.joint((heads, labels)), restricted.log_partition - d.log_partition)


def test_required_and_forbidden_edges(case):
    """As brute force has it: the trees with the one and without the other."""
    d, brute = case.make(), case.brute()
    heads = case.tree[0] if case.labels else case.tree
    required = torch.zeros(case.theta.shape, dtype=torch.bool)
    forbidden = torch.zeros_like(required)
    for at in ((0, 0), (0, 1), (1, 0), (1, 1)):
        edge = (int(heads[(*at, 1)]), 1)
        if case.labels:
            edge = (*edge, int(case.tree[1][(*at, 1)]))
        required[(*at, *edge)] = True
        # Not one that the tree has.
        forbidden[(*at, 2 if heads[(*at, 3)] != 2 else 0, 3)] = True
    given = d.condition(required=required, forbidden=forbidden)
    for item, graph in enumerate(brute.graphs):
        at = item // 2, item % 2
        with_it = (graph.has @ required[at].flatten().double()) == 1
        without = (graph.has @ forbidden[at].flatten().double()) == 0
        p = graph.p * (with_it & without)
        assert_within(
            given.marginals[at], (p @ graph.has / p.sum()).reshape(case.theta.shape[2:]), 1e-10
        )
        assert_close(given.log_partition[at] - d.log_partition[at], p.sum().log())
    one = d.condition(required=required).condition(forbidden=forbidden)
    assert torch.equal(one.marginals, given.marginals)


def test_masks_for_all_graphs(root):
    theta = random_graphs((3,), 4)
    forbidden = torch.zeros(5, 5, dtype=torch.bool)
    forbidden[2] = True
    given = st.SpanningTree(theta, root=root).condition(forbidden=forbidden)
    expected = st.SpanningTree(theta.masked_fill(forbidden, -torch.inf), root=root)
    assert torch.equal(given.marginals, expected.marginals)


def test_requiring_no_edge_of_a_graph_changes_nothing(root):
    """The diagonal, column 0 and padding are no edges."""
    d = st.SpanningTree(random_graphs((), 4), torch.tensor(3), root=root)
    required = torch.eye(5, dtype=torch.bool)
    required[:, 0] = required[:, 4] = required[4] = True
    assert torch.equal(d.condition(required=required).marginals, d.marginals)


def test_pair_marginals_are_symmetric_and_sum_to_marginals(case):
    d = case.make()
    labels = [[0], [1]] if case.labels else [[]]
    n = case.theta.shape[2]
    edges = torch.tensor([[i, j, *y] for i in range(n) for j in range(n) for y in labels])
    pairs = d.pair_marginals(edges)
    flat = pairs.flatten(3)
    assert_within(flat.permute(2, 1, 0, 3)[..., :, :], flat.permute(2, 1, 3, 0), 1e-12)
    own = flat.diagonal(dim1=0, dim2=3)
    assert_close(own, d.marginals.flatten(2))
    # Each tree that has the edge has as many edges as the graph has nodes.
    assert_close(flat.sum(-1), d.marginals.flatten(2).movedim(-1, 0) * case.lengths)


def test_pair_marginals_keep_small_probabilities():
    """Where a covariance and the product of means would leave nothing of it."""
    theta = random_graphs((), 6, scale=1.0)
    theta[1, 2] -= 60.0
    theta[2, 3] -= 60.0
    d = st.SpanningTree(theta)
    pair = d.pair_marginals(torch.tensor([[1, 2]]))[0, 2, 3]
    partial = torch.full((7,), -1)
    partial[2], partial[3] = 1, 2
    expected = d.joint(partial).exp()
    assert 0.0 < expected < 1e-50
    assert_within(pair, expected, 1e-12 * expected)


def test_gradients_pass_through_conditions(case):
    theta = case.theta.clone().requires_grad_()
    d = case.make(theta)
    (gradient,) = torch.autograd.grad(d.joint(case.partial(2)).sum(), theta, retain_graph=True)
    expected = d.condition(case.partial(2)).marginals - d.marginals
    assert_within(gradient, expected.detach(), 1e-12)
    (gradient,) = torch.autograd.grad(d.condition(case.partial(2)).entropy().sum(), theta)
    assert gradient.isfinite().all()


def test_joint_keeps_float32(root):
    theta = random_graphs((2,), 4).float()
    d = st.SpanningTree(theta, root=root)
    partial = torch.tensor([-1, -1, 1, -1, -1])
    assert d.joint(partial).dtype == d.condition(partial).entropy().dtype == torch.float32
    fine = st.SpanningTree(theta.double(), root=root)
    assert torch.equal(d.joint(partial), fine.joint(partial).float())
