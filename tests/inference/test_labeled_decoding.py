"""Labelled trees in order, and the tree of least risk, against enumeration."""

from fractions import Fraction

import pytest
import torch
from torch import Tensor

from spantree.inference.decoding import best_of, k_best_of, minimum_bayes_risk_of
from spantree.inference.ensemble import Ensemble
from spantree.inference.enumeration import enumerate_trees, tree_scores
from spantree.inference.trees import is_tree
from tests.graphs import random_graphs, random_lengths, with_garbage
from tests.ranked import labeled_in_order, nearest_double
from tests.tolerances import assert_close


def labeled_graphs(
    batch_shape: tuple[int, ...], num_nodes: int, kinds: int, *, forbidden: float = 0.0
) -> Tensor:
    layers = [
        random_graphs(batch_shape, num_nodes, forbidden=forbidden, seed=y) for y in range(kinds)
    ]
    return torch.stack(layers, dim=-1)


def ensemble_of(log_weights: Tensor, lengths: Tensor | None, root: str, **options) -> Ensemble:
    options = {"validate_args": None, "labeled": True} | options
    return Ensemble.of(log_weights, lengths, root, options.pop("validate_args"), **options)


@pytest.mark.parametrize("forbidden", [0.0, 0.5])
@pytest.mark.parametrize("levels", [1, 3, 1000])
@pytest.mark.parametrize(("num_nodes", "kinds"), [(1, 4), (2, 3), (3, 2)])
def test_all_labeled_trees_in_order(num_nodes, kinds, levels, forbidden, root):
    graphs = labeled_graphs((4,), num_nodes, kinds, forbidden=forbidden)
    graphs = (graphs * levels / 8).round() * 0.1  # sums that doubles cannot hold
    lists = [labeled_in_order(graph, root) for graph in graphs]
    k = max(map(len, lists)) + 2
    heads, labels, scores = k_best_of(ensemble_of(graphs, None, root), k)
    for b, expected in enumerate(lists):
        missing = k - len(expected)
        nothing = [[-1] * (num_nodes + 1)] * missing
        assert heads[:, b].tolist() == [tree for _, tree, _ in expected] + nothing
        assert labels[:, b].tolist() == [kind for _, _, kind in expected] + nothing
        assert scores[:, b].tolist() == [nearest_double(x) for x, *_ in expected] + (
            [-torch.inf] * missing
        )


@pytest.mark.parametrize("magnitude", [1e15, 1e300])
def test_huge_scores_and_tiny_differences(magnitude, root):
    generator = torch.Generator().manual_seed(0)
    for _ in range(10):
        large, small = torch.randint(-1, 2, (2, 4, 4, 2), generator=generator).double()
        graph = large * magnitude + small / 8
        expected = labeled_in_order(graph, root)[:12]
        heads, labels, _ = k_best_of(ensemble_of(graph, None, root), 12)
        assert heads.tolist() == [tree for _, tree, _ in expected]
        assert labels.tolist() == [kind for *_, kind in expected]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
def test_ragged_batches(dtype, root, threads):
    graphs = labeled_graphs((2, 9), 11, 5, forbidden=0.3).to(dtype)
    lengths = random_lengths((2, 9), 11)
    garbage = with_garbage(graphs.movedim(-1, 0), lengths).movedim(0, -1)
    heads, labels, scores = k_best_of(ensemble_of(garbage, lengths, root), 6)
    assert torch.equal(best_of(ensemble_of(garbage, lengths, root)).labels, labels[0])
    for at in torch.cartesian_prod(torch.arange(2), torch.arange(9)).tolist():
        item = tuple(at)
        n = int(lengths[item]) + 1
        alone = k_best_of(ensemble_of(graphs[item][:n, :n], None, root), 6)
        rank = (slice(None), *item)
        assert torch.equal(heads[rank][:, :n], alone.heads)
        assert torch.equal(labels[rank][:, :n], alone.labels)
        assert torch.equal(scores[rank], alone.scores)
        assert (heads[rank][:, n:] == -1).all()
        assert (labels[rank][:, n:] == -1).all()
        for tree, kinds, score in zip(*alone, strict=True):
            if score > -torch.inf:
                edges = [
                    Fraction(graphs[item][i, j, y].item()) for j, (i, y) in _edges(tree, kinds)
                ]
                assert score.item() == nearest_double(sum(edges))


