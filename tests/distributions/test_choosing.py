"""Choosing trees from distributions: shapes, batches, dtypes, reproducibility, gradients."""

import itertools

import pytest
import torch

import spantree as st
from spantree.inference.enumeration import enumerate_trees
from spantree.inference.trees import is_tree
from tests.distributions.every_tree import KINDS, Oracle, garbage_around, graphs, parts, seeded
from tests.graphs import random_lengths
from tests.tolerances import assert_close


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


class TestRaggedBatches:
    lengths = random_lengths((2, 3), 4)

    def items(self, kind: str, root: str):
        """A batch with garbage around, and every item with a distribution of its own."""
        log_weights = graphs(kind, (2, 3), 4 if kind == "plain" else 3, forbidden=0.1)
        lengths = self.lengths.clamp_max(log_weights.shape[2] - 1)
        padded = garbage_around(kind, log_weights, lengths)
        batch = KINDS[kind](padded, lengths, root=root)
        alone = {}
        for at in itertools.product(range(2), range(3)):
            n = int(lengths[at]) + 1
            alone[at] = KINDS[kind](log_weights[at][:n, :n], root=root), n
        return batch, alone

    def test_best_trees(self, kind, root):
        batch, alone = self.items(kind, root)
        for choose in (
            lambda d: parts(d.mode)[None],
            lambda d: parts(d.mbr())[None],
            lambda d: parts(d.topk(9)[0]),
        ):
            chosen = choose(batch)
            for at, (d, n) in alone.items():
                assert torch.equal(chosen[:, *at, :, :n], choose(d))
                assert (chosen[:, *at, :, n:] == -1).all()
        log_probs = batch.topk(9)[1]
        for at, (d, _) in alone.items():
            assert_close(log_probs[:, *at], d.topk(9)[1])

    def test_random_trees(self, kind, root):
        batch, alone = self.items(kind, root)
        sampled = batch.sample((200,), seeded())
        distinct, log_probs = batch.sample_without_replacement(20, seeded())
        noisy = batch.perturb_and_map(1.0, (20,), seeded())
        assert batch.log_prob(sampled).isfinite().all()
        assert batch.log_prob(noisy).isfinite().all()
        for at, (d, n) in alone.items():
            for trees in (sampled, distinct, noisy):
                assert (parts(trees)[:, *at, :, n:] == -1).all()
            oracle = Oracle.of(d.log_weights, d.root)
            number = oracle.number(parts(distinct)[: len(oracle.trees), *at, :, :n])
            assert len(number.unique()) == min(20, len(oracle.trees))
            assert_close(log_probs[: len(number), *at], oracle.log_probs[number])
            oracle.number(parts(sampled)[:, *at, :, :n])

    def test_conditions_may_differ(self, kind, root):
        """Heads known of some items, each its own; further axes of them in front."""
        batch, alone = self.items(kind, root)
        some = parts(batch.sample((4,), seeded(1)))[..., 0, :]
        some = some.where(torch.rand(some.shape, generator=seeded(2)) < 0.5, -1)
        given = batch.condition(some)
        assert given.batch_shape == (4, 2, 3)
        for heads in (
            parts(given.mode)[None, ..., 0, :],
            parts(given.sample((7,), seeded()))[..., 0, :],
            parts(given.sample_without_replacement(1, seeded())[0])[..., 0, :],
            parts(given.mbr())[None, ..., 0, :],
        ):
            assert heads.shape[1:] == some.shape
            assert ((heads == some) | (some < 0)).all()
        for copy, (at, (d, n)) in itertools.product(range(4), alone.items()):
            expected = d.condition(some[copy, *at, :n]).mode
            assert torch.equal(parts(given.mode)[copy, *at, :, :n], parts(expected))


@pytest.mark.parametrize("sample_shape", [(), (0,), (4,), (2, 3)], ids=str)
@pytest.mark.parametrize("batch_shape", [(), (0,), (2,), (2, 1)], ids=str)
def test_shapes(sample_shape, batch_shape, kind, root):
    d = KINDS[kind](graphs(kind, batch_shape, 4), root=root)
    events = {
        (*sample_shape, *batch_shape, 5): [
            d.sample(sample_shape),
            d.sample(torch.Size(sample_shape)),
            d.perturb_and_map(1.0, sample_shape),
        ],
        (*batch_shape, 5): [d.mode, d.argmax(), d.mbr(), d.sample()],
        (3, *batch_shape, 5): [d.topk(3)[0], d.sample_without_replacement(3)[0]],
        (0, *batch_shape, 5): [d.sample_without_replacement(0)[0]],
    }
    for shape, several in events.items():
        for event in several:
            for part in [event] if kind == "plain" else event:
                assert part.shape == shape
                assert part.dtype == torch.int64
            heads = event if kind == "plain" else event.heads
            assert is_tree(heads, None, single_root=root == "single").all()
    assert d.argmax(return_score=True)[1].shape == batch_shape
    assert d.topk(3)[1].shape == d.sample_without_replacement(3)[1].shape == (3, *batch_shape)


