"""Samples of trees: their law, their randomness, and what is refused."""

import pytest
import torch
from torch import Generator, Tensor

import spantree as st
from spantree.inference.ensemble import Ensemble
from spantree.inference.enumeration import enumerate_trees, tree_scores
from spantree.inference.labels import collapse, label_posteriors
from spantree.inference.sampling import sample
from spantree.inference.trees import edge_mask, is_tree
from tests.frequencies import assert_fits, assert_frequencies, edge_counts, tree_numbers
from tests.graphs import random_graphs, random_lengths, random_tree, with_garbage

slow = pytest.mark.slow


def seeded(seed: int = 0) -> Generator:
    return Generator().manual_seed(seed)


def parser_like(num_nodes: int, seed: int = 0) -> Tensor:
    """Noise, and a tree that stands out."""
    log_weights = random_graphs((), num_nodes, scale=3.0, seed=seed)
    tree = random_tree(num_nodes, seeded(seed))
    log_weights[tree[1:], torch.arange(1, num_nodes + 1)] += 5.0
    return log_weights


@pytest.mark.parametrize("samples", [100_000, pytest.param(1_000_000, marks=slow)])
@pytest.mark.parametrize("num_nodes", [2, 3, 4])
def test_every_tree_has_its_probability(num_nodes, samples, root):
    log_weights = random_graphs((), num_nodes, scale=1.5, forbidden=0.1)
    heads = st.sample_trees(log_weights, (samples,), root=root, generator=seeded())
    trees = enumerate_trees(num_nodes, root)
    counts = tree_numbers(trees, heads).bincount(minlength=len(trees))
    assert_fits(counts, tree_scores(log_weights, trees).softmax(-1))


