"""The best tree and the k best, against enumeration and slow methods, to the last digit and tie."""

import itertools
from fractions import Fraction

import networkx
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st_
from torch import Tensor

import spantree as st
from spantree.inference.enumeration import enumerate_trees
from spantree.inference.trees import is_tree
from spantree.kernels import _native
from tests.graphs import random_graphs, random_lengths, with_garbage
from tests.hostile import FAMILIES, hostile_log_weights
from tests.ranked import (
    all_in_order,
    best_by_contraction,
    integer_scores,
    nearest_double,
    ranked_by_enumeration,
    ranked_by_partition,
)
from tests.strategies import batches

slow = pytest.mark.slow


def exact_score(log_weights: Tensor, heads: Tensor) -> Fraction:
    edges = enumerate(heads.tolist())
    return sum((Fraction(log_weights[i, j].item()) for j, i in edges if i >= 0), Fraction(0))


def assert_in_order(log_weights: Tensor, root: str, k: int) -> None:
    """Compare the first k trees, and the best, with the enumeration of one small graph."""
    expected = all_in_order(log_weights, root)[:k]
    missing = k - len(expected)
    heads, scores = st.best_trees(log_weights, k, root=root, validate_args=False)
    assert heads.tolist() == [t for _, t in expected] + [[-1] * len(log_weights)] * missing
    assert scores.tolist() == [nearest_double(x) for x, _ in expected] + [-torch.inf] * missing
    best, score = st.best_tree(log_weights, root=root, return_score=True, validate_args=False)
    assert torch.equal(best, heads[0])
    assert score == scores[0]


def every_graph(num_nodes: int, values: list[float]) -> Tensor:
    """All graphs with these values on their edges; other values off them."""
    n = num_nodes + 1
    edges = [(i, j) for i in range(n) for j in range(1, n) if i != j]
    drawn = torch.tensor(list(itertools.product(values, repeat=len(edges))), dtype=torch.float64)
    graphs = torch.full((len(drawn), n, n), torch.nan, dtype=torch.float64)
    for e, (i, j) in enumerate(edges):
        graphs[:, i, j] = drawn[:, e]
    return graphs


@pytest.mark.parametrize(
    ("num_nodes", "values"),
    [
        (1, [-torch.inf, -1.0, 2.0]),
        (2, [-torch.inf, -2.0, 0.0, 1.0, 3.0]),
        (3, [-torch.inf, 0.0, 1.0]),
    ],
)
def test_every_graph(num_nodes, values, root):
    """All ties, all patterns of missing edges, all trees of each graph."""
    graphs = every_graph(num_nodes, values)
    heads, scores = ranked_by_enumeration(graphs.nan_to_num(0.0, neginf=-torch.inf), root)
    k = len(heads) + 1
    actual_heads, actual_scores = st.best_trees(graphs, k, root=root, validate_args=False)
    assert torch.equal(actual_heads[:-1], heads)
    assert torch.equal(actual_scores[:-1], scores)
    assert (actual_heads[-1] == -1).all()
    assert (actual_scores[-1] == -torch.inf).all()
    assert torch.equal(st.best_tree(graphs, root=root, validate_args=False), heads[0])


@pytest.mark.parametrize("forbidden", [0.0, 0.5])
@pytest.mark.parametrize("levels", [1, 2, 5, 1000])
@pytest.mark.parametrize(("num_nodes", "count"), [(4, 100), (5, 12)])
def test_all_trees_of_graphs_with_ties(num_nodes, count, levels, forbidden, root):
    graphs = random_graphs((count,), num_nodes, forbidden=forbidden)
    # Of few levels, so that sums of doubles are exact, and many of them equal.
    graphs = (graphs * levels / 8).round()
    heads, scores = ranked_by_enumeration(graphs, root)
    actual_heads, actual_scores = st.best_trees(graphs, len(heads), root=root)
    assert torch.equal(actual_heads, heads)
    assert torch.equal(actual_scores, scores)


@pytest.mark.parametrize("levels", [1, 3, 1000])
def test_best_of_six_nodes(levels, root):
    graphs = (random_graphs((150,), 6, forbidden=0.2) * levels / 8).round()
    heads, scores = ranked_by_enumeration(graphs, root)
    best, score = st.best_tree(graphs, root=root, return_score=True)
    assert torch.equal(best, heads[0])
    assert torch.equal(score, scores[0])


