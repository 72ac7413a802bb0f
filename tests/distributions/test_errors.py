"""Bad input to the distributions: each message says what must hold and what arrived."""

import re

import pytest
import torch

import spantree as st
from tests.distributions.registry import labeled_graphs
from tests.graphs import random_graphs

PLAIN = random_graphs((2, 3), 4)


@pytest.fixture
def plain():
    """Graphs of four nodes without the edge 3 -> 1."""
    theta = PLAIN.clone()
    theta[..., 3, 1] = -torch.inf
    return st.SpanningTree(theta)


@pytest.fixture
def labeled():
    """Graphs of three nodes with two labels, of which the edge 2 -> 3 has the first only."""
    theta = labeled_graphs((2,), 3, 2)
    theta[:, 2, 3, 1] = -torch.inf
    return st.LabeledSpanningTree(theta)


def raises(error, message):
    return pytest.raises(error, match=re.escape(message))


NO_TREES = {
    "node 1 is in a cycle, or below one": [-1, 2, 1, 0, 3],
    "node 3 is in a cycle, or below one": [-1, 0, 1, 4, 3],
    "node 2 is its own head": [-1, 0, 2, 0, 3],
    "the graph has no edge 3 -> 1": [-1, 3, 0, 2, 1],
    "node 4 has head 5, which is no node": [-1, 0, 1, 2, 5],
    "node 4 has head -2, which is no node": [-1, 0, 1, 2, -2],
    "nodes [1, 4] all hang on the root, and root='single' allows one": [-1, 0, 1, 2, 0],
    "nodes [2, 4] have no head": [-1, 0, -1, 2, -1],
}


@pytest.mark.parametrize("problem", NO_TREES)
def test_heads_that_are_no_trees(problem, plain):
    heads = torch.tensor(NO_TREES[problem])
    message = f"heads must be spanning trees of the graphs they are asked about: {problem}"
    with raises(ValueError, f"{message} at index (0, 0)"):
        plain.log_prob(heads)
    fine = torch.tensor([-1, 0, 1, 2, 3]).repeat(5, 2, 3, 1)
    fine[3, 1, 2] = heads
    with raises(ValueError, f"{message} at index (3, 1, 2)"):
        plain.log_prob(fine)
    tolerant = st.SpanningTree(plain.log_weights, validate_args=False)
    log_prob = tolerant.log_prob(fine)
    assert log_prob[3, 1, 2] == -torch.inf
    assert log_prob.isneginf().sum() == 1
    alone = st.SpanningTree(plain.log_weights[0, 0])
    with pytest.raises(ValueError, match=re.escape(message) + "$"):
        alone.log_prob(heads)


def test_padding_is_no_node():
    d = st.SpanningTree(PLAIN, torch.full((2, 3), 3))
    d.log_prob(torch.tensor([7, 0, 1, 2, -9]))
    with raises(ValueError, "the graph has no edge 4 -> 3"):
        d.log_prob(torch.tensor([-1, 0, 1, 4, -1]))


IMPOSSIBLE = {
    "node 1 is in a cycle, or below one": [-1, 2, 1, -1, -1],
    "node 4 is its own head": [-1, -1, -1, -1, 4],
    "nodes [2, 3] all hang on the root, and root='single' allows one": [-1, -1, 0, 0, -1],
    "node 1 has head 9, which is no node": [-1, 9, -1, -1, -1],
}


@pytest.mark.parametrize("problem", IMPOSSIBLE)
@pytest.mark.parametrize("question", ["joint", "condition", "edge_indicator"])
def test_partial_trees_that_are_part_of_none(problem, question, plain):
    with raises(ValueError, problem):
        getattr(plain, question)(torch.tensor(IMPOSSIBLE[problem]))


@pytest.mark.parametrize("problem", IMPOSSIBLE)
def test_without_validation_they_have_no_probability(problem, plain):
    tolerant = st.SpanningTree(plain.log_weights, validate_args=False)
    assert tolerant.joint(torch.tensor(IMPOSSIBLE[problem])).isneginf().all()


