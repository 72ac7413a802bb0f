"""Both samplers of the kernel, each by itself, and how one is chosen."""

import time

import pytest
import torch
from torch import Tensor

import spantree as st
from spantree.inference.enumeration import enumerate_trees, tree_scores
from spantree.inference.trees import is_tree
from spantree.kernels import _native, sampling
from tests.frequencies import assert_fits, assert_frequencies, edge_counts, tree_numbers
from tests.graphs import random_graphs, random_lengths, with_garbage
from tests.hostile import FAMILIES, hostile_log_weights
from tests.tolerances import assert_within

slow = pytest.mark.slow
WAYS = {"walk": {"method": "walk"}, "regrow": {"method": "regrow"}}
WAYS["regrow wide"] = {"method": "regrow", "always_wide": True}


def draw(log_weights: Tensor, samples: int, root: str, seed: int = 0, **way) -> Tensor:
    """``(samples, n)`` heads of one graph."""
    single = root == "single"
    plan = sampling.plan(log_weights[None], None, single_root=single)
    assert plan.status is None
    drawn = sampling.draw(log_weights[None], None, plan, seed, samples, single_root=single, **way)
    return drawn[:, 0]


def enough(count: int) -> list:
    """So many samples in `make test`, and a million in `make slow`."""
    return [count, pytest.param(1_000_000, marks=slow)]


