"""Different trees: the law of their sequence, and what happens when there are no more."""

import pytest
import torch
from torch import Generator, Tensor

import spantree as st
from spantree.inference.ensemble import Ensemble
from spantree.inference.enumeration import enumerate_trees, tree_scores
from spantree.inference.trees import is_tree
from spantree.inference.without_replacement import sample_without_replacement
from tests.frequencies import assert_fits, tree_numbers
from tests.graphs import random_graphs, random_lengths, with_garbage
from tests.hostile import hostile_log_weights
from tests.tolerances import assert_within


def draw(
    log_weights: Tensor, k: int, root: str = "single", lengths: Tensor | None = None, seed: int = 0
) -> tuple[Tensor, Tensor]:
    ensemble = Ensemble.of(log_weights, lengths, root, None)
    heads, _, log_probs = sample_without_replacement(ensemble, k, Generator().manual_seed(seed))
    return heads, log_probs


def sequence_law(probabilities: Tensor, k: int) -> Tensor:
    """The probability of every sequence of k different outcomes, 0 for those with repetitions."""
    law = torch.ones((), dtype=torch.float64)
    left = torch.ones_like(probabilities)
    for _ in range(k):
        chance = left * probabilities
        law = law[..., None] * chance / chance.sum(-1, keepdim=True)
        left = left[..., None, :] * (1 - torch.eye(len(probabilities)))
    return law.nan_to_num(0.0)


@pytest.mark.parametrize("scale", [0.3, 2.0, 4.0])
def test_sequences_have_their_law(scale, root):
    """With trees that take long to cover half of the mass, and with one that does so at once."""
    k, runs = 3, 6000
    log_weights = random_graphs((), 3, scale=scale, seed=1)
    trees = enumerate_trees(3, root)
    law = sequence_law(tree_scores(log_weights, trees).softmax(-1), k).flatten()
    heads, _ = draw(log_weights.expand(runs, 4, 4), k, root)
    numbers = tree_numbers(trees, heads)
    place = len(trees) ** torch.arange(k - 1, -1, -1)
    assert_fits((numbers * place[:, None]).sum(0).bincount(minlength=len(law)), law)


@pytest.mark.parametrize("num_nodes", [1, 2, 3, 4])
def test_all_trees_and_no_more(num_nodes, root):
    lengths = random_lengths((3,), num_nodes)
    log_weights = with_garbage(random_graphs((3,), num_nodes, scale=3.0, forbidden=0.2), lengths)
    heads, log_probs = draw(log_weights, 130, root, lengths)
    log_partition = st.log_partition(log_weights, lengths, root=root)
    for item, length in enumerate(lengths.tolist()):
        graph = log_weights[item, : length + 1, : length + 1]
        trees = enumerate_trees(length, root)
        scores = tree_scores(graph, trees)
        trees, scores = trees[scores > -torch.inf], scores[scores > -torch.inf]
        found, rest = heads[: len(trees), item], heads[len(trees) :, item]
        numbers = tree_numbers(trees, found[:, : length + 1])
        assert sorted(numbers.tolist()) == list(range(len(trees)))
        assert (found[:, length + 1 :] == -1).all()
        expected = scores[numbers] - log_partition[item]
        assert_within(log_probs[: len(trees), item], expected, 1e-12)
        assert (rest == -1).all()
        assert (log_probs[len(trees) :, item] == -torch.inf).all()


def test_labels_make_trees_different():
    log_weights = torch.stack([random_graphs((), 2, forbidden=0.2, seed=s) for s in range(3)], -1)
    ensemble = Ensemble.of(log_weights, None, "single", None, labeled=True)
    heads, labels, log_probs = sample_without_replacement(ensemble, 20, Generator().manual_seed(0))
    assert labels is not None
    exists = log_probs > -torch.inf
    trees = torch.cat([heads, labels], -1)[exists]
    assert len(trees.unique(dim=0)) == len(trees)
    assert log_probs.exp().sum() == pytest.approx(1.0, abs=1e-12)
    scores = log_weights[heads[exists][:, 1:], torch.tensor([1, 2]), labels[exists][:, 1:]].sum(-1)
    assert_within(log_probs[exists], scores - scores.logsumexp(0), 1e-12)
    assert (labels[~exists] == -1).all()


@pytest.mark.parametrize(
    "family",
    ["gaussian-300", "chain-of-2-cycles-bound-by-600", "half-at-1e4-below", "root-200-below"],
)
def test_hostile_weights(family, root):
    log_weights = hostile_log_weights(family, 9)
    heads, log_probs = draw(log_weights, 40, root)
    assert is_tree(heads, None, single_root=root == "single").all()
    assert len(heads.unique(dim=0)) == 40
    nodes = torch.arange(1, 10)
    scores = log_weights[heads[:, 1:], nodes].sum(-1)
    assert_within(log_probs, scores - st.log_partition(log_weights, root=root), 1e-9)


def test_a_batch_of_graphs():
    lengths = random_lengths((2, 3), 12)
    log_weights = random_graphs((2, 3), 12, scale=3.0)
    heads, log_probs = draw(log_weights, 30, lengths=lengths)
    assert heads.shape == (30, 2, 3, 13)
    assert log_probs.shape == (30, 2, 3)
    real = log_probs > -torch.inf
    assert is_tree(heads, lengths, single_root=True)[real].all()
    for index in torch.cartesian_prod(torch.arange(2), torch.arange(3)).tolist():
        found = heads[:, *index][real[:, *index]]
        assert len(found.unique(dim=0)) == len(found)


def test_parts_may_be_weighed_a_few_at_a_time(monkeypatch):
    log_weights = random_graphs((3,), 6, scale=5.0)
    whole = draw(log_weights, 20)
    monkeypatch.setattr("spantree.inference.without_replacement.ENTRIES_AT_ONCE", 1)
    assert torch.equal(draw(log_weights, 20)[0], whole[0])


def test_the_same_state_gives_the_same_trees(threads):
    log_weights = random_graphs((3,), 6, scale=5.0)
    first, again, other = (draw(log_weights, 20, seed=seed)[0] for seed in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_none_at_all():
    heads, log_probs = draw(random_graphs((2,), 3), 0)
    assert heads.shape == (0, 2, 4)
    assert log_probs.shape == (0, 2)


def test_no_tree():
    log_weights = random_graphs((2,), 3)
    log_weights[1, :, 2] = -torch.inf
    with pytest.raises(ValueError, match=r"no spanning tree exists for batch item \(1,\)"):
        draw(log_weights, 3)
    ensemble = Ensemble.of(log_weights, None, "single", False)
    heads, _, log_probs = sample_without_replacement(ensemble, 3, None)
    assert (heads[:, 1] == -1).all()
    assert (log_probs[:, 1] == -torch.inf).all()
    assert (log_probs[:, 0] > -torch.inf).all()


@pytest.mark.parametrize(
    ("k", "error", "message"),
    [
        (-1, ValueError, "k must be at least 0, got -1"),
        (2.0, TypeError, "k must be an int, got 2.0"),
    ],
)
def test_bad_count(k, error, message):
    with pytest.raises(error, match=message):
        draw(random_graphs((), 3), k)