def test_labelled_events_have_names():
    d = st.LabeledSpanningTree(graphs("labelled", (), 3))
    for event in (d.mode, d.sample(), d.topk(2)[0], d.mbr(), d.perturb_and_map()):
        heads, labels = event
        assert event.heads is heads
        assert event.labels is labels


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16], ids=str)
def test_dtype(dtype, kind, root):
    """The trees of the given numbers, and their probabilities rounded once."""
    log_weights = graphs(kind, (4,), 4).to(dtype)
    d, exact = KINDS[kind](log_weights, root=root), KINDS[kind](log_weights.double(), root=root)
    result = torch.float64 if dtype == torch.float64 else torch.float32
    for choose in (
        lambda d: d.argmax(return_score=True),
        lambda d: d.topk(5),
        lambda d: d.sample_without_replacement(5, seeded()),
    ):
        (trees, numbers), (expected, exact_numbers) = choose(d), choose(exact)
        assert torch.equal(parts(trees), parts(expected))
        assert numbers.dtype == result
        assert torch.equal(numbers, exact_numbers.to(result))
    assert torch.equal(parts(d.sample((9,), seeded())), parts(exact.sample((9,), seeded())))
    assert torch.equal(
        parts(d.perturb_and_map(1.0, (9,), seeded())),
        parts(exact.perturb_and_map(1.0, (9,), seeded())),
    )


class TestReproducible:
    draws = (
        lambda d, g: parts(d.sample((50,), g)),
        lambda d, g: parts(d.sample_without_replacement(30, g)[0]),
        lambda d, g: parts(d.perturb_and_map(1.0, (50,), g)),
    )

    @pytest.mark.parametrize("draw", draws, ids=["sample", "distinct", "noise"])
    def test_on_any_number_of_threads(self, draw, kind, root):
        lengths = random_lengths((6,), 20)
        d = KINDS[kind](graphs(kind, (6,), 20, scale=1.0), lengths, root=root)
        before, drawn = torch.get_num_threads(), []
        try:
            for threads in (1, 2, 5):
                torch.set_num_threads(threads)
                drawn.append(draw(d, seeded(7)))
        finally:
            torch.set_num_threads(before)
        assert all(torch.equal(drawn[0], other) for other in drawn[1:])

    @pytest.mark.parametrize("draw", draws, ids=["sample", "distinct", "noise"])
    def test_a_generator_moves_on(self, draw, kind):
        d = KINDS[kind](graphs(kind, (3,), 8, scale=1.0))
        generator = seeded(3)
        first, second = draw(d, generator), draw(d, generator)
        assert not torch.equal(first, second)
        assert torch.equal(first, draw(d, seeded(3)))
        assert not torch.equal(first, draw(d, seeded(4)))

    @pytest.mark.parametrize("draw", draws, ids=["sample", "distinct", "noise"])
    def test_the_default_generator_is_that_of_torch(self, draw, kind):
        d = KINDS[kind](graphs(kind, (), 8, scale=1.0))
        torch.manual_seed(5)
        first = draw(d, None)
        torch.manual_seed(5)
        assert torch.equal(first, draw(d, None))
        state = torch.get_rng_state()
        draw(d, seeded())
        assert torch.equal(state, torch.get_rng_state())


def test_ties_go_to_the_smallest_heads_and_labels(root):
    d = st.SpanningTree(torch.zeros(5, 5), root=root)
    trees = enumerate_trees(4, root)
    assert torch.equal(d.topk(len(trees))[0], trees)
    labelled = st.LabeledSpanningTree(torch.zeros(3, 3, 2), root=root)
    assert labelled.mode.labels.tolist() == [-1, 0, 0]
    assert labelled.topk(3)[0].labels.tolist() == [[-1, 0, 0], [-1, 0, 1], [-1, 1, 0]]


class TestScoresAreDifferentiable:
    def test_of_the_best_tree(self, kind, root):
        theta = graphs(kind, (3,), 4).requires_grad_()
        d = KINDS[kind](theta, root=root)
        tree, score = d.argmax(return_score=True)
        (gradient,) = torch.autograd.grad(score.sum(), theta)
        indicator = d.edge_indicator(tree)
        assert torch.equal(gradient, indicator.double())

    def test_of_log_probabilities(self, kind, root):
        theta = graphs(kind, (3,), 4).requires_grad_()
        d = KINDS[kind](theta, root=root)
        trees, log_probs = d.topk(3)
        (gradient,) = torch.autograd.grad(log_probs.sum(), theta)
        again = KINDS[kind](theta, root=root)
        (expected,) = torch.autograd.grad(again.log_prob(trees).sum(), theta)
        assert_close(gradient, expected)

    def test_samples_are_constants(self, kind):
        d = KINDS[kind](graphs(kind, (3,), 4).requires_grad_())
        assert not d.sample_without_replacement(3)[1].requires_grad
        assert not parts(d.sample((2,))).requires_grad
        assert not parts(d.perturb_and_map()).requires_grad