@pytest.mark.parametrize(
    ("counter", "key", "expected"),
    [  # the known answers of the authors' own test suite (Random123, kat_vectors)
        ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        ((2**32 - 1,) * 4, (2**32 - 1,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        (
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            (0xA4093822, 0x299F31D0),
            (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
        ),
    ],
)
def test_bits_are_those_of_philox(counter, key, expected):
    def join(low: int, high: int) -> int:
        return low | high << 32

    bits = _native.random_bits(join(*key), join(*counter[2:]), join(*counter[:2]), 2)
    assert bits == [join(*expected[:2]), join(*expected[2:])]


def test_streams_go_on_where_blocks_end():
    bits = _native.random_bits(7, 8, 0, 40)
    assert bits[30:] == _native.random_bits(7, 8, 15, 10)
    assert len(set(bits)) == 40


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("samples", enough(100_000))
@pytest.mark.parametrize("num_nodes", [1, 2, 3, 4])
@pytest.mark.parametrize("scale", [0.0, 1.0, 3.0])
def test_every_tree_has_its_probability(num_nodes, scale, samples, way, root):
    log_weights = random_graphs((), num_nodes, scale=scale, forbidden=0.1, seed=num_nodes)
    trees = enumerate_trees(num_nodes, root)
    probabilities = tree_scores(log_weights, trees).softmax(-1)
    heads = draw(with_garbage(log_weights), samples, root, **WAYS[way])
    counts = tree_numbers(trees, heads).bincount(minlength=len(trees))
    assert_fits(counts, probabilities)


@pytest.mark.parametrize("way", ["quicker", "regrow", "regrow wide"])
@pytest.mark.parametrize("family", FAMILIES)
def test_every_tree_has_its_probability_on_hostile_weights(family, way, root):
    log_weights = hostile_log_weights(family, 4)
    trees = enumerate_trees(4, root)
    probabilities = tree_scores(log_weights, trees).softmax(-1)
    heads = draw(log_weights, 20_000, root, **WAYS.get(way, {}))
    counts = tree_numbers(trees, heads).bincount(minlength=len(trees))
    assert_fits(counts, probabilities)


@pytest.mark.parametrize("way", ["quicker", "regrow"])
@pytest.mark.parametrize("num_nodes", [12, pytest.param(40, marks=slow)])
@pytest.mark.parametrize("family", FAMILIES)
def test_edges_have_their_marginals_on_hostile_weights(family, num_nodes, way, root):
    log_weights = hostile_log_weights(family, num_nodes)
    samples = 2000
    heads = draw(log_weights, samples, root, **WAYS.get(way, {}))
    assert is_tree(heads, None, single_root=root == "single").all()
    assert_frequencies(edge_counts(heads), samples, st.edge_marginals(log_weights, root=root))


def expected_steps(log_weights: Tensor, absorbing: int, among: list[int]) -> float:
    """The trace of the fundamental matrix of the walk between other nodes."""
    weights = log_weights.exp().fill_diagonal_(0.0)
    total = weights[[absorbing, *among]][:, among].sum(0)
    chain = weights[among][:, among] / total
    return float(torch.linalg.inv(torch.eye(len(among)).double() - chain).trace())


@pytest.mark.parametrize("always_wide", [False, True])
@pytest.mark.parametrize("num_nodes", [1, 2, 3, 5, 12, 24, 33, 72])
def test_expected_steps(num_nodes, always_wide, root):
    log_weights = random_graphs((3,), num_nodes, scale=1.0)
    nodes = list(range(1, num_nodes + 1))
    plan = sampling.plan(log_weights, None, single_root=root == "single", always_wide=always_wide)
    for one, steps in zip(log_weights, plan.steps, strict=True):
        if root == "multi":
            assert float(steps.sum()) == pytest.approx(expected_steps(one, 0, nodes), rel=1e-9)
            continue
        for child in nodes[:: max(1, num_nodes // 6)]:
            others = [j for j in nodes if j != child]
            expected = expected_steps(one, child, others) if others else 0.0
            assert float(steps[child]) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("num_nodes", [6, 30])
def test_expected_steps_where_few_can_be_the_child(num_nodes):
    """Nodes 1 to 3 govern each other and all others, which govern anyone but them."""
    log_weights = random_graphs((), num_nodes, scale=1.0)
    log_weights[4:, 1:4] = -torch.inf
    plan = sampling.plan(log_weights[None], None, single_root=True)
    assert plan.at_root[0, 1:4].sum() == pytest.approx(1.0)
    for child in (1, 2, 3):
        others = [j for j in range(1, num_nodes + 1) if j != child]
        expected = expected_steps(log_weights, child, others)
        assert float(plan.steps[0, child]) == pytest.approx(expected, rel=1e-9)


def test_probabilities_at_the_root_are_marginals(root):
    lengths = random_lengths((6,), 9)
    log_weights = with_garbage(random_graphs((6,), 9, forbidden=0.2), lengths)
    plan = sampling.plan(log_weights, lengths, single_root=root == "single")
    marginals = st.edge_marginals(log_weights, lengths, root=root)
    assert_within(plan.at_root, marginals[:, 0], 1e-14)


@pytest.mark.parametrize("strength", [40.0, 600.0])
def test_tight_cycles_take_no_time(strength, root):
    log_weights = random_graphs((), 40, scale=1.0)
    for a in range(1, 40, 2):
        log_weights[a, a + 1] += strength
        log_weights[a + 1, a] += strength
    plan = sampling.plan(log_weights[None], None, single_root=root == "single")
    assert plan.steps.sum() > 1e15
    seconds = []
    for seed in range(3):
        start = time.perf_counter()
        draw(log_weights, 100, root, seed)
        seconds.append(time.perf_counter() - start)
    assert min(seconds) < 0.02


@pytest.mark.parametrize("way", ["walk", "regrow"])
def test_threads_do_not_matter(way, root):
    lengths = random_lengths((5,), 30)
    log_weights = random_graphs((5,), 30, scale=1.0)
    plan = sampling.plan(log_weights, lengths, single_root=root == "single")
    drawn = []
    before = torch.get_num_threads()
    for threads in (1, 2, 7):
        torch.set_num_threads(threads)
        heads = sampling.draw(
            log_weights, lengths, plan, 11, 300, single_root=root == "single", method=way
        )
        drawn.append(heads)
    torch.set_num_threads(before)
    assert all(torch.equal(drawn[0], heads) for heads in drawn)


@pytest.mark.parametrize("way", WAYS)
def test_every_instruction_set_draws_the_same(way, root):
    """But for what the last digit of a probability decides."""
    log_weights = random_graphs((), 25, forbidden=0.2)
    drawn = []
    try:
        for name in _native.instruction_sets():
            _native.use_instruction_set(name)
            drawn.append(draw(log_weights, 500, root, **WAYS[way]))
    finally:
        _native.use_instruction_set(_native.instruction_sets()[0])
    for other in drawn[1:]:
        assert (drawn[0] == other).double().mean() > 0.999


@pytest.mark.parametrize("way", ["walk", "regrow"])
@pytest.mark.parametrize("num_nodes", [300, pytest.param(2000, marks=slow)])
def test_large_graphs(num_nodes, way, root):
    log_weights = random_graphs((), num_nodes, scale=1.0)
    heads = draw(log_weights, 50, root, method=way)
    assert is_tree(heads, None, single_root=root == "single").all()
    # So many samples can tell the expected log-weight of a tree.
    scores = tree_scores(log_weights, heads)
    marginals = st.edge_marginals(log_weights, root=root)
    expected = (marginals * log_weights.where(marginals > 0, 0.0)).sum()
    assert abs(float(scores.mean() - expected)) < 6 * float(scores.std()) / 50**0.5