def test_missing_edges_of_partial_trees_are_no_error(plain):
    partial = torch.tensor([-1, 3, -1, -1, -1])
    assert plain.joint(partial).isneginf().all()
    with raises(
        ValueError, "no spanning tree exists for batch item (0, 0) (and 5 more): nodes [1]"
    ):
        plain.condition(partial).entropy()


def test_labels_that_do_not_fit(labeled):
    heads = torch.tensor([-1, 0, 1, 2])
    with raises(ValueError, "node 2 has label 2, not one of 0..1 at index (0,)"):
        labeled.log_prob((heads, torch.tensor([-1, 0, 2, 0])))
    with raises(ValueError, "node 2 has label -1, not one of 0..1 at index (0,)"):
        labeled.log_prob((heads, torch.tensor([-1, 0, -1, 0])))
    with raises(ValueError, "the edge 2 -> 3 has no label 1 at index (0,)"):
        labeled.log_prob((heads, torch.tensor([-1, 0, 0, 1])))
    for question in (labeled.joint, labeled.condition, labeled.edge_indicator):
        message = "labels must lie in 0..1, or be -1 where unknown: node 2 has label 2"
        with raises(ValueError, f"{message} at index (0,)"):
            question((heads, torch.tensor([-1, 0, 2, 0])))
    single = st.LabeledSpanningTree(labeled.log_weights[0])
    with pytest.raises(ValueError, match=r"node 3 has label -2$"):
        single.joint((heads, torch.tensor([-1, 0, 0, -2])))


def test_type_of_trees(plain, labeled):
    heads = torch.tensor([-1, 0, 1, 2, 3])
    with raises(TypeError, "value must be heads in a torch.Tensor, got list"):
        plain.log_prob(heads.tolist())
    with raises(TypeError, "value must be heads in a torch.Tensor, got tuple"):
        plain.joint((heads, heads))
    with raises(TypeError, "a pair (heads, labels), or heads in a torch.Tensor, got tuple"):
        labeled.joint((heads, heads, heads))
    with raises(TypeError, "value must be a pair (heads, labels); `joint` asks for heads alone"):
        labeled.log_prob(heads[:4])
    with raises(TypeError, "heads must be a torch.Tensor, got list"):
        labeled.log_prob(([-1, 0, 1, 2], heads[:4]))
    with raises(TypeError, "heads must have an integer dtype, got torch.float32"):
        plain.log_prob(heads.float())
    with raises(TypeError, "labels must have an integer dtype, got torch.bool"):
        labeled.log_prob((heads[:4], heads[:4] > 0))


@pytest.mark.parametrize("shape", [(4,), (6,), (3, 2, 5), (2, 5), (2, 3, 6), ()], ids=str)
def test_shape_of_trees(shape, plain):
    with raises(ValueError, f"heads must have shape (..., 2, 3, 5), got {shape}"):
        plain.log_prob(torch.zeros(shape, dtype=torch.int64))


def test_shape_of_labels(labeled):
    heads = torch.tensor([-1, 0, 1, 2])
    with raises(ValueError, "labels must have shape (..., 2, 4), got (3,)"):
        labeled.log_prob((heads, heads[1:]))


FEATURES = [(4, 4), (2, 3, 5, 4, 7), (3, 5, 5), (3, 2, 5, 5), (3, 2, 5, 5, 7), (2, 3, 5, 5, 7, 2)]


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("shape", FEATURES, ids=str)
def test_features_that_do_not_fit(shape, sparse, plain):
    wrong = torch.ones(shape, dtype=torch.float64)
    wrong = wrong.to_sparse() if sparse else wrong
    fine = torch.ones(5, 5)
    message = (
        "{} must have shape (2, 3, 5, 5) or (2, 3, 5, 5, R) like the edges, "
        f"or with edge axes (5, 5) for all graphs, got {shape}"
    )
    with raises(ValueError, message.format("features")):
        plain.expectation(wrong)
    with raises(ValueError, message.format("log_q")):
        plain.product_expectation(wrong)
    for moment in (plain.covariance, plain.second_moment):
        with raises(ValueError, message.format("r")):
            moment(wrong)
        with raises(ValueError, message.format("s")):
            moment(fine, wrong)