def _edges(heads: Tensor, labels: Tensor) -> list[tuple[int, tuple[int, int]]]:
    pairs = zip(heads.tolist(), labels.tolist(), strict=True)
    return [(j, pair) for j, pair in enumerate(pairs) if j]


def test_one_label_is_no_label(root):
    graphs = random_graphs((6,), 8)
    plain = k_best_of(ensemble_of(graphs, None, root, labeled=False), 10)
    labeled = k_best_of(ensemble_of(graphs[..., None], None, root), 10)
    assert plain.labels is None
    assert torch.equal(plain.heads, labeled.heads)
    assert torch.equal(plain.scores, labeled.scores)
    assert (labeled.labels[..., 1:] == 0).all()


def test_gradient_of_the_score(root):
    theta = labeled_graphs((3,), 5, 4, forbidden=0.2).requires_grad_()
    heads, labels, scores = best_of(ensemble_of(theta, None, root))
    (gradient,) = torch.autograd.grad(scores.sum(), theta)
    expected = torch.zeros_like(gradient)
    for b in range(3):
        for j, (i, y) in _edges(heads[b], labels[b]):
            expected[b, i, j, y] = 1.0
    assert torch.equal(gradient, expected)


def test_no_tree(root):
    graphs = labeled_graphs((3,), 4, 2)
    graphs[1, :, 2] = -torch.inf
    graphs[2, 0, 1, 1] = torch.nan
    with pytest.raises(ValueError, match=r"batch item \(1,\).*nodes \[2\] cannot be reached"):
        k_best_of(ensemble_of(graphs[:2], None, root), 2)
    with pytest.raises(ValueError, match=r"found nan at batch item \(2,\), edge 0 -> 1"):
        k_best_of(ensemble_of(graphs[[0, 0, 2]], None, root), 2)
    found = k_best_of(ensemble_of(graphs, None, root, validate_args=False), 2)
    assert (found.heads[:, 1:] == -1).all()
    assert (found.labels[:, 1:] == -1).all()
    assert (found.scores[:, 1] == -torch.inf).all()
    assert found.scores[:, 2].isnan().all()
    assert found.scores[:, 0].isfinite().all()


@pytest.mark.parametrize("forbidden", [0.0, 0.4])
def test_least_risk(forbidden, root):
    graphs = random_graphs((20,), 5, scale=1.0, forbidden=forbidden)
    ensemble = ensemble_of(graphs, None, root, labeled=False)
    _, marginals = ensemble.solve()
    heads, labels, gains = minimum_bayes_risk_of(ensemble, marginals)
    assert labels is None
    trees = enumerate_trees(5, root)
    probabilities = tree_scores(graphs, trees).softmax(-1)
    shared = (trees[:, None, 1:] == trees[None, :, 1:]).sum(-1).double()
    expected = (probabilities @ shared).where(probabilities > 0, 0.0)
    assert_close(gains, expected.amax(-1))
    assert_close(expected.gather(-1, _index(heads, trees)[:, None])[:, 0], expected.amax(-1))


def _index(heads: Tensor, trees: Tensor) -> Tensor:
    return (heads[:, None] == trees).all(-1).long().argmax(-1)


def test_least_risk_with_labels(root):
    graphs = labeled_graphs((30,), 4, 3, forbidden=0.2)
    ensemble = ensemble_of(graphs, None, root)
    _, marginals = ensemble.solve()
    heads, labels, gains = minimum_bayes_risk_of(ensemble, marginals)
    best = marginals.where(ensemble.present, -torch.inf).amax(-1)
    assert_close(gains, tree_scores(best, enumerate_trees(4, root)).amax(-1))
    assert is_tree(heads, None, single_root=root == "single").all()
    for b in range(30):
        taken = [marginals[b, i, j, y] for j, (i, y) in _edges(heads[b], labels[b])]
        assert_close(torch.stack(taken).sum(), gains[b])


def test_least_risk_keeps_to_the_edges_of_the_graph(root):
    """Where all marginals of a column round to 0 an edge is an edge still."""
    graph = random_graphs((), 6, forbidden=0.5)
    graph[0, 1:] -= 2000.0
    ensemble = ensemble_of(graph, None, root, labeled=False)
    heads, _, gains = minimum_bayes_risk_of(ensemble, torch.zeros(7, 7))
    assert (graph[heads[1:], torch.arange(1, 7)] > -torch.inf).all()
    assert gains == 0.0