@pytest.mark.parametrize("levels", [1, 3, 1000])
def test_all_trees_of_six_nodes(levels, root):
    """16807 of them, 7776 with a single root, most of them tied."""
    graphs = (random_graphs((2,), 6, forbidden=0.1) * levels / 8).round()
    heads, scores = ranked_by_enumeration(graphs, root)
    actual_heads, actual_scores = st.best_trees(graphs, len(heads), root=root)
    assert torch.equal(actual_heads, heads)
    assert torch.equal(actual_scores, scores)


@given(batches(batch_shapes=[()], max_nodes=4), st_.integers(1, 130))
@settings(max_examples=60)
def test_any_weights(root, log_weights, k):
    assert_in_order(log_weights, root, k)


def mixed(num_nodes: int, seed: int, magnitude: float, grain: float) -> Tensor:
    """Multiples of something large, plus a few multiples of something small."""
    generator = torch.Generator().manual_seed(seed)
    shape = (2, num_nodes + 1, num_nodes + 1)
    large, small = torch.randint(-2, 3, shape, generator=generator).double()
    return large * magnitude + small * grain


HOSTILE = {
    "units beside 1e15": (1e15, 1.0),
    "fractions beside 1e15": (1e15, 0.125),
    "all scales": (1e16, 1e-8),
    "beyond the sum of doubles": (7e307, 1e292),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_huge_scores_and_tiny_differences(case, root):
    for seed in range(15):
        assert_in_order(mixed(4, seed, *HOSTILE[case]), root, 30)


def test_scores_from_the_smallest_to_the_largest(root):
    """Among scores near overflow, differences of one subnormal decide."""
    for seed in range(15):
        graph = mixed(4, seed, 5e-324, 0.0)
        large = torch.rand(5, 5, generator=torch.Generator().manual_seed(seed)) < 0.3
        graph[large] = torch.finfo(torch.float64).max
        assert_in_order(graph, root, 30)
        graph[large] = torch.finfo(torch.float64).min
        assert_in_order(graph, root, 30)


@pytest.mark.parametrize("num_nodes", [7, 25, 60])
@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_scores_of_larger_graphs(case, num_nodes, root):
    """Exact sums decide where an error of a rounding would pick another tree."""
    graphs = torch.stack([mixed(num_nodes, seed, *HOSTILE[case]) for seed in range(4)])
    noise = random_graphs((4,), num_nodes, seed=1)
    for some in (graphs, graphs + noise, graphs.where(noise > 0, noise)):
        for graph, heads in zip(some, st.best_tree(some, root=root), strict=True):
            scores = integer_scores(graph, root)
            expected = best_by_contraction(scores)
            assert sum(scores[j][int(heads[j])] for j in scores) == sum(
                scores[j][i] for j, i in expected.items()
            )


@pytest.mark.parametrize("family", FAMILIES)
def test_hostile_weights(family, root):
    graph = hostile_log_weights(family, 9)
    scores = integer_scores(graph, root)
    heads, _ = st.best_trees(graph, 5, root=root)
    expected = [
        score
        for score, tree in itertools.islice(ranked_by_partition(scores), 5)
        if root == "multi" or list(tree.values()).count(0) == 1
    ]
    actual = [sum(scores[j][tree[j]] for j in scores) for tree in heads.tolist() if tree[1] >= 0]
    assert actual == expected


@pytest.mark.parametrize("forbidden", [0.0, 0.3, 0.8])
@pytest.mark.parametrize("num_nodes", [2, 9, 30, 60])
def test_networkx_agrees(num_nodes, forbidden):
    graph = random_graphs((), num_nodes, forbidden=forbidden)
    network = networkx.DiGraph()
    for i, j in (graph > -torch.inf).nonzero().tolist():
        if j > 0 and i != j:
            network.add_edge(i, j, weight=graph[i, j].item())
    tree = networkx.maximum_spanning_arborescence(network)
    heads = st.best_tree(graph, root="multi")
    assert heads.tolist() == [-1, *(i for i, j in sorted(tree.edges, key=lambda edge: edge[1]))]


@pytest.mark.parametrize("num_nodes", [2, 9, 30, 60])
@pytest.mark.parametrize("distance", [0.0, 30.0])
def test_single_root_is_the_best_child_of_the_root(num_nodes, distance):
    graph = random_graphs((), num_nodes, forbidden=0.1)
    graph[0] += distance  # every node would rather hang from the root
    by_child = graph.expand(num_nodes, *graph.shape).clone()
    by_child[:, 0] = -torch.inf
    by_child.diagonal(offset=1, dim1=0, dim2=2)[0] = graph[0, 1:]
    heads, scores = st.best_tree(by_child, root="multi", return_score=True, validate_args=False)
    best, score = st.best_tree(graph, return_score=True)
    assert torch.equal(best, heads[scores.argmax()])
    assert score == scores.max()


def assert_ranked_as_by_partition(graph: Tensor, root: str, k: int) -> None:
    expected = itertools.islice(ranked_by_partition(integer_scores(graph, root)), k)
    expected = [[-1, *(heads[j] for j in sorted(heads))] for _, heads in expected]
    assert st.best_trees(graph, k, root=root)[0].tolist() == expected


@pytest.mark.parametrize("num_nodes", [10, 25])
def test_ranking_of_larger_graphs(num_nodes, root):
    for forbidden in (0.0, 0.7):
        graph = random_graphs((), num_nodes, forbidden=forbidden)
        assert_ranked_as_by_partition(graph, root, 12)


@pytest.mark.parametrize("num_nodes", [12, pytest.param(40, marks=slow)])
@pytest.mark.parametrize("case", HOSTILE)
def test_ranking_of_hostile_scores(case, num_nodes, root):
    """Trees of one score may come in another order here; the exact scores are the same."""
    for seed in range(3):
        graph = mixed(num_nodes, seed, *HOSTILE[case])
        scores = integer_scores(graph, root)
        heads, _ = st.best_trees(graph, 15, root=root)
        expected = [score for score, _ in itertools.islice(ranked_by_partition(scores), 15)]
        assert [sum(scores[j][tree[j]] for j in scores) for tree in heads.tolist()] == expected
        assert len(heads.unique(dim=0)) == 15


@slow
@pytest.mark.parametrize(("num_nodes", "share"), [(60, 1.0), (200, 0.1), (200, 1.0)])
def test_ranking_of_large_graphs(num_nodes, share, root):
    graph = random_graphs((), num_nodes, forbidden=1 - share)
    assert_ranked_as_by_partition(graph, root, 20)


@pytest.mark.parametrize("num_nodes", [200, pytest.param(1500, marks=slow)])
@pytest.mark.parametrize("kind", ["random", "equal", "bytes"])
def test_large_graphs(kind, num_nodes, root):
    """Also where all trees, or many, have the same score."""
    graph = random_graphs((), num_nodes)
    if kind != "random":
        graph = graph.mul(0 if kind == "equal" else 8).round()
    heads, score = st.best_tree(graph, root=root, return_score=True)
    assert is_tree(heads, None, single_root=root == "single")
    assert score == nearest_double(exact_score(graph, heads))
    if kind == "equal":  # the smallest heads that make a tree
        assert heads[1:].tolist() == [0, *[int(root == "single")] * (num_nodes - 1)]


def test_more_trees_than_there_are(root):
    graph = random_graphs((2,), 3)
    total = len(enumerate_trees(3, root))
    heads, scores = st.best_trees(graph, total + 5, root=root)
    assert (scores[:total].diff(dim=0) < 0).all()
    assert len({tuple(tree) for tree in heads[:total, 0].tolist()}) == total
    assert (heads[total:] == -1).all()
    assert (scores[total:] == -torch.inf).all()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
@pytest.mark.parametrize("num_nodes", [1, 3, 8, 9, 17, 33, 70])
def test_same_tree_in_any_company(num_nodes, dtype, root, threads):
    """Batches, padding, garbage and threads change nothing; nor do ties."""
    graphs = random_graphs((40,), num_nodes, forbidden=0.1).to(dtype)
    graphs[::2] = graphs[::2].round()
    lengths = random_lengths((40,), num_nodes)
    heads, scores = st.best_trees(with_garbage(graphs, lengths), 4, lengths, root=root)
    best = st.best_tree(with_garbage(graphs, lengths), lengths, root=root)
    assert torch.equal(best, heads[0])
    assert scores.dtype == dtype
    for b, length in enumerate(lengths.tolist()):
        alone = graphs[b, : length + 1, : length + 1].clone()
        expected, expected_scores = st.best_trees(alone, 4, root=root)
        assert torch.equal(heads[:, b, : length + 1], expected)
        assert torch.equal(scores[:, b], expected_scores)
        assert (heads[:, b, length + 1 :] == -1).all()


@pytest.mark.parametrize("name", _native.instruction_sets())
def test_every_instruction_set(name, root):
    graphs = random_graphs((50,), 21, forbidden=0.1)
    graphs[::2] = graphs[::2].round()
    expected = st.best_trees(graphs, 5, root=root)
    _native.use_instruction_set(name)
    try:
        actual = st.best_trees(graphs, 5, root=root)
    finally:
        _native.use_instruction_set(_native.instruction_sets()[0])
    assert all(torch.equal(a, e) for a, e in zip(actual, expected, strict=True))


@pytest.mark.parametrize("batch_shape", [(), (0,), (1,), (2, 3), (2, 0)], ids=str)
def test_any_leading_shape(batch_shape, root, device, dtype):
    graphs = random_graphs(batch_shape, 5).to(device, dtype)
    lengths = random_lengths(batch_shape, 5).to(device)
    for given_lengths in (None, lengths):
        heads, score = st.best_tree(graphs, given_lengths, root=root, return_score=True)
        assert heads.shape == (*batch_shape, 6)
        assert heads.dtype == torch.int64
        assert heads.device == score.device == graphs.device
        assert score.shape == batch_shape
        assert is_tree(heads, given_lengths, single_root=root == "single").all()
        trees, scores = st.best_trees(graphs, 3, given_lengths, root=root)
        assert trees.shape == (3, *batch_shape, 6)
        assert scores.shape == (3, *batch_shape)


def test_strides_do_not_matter(root):
    graphs = random_graphs((3, 4), 5)
    expected = st.best_tree(graphs, root=root)
    assert torch.equal(st.best_tree(graphs.mT.contiguous().mT, root=root), expected)
    assert torch.equal(st.best_tree(graphs[0, 0].expand(3, 6, 6), root=root)[2], expected[0, 0])


@pytest.mark.parametrize("half", [torch.bfloat16, torch.float16], ids=str)
def test_half_precision(half, root):
    graphs = random_graphs((8,), 7).to(half)
    heads, scores = st.best_trees(graphs, 5, root=root)
    exact_heads, exact_scores = st.best_trees(graphs.double(), 5, root=root)
    assert torch.equal(heads, exact_heads)
    assert torch.equal(scores, exact_scores.float())


def test_gradient_of_the_score_is_the_tree(root):
    graphs = random_graphs((2, 3), 6, forbidden=0.2).requires_grad_()
    lengths = random_lengths((2, 3), 6)
    heads, scores = st.best_trees(graphs, 3, lengths, root=root)
    for rank in range(3):
        (gradient,) = torch.autograd.grad(
            scores[rank][scores[rank] > -torch.inf].sum(), graphs, retain_graph=True
        )
        edges = torch.zeros_like(gradient)
        for item in itertools.product(range(2), range(3)):
            for j, i in enumerate(heads[rank][item].tolist()):
                if i >= 0:
                    edges[(*item, i, j)] = 1.0
        assert torch.equal(gradient, edges)


def test_score_with_gradient_is_the_same_number(root):
    graphs = torch.stack([mixed(5, seed, 1e15, 0.1) for seed in range(20)])
    expected = st.best_trees(graphs, 6, root=root)[1]
    assert torch.equal(st.best_trees(graphs.requires_grad_(), 6, root=root)[1], expected)


def test_transforms(root):
    graphs = random_graphs((4, 3), 5, forbidden=0.1)
    lengths = random_lengths((4, 3), 5)
    expected = st.best_trees(graphs, 3, lengths, root=root)

    def decode(graphs: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        return st.best_trees(graphs, 3, lengths, root=root)

    actual = torch.func.vmap(torch.func.vmap(decode, out_dims=1), out_dims=1)(graphs, lengths)
    assert all(torch.equal(a, e) for a, e in zip(actual, expected, strict=True))

    def score(graph: Tensor) -> Tensor:
        return st.best_tree(graph, root=root, return_score=True)[1]

    slope = torch.func.vmap(torch.func.grad(score))(graphs[:, 0])
    theta = graphs[:, 0].clone().requires_grad_()
    assert torch.equal(slope, *torch.autograd.grad(score(theta).sum(), theta))


def test_forward_mode():
    graphs = random_graphs((4,), 5)
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(graphs, torch.ones_like(graphs))
        score = st.best_tree(dual, return_score=True)[1]
        tangent = torch.autograd.forward_ad.unpack_dual(score).tangent
    assert torch.equal(tangent, torch.full((4,), 5.0, dtype=torch.float64))


def test_compiled():
    graphs = random_graphs((4,), 5, forbidden=0.1).requires_grad_()
    lengths = random_lengths((4,), 5)

    def decode(graphs: Tensor) -> tuple[Tensor, Tensor]:
        return st.best_trees(graphs, 3, lengths)

    expected = decode(graphs)
    actual = torch.compile(decode, fullgraph=True, backend="aot_eager")(graphs)
    assert all(torch.equal(a, e) for a, e in zip(actual, expected, strict=True))
    slopes = [torch.autograd.grad(scores[0].sum(), graphs)[0] for _, scores in (actual, expected)]
    assert torch.equal(*slopes)