def test_features_of_one_labelled_graph():
    d = st.LabeledSpanningTree(torch.zeros(3, 3, 2))
    message = "features must have shape (3, 3, 2) or (3, 3, 2, R) like the edges, got (3, 3)"
    with raises(ValueError, message):
        d.expectation(torch.ones(3, 3))


def test_kind_of_features(plain):
    with raises(TypeError, "features must be a torch.Tensor, got float"):
        plain.expectation(1.0)
    with raises(TypeError, "r must have a floating-point dtype, got torch.int64"):
        plain.covariance(torch.ones(5, 5, dtype=torch.int64))
    hybrid = torch.sparse_coo_tensor([[0], [1]], torch.ones(1, 4), (5, 5, 4), check_invariants=True)
    with raises(ValueError, "features must be sparse in all its axes, got 1 dense ones"):
        plain.expectation(hybrid)
    infinite = torch.eye(5).to_sparse() * torch.inf
    with raises(ValueError, "s must be finite where sparse, got NaN or an infinity"):
        plain.covariance(torch.ones(5, 5), infinite)


@pytest.mark.parametrize("wrong", [torch.nan, torch.inf])
def test_values_of_factors(wrong, plain):
    log_q = torch.zeros(5, 5)
    log_q[1, 2] = wrong
    with raises(ValueError, "log_q must not hold NaN or +inf on an edge"):
        plain.product_expectation(log_q)


@pytest.mark.parametrize("method", ["fast", None, "hats"])
def test_method(method, plain):
    message = f"method must be one of 'auto', 'exact', 'gradient', got {method!r}"
    for moment in (plain.covariance, plain.second_moment):
        with raises(ValueError, message):
            moment(torch.ones(5, 5), method=method)


def test_two_distributions_that_do_not_fit(plain, labeled):
    other = st.SpanningTree(random_graphs((2, 3), 5))
    for divergence in (plain.kl_divergence, plain.cross_entropy):
        with raises(ValueError, "q must have graphs of the size of p's, edges (5, 5), got (6, 6)"):
            divergence(other)
        with raises(TypeError, "q must be a SpanningTree like p, got LabeledSpanningTree"):
            divergence(labeled)
        with raises(TypeError, "q must be a SpanningTree like p, got Tensor"):
            divergence(plain.log_weights)
        with raises(ValueError, "a batch shape that broadcasts with p's (2, 3), got (2,)"):
            divergence(st.SpanningTree(PLAIN[:, 0]))
        shorter = st.SpanningTree(PLAIN, torch.full((2, 3), 3))
        with raises(ValueError, "q must have the lengths of p, 4, got [[3, 3, 3], [3, 3, 3]]"):
            divergence(shorter)
    with raises(
        ValueError, "q must have graphs of the size of p's, edges (4, 4, 2), got (4, 4, 3)"
    ):
        labeled.kl_divergence(st.LabeledSpanningTree(labeled_graphs((2,), 3, 3)))
    full = st.SpanningTree(PLAIN, torch.full((2, 3), 4))
    assert torch.equal(plain.kl_divergence(full), plain.kl_divergence(st.SpanningTree(PLAIN)))


def test_orders(plain):
    for order in (-1, -0.5, float("nan")):
        with raises(ValueError, f"order must be a number >= 0, got {order}"):
            plain.renyi_entropy(order)
    for order in (0, -2.0, float("nan")):
        with raises(ValueError, f"order must be a number > 0, got {order}"):
            plain.norm(order)
    for question in (plain.renyi_entropy, plain.norm):
        with raises(TypeError, "order must be a number, got Tensor"):
            question(torch.tensor(2.0))