GRAPHS = {
    "gentle": lambda n: random_graphs((), n, scale=1.0),
    "parser-like": parser_like,
    "weak root": lambda n: random_graphs((), n) - 200.0 * (torch.arange(n + 1) == 0)[:, None],
    "tight cycles": lambda n: (
        random_graphs((), n, scale=1.0)
        + 40.0 * torch.block_diag(torch.zeros(2, 2), *[1 - torch.eye(2)] * (n // 2))[1:, 1:]
    ),
}


@pytest.mark.parametrize("num_nodes", [10, 24, pytest.param(40, marks=slow)])
@pytest.mark.parametrize("kind", GRAPHS)
def test_edges_and_pairs_have_their_marginals(kind, num_nodes, root):
    log_weights = GRAPHS[kind](num_nodes)
    samples = 20_000
    heads = st.sample_trees(log_weights, (samples,), root=root, generator=seeded(1))
    assert is_tree(heads, None, single_root=root == "single").all()
    marginals = st.edge_marginals(log_weights, root=root)
    assert_frequencies(edge_counts(heads), samples, marginals)
    # Pairs of any edge with those closest to a toss-up, one for each of some nodes.
    node = torch.arange(1, num_nodes + 1, max(1, num_nodes // 6))
    head = (marginals[:, node] - 0.5).abs().argmin(0)
    chosen = torch.zeros(len(node), *log_weights.shape, dtype=torch.float64)
    chosen[torch.arange(len(node)), head, node] = 1.0
    covariances = st.hessian_vector_product(log_weights, chosen, root=root)
    for h, j, covariance in zip(head, node, covariances, strict=True):
        together = (covariance + marginals * marginals[h, j]).clamp(0.0, 1.0)
        assert_frequencies(edge_counts(heads[heads[:, j] == h]), samples, together)


@pytest.mark.parametrize("num_nodes", [2, 3])
def test_labelled_trees_have_their_probability(num_nodes, root):
    labels = 3
    log_weights = torch.stack(
        [random_graphs((), num_nodes, forbidden=0.2, seed=seed) for seed in range(labels)], -1
    )
    ensemble = Ensemble.of(log_weights, None, root, None, labeled=True)
    heads, drawn = sample(ensemble, (100_000,), seeded())
    trees = enumerate_trees(num_nodes, root)
    posteriors = label_posteriors(log_weights)
    choices = torch.cartesian_prod(*[torch.arange(labels)] * num_nodes).reshape(-1, num_nodes)
    nodes = torch.arange(1, num_nodes + 1)
    tree_probabilities = tree_scores(collapse(log_weights), trees).softmax(-1)
    label_probabilities = posteriors[trees[:, None, 1:], nodes, choices].prod(-1)
    code = (drawn[:, 1:] * labels ** torch.arange(num_nodes - 1, -1, -1)).sum(-1)
    cell = tree_numbers(trees, heads) * len(choices) + code
    counts = cell.bincount(minlength=len(trees) * len(choices))
    assert_fits(counts, (tree_probabilities[:, None] * label_probabilities).flatten())


def test_labels_do_not_depend_on_how_many_are_held_at_once(monkeypatch):
    log_weights = random_graphs((4, 3), 5)[..., None] + torch.randn(4, 3, 6, 6, 7)
    ensemble = Ensemble.of(log_weights, random_lengths((4, 3), 5), "single", None, labeled=True)
    whole = sample(ensemble, (6, 5), seeded())
    monkeypatch.setattr("spantree.inference.sampling.LABELS_AT_ONCE", 1)
    one_by_one = sample(ensemble, (6, 5), seeded())
    assert all(torch.equal(a, b) for a, b in zip(whole, one_by_one, strict=True))
    assert torch.equal(whole[0] == -1, whole[1] == -1)


@pytest.mark.parametrize("batch_shape", [(), (0,), (5,), (2, 3)])
@pytest.mark.parametrize("sample_shape", [(), (0,), (4,), (2, 3)])
def test_shapes(sample_shape, batch_shape, root):
    log_weights = random_graphs(batch_shape, 4)
    heads = st.sample_trees(log_weights, sample_shape, root=root)
    assert heads.shape == (*sample_shape, *batch_shape, 5)
    assert heads.dtype == torch.int64
    assert is_tree(heads, None, single_root=root == "single").all()
    assert (heads[..., 0] == -1).all()


def test_one_node(root):
    assert st.sample_trees(torch.zeros(2, 2), (3,), root=root).tolist() == [[-1, 0]] * 3


@pytest.mark.parametrize("num_nodes", [7, 26])
def test_padding_changes_nothing(num_nodes, root):
    lengths = random_lengths((6,), num_nodes)
    log_weights = random_graphs((6,), num_nodes, forbidden=0.2)
    padded = torch.nn.functional.pad(log_weights, (0, 3, 0, 3), value=1.0)
    heads = st.sample_trees(log_weights, (9,), lengths, root=root, generator=seeded())
    again = st.sample_trees(
        with_garbage(padded, lengths), (9,), lengths, root=root, generator=seeded()
    )
    assert torch.equal(again[..., :-3], heads)
    assert (again[..., -3:] == -1).all()
    assert is_tree(heads, lengths, single_root=root == "single").all()
    beyond = torch.arange(num_nodes + 1) > lengths[:, None]
    assert torch.equal(heads == -1, (beyond | (torch.arange(num_nodes + 1) == 0)).expand_as(heads))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
def test_any_float_is_read_exactly(dtype, root):
    log_weights = random_graphs((3,), 8, forbidden=0.2).to(dtype)
    heads = st.sample_trees(log_weights, (5,), root=root, generator=seeded())
    expected = st.sample_trees(log_weights.double(), (5,), root=root, generator=seeded())
    assert torch.equal(heads, expected)


class TestGenerator:
    log_weights = random_graphs((3,), 12, scale=0.5)

    def draw(self, shape: tuple[int, ...] = (4,), generator: Generator | None = None) -> Tensor:
        return st.sample_trees(self.log_weights, shape, generator=generator)

    def test_the_same_state_gives_the_same_trees(self, threads):
        assert torch.equal(self.draw(generator=seeded(3)), self.draw(generator=seeded(3)))
        assert not torch.equal(self.draw(generator=seeded(3)), self.draw(generator=seeded(4)))

    def test_a_call_moves_it_on(self):
        generator = seeded(3)
        first, second = self.draw(generator=generator), self.draw(generator=generator)
        assert not torch.equal(first, second)

    def test_a_call_moves_it_on_by_one_draw_whatever_it_draws(self):
        states = []
        for shape in [(), (4,), (300, 2)]:
            generator = seeded(3)
            self.draw(shape, generator)
            states.append(generator.get_state())
        assert all(torch.equal(states[0], state) for state in states)

    def test_fewer_samples_are_the_first_of_more(self):
        assert torch.equal(self.draw((3,), seeded()), self.draw((7,), seeded())[:3])

    def test_the_default_is_that_of_torch(self):
        torch.manual_seed(5)
        first = self.draw()
        torch.manual_seed(5)
        assert torch.equal(first, self.draw())

    def test_that_of_torch_is_left_alone_where_another_is_given(self):
        before = torch.get_rng_state()
        self.draw(generator=seeded())
        assert torch.equal(before, torch.get_rng_state())

    def test_items_and_samples_are_independent(self):
        """Two copies of a graph, twice: equal as often as two independent trees are."""
        graph = random_graphs((), 3, scale=1.0)
        trees = enumerate_trees(3)
        heads = st.sample_trees(graph.expand(2, 4, 4), (2, 20_000), generator=seeded())
        numbers = tree_numbers(trees, heads)
        probabilities = tree_scores(graph, trees).softmax(-1)
        pairs = torch.outer(probabilities, probabilities).flatten()
        for a, b in [(numbers[0, :, 0], numbers[0, :, 1]), (numbers[0, :, 0], numbers[1, :, 0])]:
            assert_fits((a * len(trees) + b).bincount(minlength=len(pairs)), pairs)


def test_weights_that_need_a_gradient_are_no_matter():
    log_weights = random_graphs((2,), 4).requires_grad_()
    assert not st.sample_trees(log_weights, (3,)).requires_grad


def test_only_edges_that_exist(root):
    log_weights = random_graphs((20,), 9, forbidden=0.7)
    heads = st.sample_trees(log_weights, (50,), root=root)
    assert (edge_mask(heads) <= (log_weights > -torch.inf)).all()


class TestBadInput:
    log_weights = torch.zeros(2, 4, 4)

    @pytest.mark.parametrize(
        ("shape", "error", "message"),
        [
            (
                5,
                TypeError,
                r"sample_shape must be a sequence of integers such as \(100,\), got int",
            ),
            ("5", TypeError, "sample_shape must be a sequence of integers .* got str"),
            ((2, 1.5), TypeError, "a size in sample_shape must be an int, got 1.5"),
            ((True,), TypeError, "a size in sample_shape must be an int, got True"),
            ((3, -1), ValueError, "a size in sample_shape must be at least 0, got -1"),
        ],
    )
    def test_sample_shape(self, shape, error, message):
        with pytest.raises(error, match=message):
            st.sample_trees(self.log_weights, shape)

    def test_generator_of_another_type(self):
        with pytest.raises(
            TypeError, match=r"generator must be a torch.Generator or None, got int"
        ):
            st.sample_trees(self.log_weights, generator=3)

    def test_generator_of_another_device(self):
        class Elsewhere(Generator):
            device = torch.device("cuda:0")

        with pytest.raises(ValueError, match=r"generator must be on the CPU, .* got device cuda:0"):
            st.sample_trees(self.log_weights, generator=Elsewhere())

    def test_lengths(self):
        with pytest.raises(
            ValueError, match=r"lengths must lie in 1..3, got 4 at batch item \(1,\)"
        ):
            st.sample_trees(self.log_weights, (), torch.tensor([3, 4]))

    def test_not_a_number(self):
        log_weights = self.log_weights.clone()
        log_weights[1, 2, 3] = torch.nan
        with pytest.raises(ValueError, match=r"NaN .* at batch item \(1,\), edge 2 -> 3"):
            st.sample_trees(log_weights)
        assert (st.sample_trees(log_weights, (3,), validate_args=False)[:, 1] == -1).all()

    @pytest.mark.parametrize("samples", [(), (500,)])
    def test_no_tree(self, samples, root):
        log_weights = random_graphs((3,), 5)
        log_weights[1, :, 4] = -torch.inf
        with pytest.raises(ValueError, match=r"no spanning tree exists for batch item \(1,\)"):
            st.sample_trees(log_weights, samples, root=root)
        heads = st.sample_trees(log_weights, samples, root=root, validate_args=False)
        assert (heads[..., 1, :] == -1).all()
        assert is_tree(heads[..., [0, 2], :], None, single_root=root == "single").all()