def test_pairs_of_edges(plain, labeled):
    with raises(TypeError, "edges must be a torch.Tensor, got list"):
        plain.pair_marginals([[0, 1]])
    with raises(TypeError, "edges must have an integer dtype, got torch.float32"):
        plain.pair_marginals(torch.zeros(1, 2))
    for shape in ((2,), (1, 3), (1, 1, 2)):
        with raises(ValueError, f"edges must have shape (K, 2), got {shape}"):
            plain.pair_marginals(torch.zeros(shape, dtype=torch.int64))
    with raises(ValueError, "edges must have shape (K, 3), got (1, 2)"):
        labeled.pair_marginals(torch.zeros(1, 2, dtype=torch.int64))
    for wrong in ((0, 5), (-1, 1)):
        with raises(ValueError, f"edges must hold indices within (5, 5), found {wrong}"):
            plain.pair_marginals(torch.tensor([[0, 1], wrong]))


@pytest.mark.parametrize("name", ["required", "forbidden"])
def test_masks(name, plain):
    with raises(TypeError, f"{name} must be a torch.Tensor, got bool"):
        plain.condition(**{name: True})
    with raises(TypeError, f"{name} must have dtype torch.bool, got torch.float32"):
        plain.condition(**{name: torch.ones(5, 5)})
    for shape in ((4, 4), (3, 2, 5, 5), (7, 2, 3, 5, 5)):
        message = f"{name} must have shape (2, 3, 5, 5) like log_weights, or broadcast to it, got "
        with raises(ValueError, f"{message}{shape}"):
            plain.condition(**{name: torch.ones(shape, dtype=torch.bool)})


def test_two_required_heads(plain):
    required = torch.zeros(5, 5, dtype=torch.bool)
    required[2, 3] = required[4, 3] = True
    with raises(ValueError, "nodes [3] cannot be reached from the root"):
        plain.condition(required=required).entropy()


@pytest.mark.parametrize("wrong", [-1.0, torch.nan, torch.inf])
@pytest.mark.parametrize("kind", [st.SpanningTree, st.LabeledSpanningTree])
def test_values_of_weights(wrong, kind):
    weights = torch.ones(2, 4, 4, 2) if kind is st.LabeledSpanningTree else torch.ones(2, 4, 4)
    weights[1, 2, 3] = wrong
    message = r"NaN or \+inf on an edge, found (nan|inf) at batch item \(1,\), edge 2 -> 3"
    with pytest.raises(ValueError, match=message):
        kind.from_weights(weights).entropy()


def test_shape_of_weights():
    with raises(ValueError, "log_weights must have shape (..., n, n) with n >= 2, got (3, 4)"):
        st.SpanningTree(torch.zeros(3, 4))
    with raises(ValueError, "weights must have shape (..., n, n) with n >= 2, got (1, 1)"):
        st.SpanningTree.from_weights(torch.zeros(1, 1))
    message = "log_weights must have shape (..., n, n, Y) with n >= 2, Y >= 1, got (3, 3, 0)"
    with raises(ValueError, message):
        st.LabeledSpanningTree(torch.zeros(3, 3, 0))
    with raises(ValueError, "lengths must have shape (2,) like the batch, got (3,)"):
        st.LabeledSpanningTree(torch.zeros(2, 3, 3, 4), torch.tensor([2, 2, 2]))
    with raises(ValueError, "root must be 'single' or 'multi', got 'many'"):
        st.SpanningTree(torch.zeros(3, 3), root="many")


def test_a_graph_without_a_tree():
    theta = PLAIN.clone()
    theta[1, 0, :, 2] = -torch.inf
    message = "no spanning tree exists for batch item (1, 0): nodes [2] cannot be reached"
    for question in ("entropy", "sample"):
        with raises(ValueError, message):
            getattr(st.SpanningTree(theta), question)()
    with raises(ValueError, message):
        st.SpanningTree(theta).covariance(torch.ones(5, 5))
