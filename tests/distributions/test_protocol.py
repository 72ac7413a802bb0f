"""What torch.distributions expects of a distribution, for every one of ours."""

import copy
import io
import pickle

import pytest
import torch
from torch.distributions import (
    Categorical,
    Distribution,
    Independent,
    MixtureSameFamily,
    kl_divergence,
)

import spantree as st
from tests.distributions.registry import EXAMPLES, exported_distributions, labeled_graphs
from tests.graphs import random_graphs, with_garbage
from tests.tolerances import assert_close

every_example = pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: e.name)
plain_batches = [
    e for e in EXAMPLES if e.kind is st.SpanningTree and e.make().batch_shape != torch.Size()
]


def is_pair(d: Distribution) -> bool:
    return isinstance(d, st.LabeledSpanningTree)


def parts(event):
    """An event as a list of tensors."""
    return [event] if isinstance(event, torch.Tensor) else list(event)


def test_every_exported_distribution_has_examples():
    assert exported_distributions() == {e.kind for e in EXAMPLES}
    assert len({e.name for e in EXAMPLES}) == len(EXAMPLES)


@every_example
def test_shapes(example):
    d = example.make()
    axes = 3 if is_pair(d) else 2
    batch, n = example.log_weights.shape[:-axes], example.log_weights.shape[-axes]
    assert isinstance(d, Distribution)
    assert d.batch_shape == batch
    assert d.event_shape == (n,)
    assert d.marginals.shape == d.log_weights.shape == example.log_weights.shape
    for value in (d.log_partition, d.entropy(), d.renyi_entropy(2.0), d.norm(2.0), d.perplexity()):
        assert value.shape == batch
    for sample_shape in ((), (1,), (2, 3), (0,)):
        sample = d.sample(sample_shape)
        for part in parts(sample):
            assert part.shape == (*sample_shape, *batch, n)
            assert part.dtype == torch.int64
        assert d.log_prob(sample).shape == (*sample_shape, *batch)
        assert d.support.check(sample).shape == (*sample_shape, *batch)
        assert d.support.check(sample).all()
        assert d.joint(sample).shape == (*sample_shape, *batch)


@every_example
def test_constraints(example):
    d = example.make()
    assert d.has_enumerate_support
    assert not d.has_rsample
    assert d.support.is_discrete
    assert d.support.event_dim == 1
    assert set(d.arg_constraints) == {"log_weights"}
    constraint = d.arg_constraints["log_weights"]
    assert constraint.check(d.log_weights).shape == d.batch_shape
    assert constraint.check(d.log_weights).all()
    for wrong in (torch.nan, torch.inf):
        spoilt = d.log_weights.clone()
        spoilt[(..., 0, 1, *([0] if is_pair(d) else []))] = wrong
        assert not constraint.check(spoilt).any()
    plain = d.log_weights[..., 0] if is_pair(d) else d.log_weights
    garbage = with_garbage(plain, d.lengths)
    assert constraint.check(garbage[..., None] if is_pair(d) else garbage).all()
    assert repr(constraint) == "EdgeLogWeights()"
    assert repr(d.support).startswith("TreesOf(graphs of ")
    assert repr(d.root) in repr(d.support)


@every_example
def test_support_is_what_enumeration_lists(example):
    """Of all assignments of heads and labels, the ones that are trees of the graph."""
    d = example.make(validate_args=False)
    for item in range(min(2, d.batch_shape.numel())):
        at = tuple(int(i) for i in torch.unravel_index(torch.tensor(item), d.batch_shape))
        lengths = None if d.lengths is None else d.lengths[at]
        one = example.make(d.log_weights[at], lengths=lengths, validate_args=False)
        n = one.event_shape[0]
        length = n - 1 if lengths is None else int(lengths)
        heads = torch.cartesian_prod(*[torch.arange(length + 1)] * length).reshape(-1, length)
        heads = torch.nn.functional.pad(heads, (1, n - 1 - length), value=-1)
        everything = heads
        if is_pair(d):
            labels = torch.cartesian_prod(*[torch.arange(d.log_weights.shape[-1])] * length)
            labels = labels.reshape(-1, length)
            labels = torch.nn.functional.pad(labels, (1, n - 1 - length), value=-1)
            everything = (
                heads.repeat_interleave(len(labels), 0),
                labels.repeat(len(heads), 1),
            )
        fine = one.support.check(everything)
        listed = one.enumerate_support()
        rows = {tuple(map(tuple, t)) for t in torch.stack(parts(listed), 1).tolist()}
        found = torch.stack(parts(everything), 1)[fine]
        assert rows == {tuple(map(tuple, t)) for t in found.tolist()}
        assert len(rows) == len(parts(listed)[0])
        log_probs = one.log_prob(listed)
        assert_close(log_probs.logsumexp(0), torch.tensor(0.0))
        assert (one.log_prob(everything).isneginf() == ~fine).all()
        assert_close(-(log_probs.exp() * log_probs).sum(0), one.entropy())


@pytest.mark.parametrize("labels", [0, 2])
def test_enumerate_support_of_a_batch(labels, root):
    if labels:
        theta = labeled_graphs((), 3, labels).expand(2, 3, 4, 4, labels)
        d = st.LabeledSpanningTree(theta, root=root)
    else:
        d = st.SpanningTree(random_graphs((2, 3), 3), root=root)
    trees = (16 if root == "multi" else 9) * max(1, labels) ** 3
    for part in parts(d.enumerate_support()):
        assert part.shape == (trees, 2, 3, 4)
    for part in parts(d.enumerate_support(expand=False)):
        assert part.shape == (trees, 1, 1, 4)
    total = d.log_prob(d.enumerate_support(expand=False)).logsumexp(0)
    assert_close(total, torch.zeros(2, 3))


def test_enumerate_support_needs_equal_graphs():
    with pytest.raises(NotImplementedError, match="graphs that all have the same edges"):
        st.SpanningTree(random_graphs((3,), 4, forbidden=0.5)).enumerate_support()
    lengths = torch.tensor([4, 3, 4])
    with pytest.raises(NotImplementedError, match="graphs that all have the same edges"):
        st.SpanningTree(random_graphs((3,), 4), lengths).enumerate_support()
    with pytest.raises(NotImplementedError, match="at most 7 nodes beside the root, got 8"):
        st.SpanningTree(torch.zeros(9, 9)).enumerate_support()
    with pytest.raises(NotImplementedError, match="at most 10000000 labelled trees, got 625 trees"):
        st.LabeledSpanningTree(torch.zeros(6, 6, 40)).enumerate_support()


@every_example
def test_expand(example):
    d = example.make()
    before = d.entropy()
    for computed in (True, False):
        original = d if computed else example.make()
        wide = original.expand((5, *d.batch_shape))
        assert type(wide) is type(d)
        assert wide.batch_shape == (5, *d.batch_shape)
        assert wide.event_shape == d.event_shape
        assert wide.root == d.root
        assert_close(wide.entropy(), before.expand(5, *d.batch_shape))
        assert torch.equal(wide.marginals[3], d.marginals)
        sample = wide.sample((2,))
        assert wide.log_prob(sample).shape == (2, 5, *d.batch_shape)
        assert_close(wide.log_prob(sample), d.log_prob(sample))


def test_expand_keeps_the_choice_of_validation():
    theta = random_graphs((), 3)
    for validate in (True, False):
        wide = st.SpanningTree(theta, validate_args=validate).expand((2,))
        cycle = torch.tensor([-1, 2, 1, 0])
        if validate:
            with pytest.raises(ValueError, match="cycle"):
                wide.log_prob(cycle)
        else:
            assert wide.log_prob(cycle).tolist() == [-torch.inf] * 2


@every_example
def test_expanding_passes_gradients_on(example):
    theta = example.log_weights.clone().requires_grad_()
    d = example.make(theta)
    (once,) = torch.autograd.grad(d.entropy().sum(), theta)
    (thrice,) = torch.autograd.grad(
        example.make(theta).expand((3, *d.batch_shape)).entropy().sum(), theta
    )
    assert_close(thrice, 3.0 * once)


@every_example
def test_repr(example):
    d = example.make()
    said = repr(d)
    assert said.startswith(f"{example.kind.__name__}(batch_shape={tuple(d.batch_shape)}, ")
    assert f"nodes={d.event_shape[0]}" in said
    assert f"root={d.root!r}" in said
    assert ("lengths=[4, " in said) == (d.lengths is not None)
    assert ("labels=" in said) == is_pair(d)


def test_repr_of_lengths():
    theta = random_graphs((9,), 3)
    assert repr(st.SpanningTree(theta, torch.full((9,), 2))).endswith(
        "lengths=[2, 2, 2, 2, 2, 2, 2, 2, ...])"
    )
    assert repr(st.SpanningTree(theta[0], torch.tensor(2))).endswith("lengths=2)")


@every_example
def test_copies(example):
    """Also of a distribution that has computed something from parameters with a gradient."""
    leaf = example.log_weights.clone().requires_grad_()
    d = example.make(leaf)
    entropy = d.entropy()
    buffer = io.BytesIO()
    torch.save(d, buffer)
    buffer.seek(0)
    for twin in (
        copy.deepcopy(d),
        copy.copy(d),
        pickle.loads(pickle.dumps(d)),
        torch.load(buffer, weights_only=False),
    ):
        assert repr(twin) == repr(d)
        assert torch.equal(twin.entropy(), entropy)
        assert twin.log_weights.requires_grad
        (gradient,) = torch.autograd.grad(twin.entropy().sum(), twin.log_weights)
        assert gradient.isfinite().all()


@every_example
def test_float32_and_half_precisions(example):
    """Computed in float64 and rounded once, to float32 for half precisions."""
    for coarse in (torch.float32, torch.bfloat16, torch.float16):
        theta = example.log_weights.to(coarse)
        d, fine = example.make(theta), example.make(theta.double())
        for name in ("entropy", "log_partition", "marginals", "renyi_entropy"):
            actual, expected = getattr(d, name), getattr(fine, name)
            if callable(actual):
                arguments = (0.5,) if name == "renyi_entropy" else ()
                actual, expected = actual(*arguments), expected(*arguments)
            assert actual.dtype == torch.float32
            assert torch.equal(actual, expected.float())
        leaf = theta.clone().requires_grad_()
        (gradient,) = torch.autograd.grad(example.make(leaf).entropy().sum(), leaf)
        assert gradient.dtype == coarse


@every_example
def test_kl_registry(example):
    p, q = example.make(), example.make(example.log_weights * 0.5)
    assert torch.equal(kl_divergence(p, q), p.kl_divergence(q))
    assert_close(kl_divergence(p, q), p.cross_entropy(q) - p.entropy())
    assert torch.equal(kl_divergence(p, p), torch.zeros(p.batch_shape, dtype=torch.float64))


def test_kl_between_kinds():
    p = st.LabeledSpanningTree(labeled_graphs((), 3, 2))
    with pytest.raises(NotImplementedError):
        kl_divergence(p, p.unlabeled)


@pytest.mark.parametrize("labels", [0, 2])
def test_independent(labels, root):
    """A document: its sentences are one event."""
    if labels:
        base = st.LabeledSpanningTree(labeled_graphs((2, 3), 4, labels), root=root)
    else:
        base = st.SpanningTree(random_graphs((2, 3), 4), root=root)
    d = Independent(base, 1)
    assert (d.batch_shape, d.event_shape) == ((2,), (3, 5))
    sample = d.sample((7,))
    assert_close(d.log_prob(sample), base.log_prob(sample).sum(-1))
    assert d.support.check(sample).shape == (7, 2)
    assert d.support.check(sample).all()
    assert_close(d.entropy(), base.entropy().sum(-1))
    other = Independent(type(base)(base.log_weights * 0.5, root=root), 1)
    expected = base.kl_divergence(other.base_dist).sum(-1)
    assert_close(kl_divergence(d, other), expected)
    assert d.expand((4, 2)).log_prob(d.expand((4, 2)).sample()).shape == (4, 2)
    assert "SpanningTree(" in repr(d)


@pytest.mark.parametrize("ragged", [False, True])
def test_mixture(ragged, root):
    """Several parsers, one of which is right: trees of graphs of one size."""
    lengths = torch.tensor([[4, 4, 4], [3, 3, 3]]) if ragged else None
    components = st.SpanningTree(random_graphs((2, 3), 4), lengths, root=root)
    weights = Categorical(torch.tensor([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]]).double())
    d = MixtureSameFamily(weights, components)
    assert (d.batch_shape, d.event_shape) == ((2,), (5,))
    torch.manual_seed(0)
    sample = d.sample((6,))
    assert sample.shape == (6, 2, 5)
    assert d.support.check(sample).all()
    log_probs = components.log_prob(sample[:, :, None]) + weights.logits
    assert_close(d.log_prob(sample), log_probs.logsumexp(-1))
    first = st.SpanningTree(components.log_weights[0], root=root)
    if not ragged:
        trees = first.enumerate_support()[:, :1].expand(-1, 2, 5)
        assert_close(d.log_prob(trees).logsumexp(0), torch.zeros(2))
    assert d.expand((4, 2)).sample().shape == (4, 2, 5)


def test_a_mixture_has_a_gradient():
    theta = random_graphs((2, 3), 4).requires_grad_()
    d = MixtureSameFamily(Categorical(torch.ones(2, 3)), st.SpanningTree(theta))
    trees = torch.tensor([-1, 0, 1, 2, 3]).expand(2, 5)
    (gradient,) = torch.autograd.grad(d.log_prob(trees).sum(), theta)
    assert gradient.isfinite().all()
    assert (gradient[..., 0, 1] > 0.0).all()


def test_from_weights():
    weights = torch.tensor([[0.0, 3.0, 1.0], [0.0, 0.0, 1.0], [0.0, 2.0, 0.0]]).requires_grad_()
    d = st.SpanningTree.from_weights(weights)
    assert_close(d.log_partition.exp(), torch.tensor(5.0))
    (gradient,) = torch.autograd.grad(d.log_partition, weights)
    expected = torch.tensor([[0.0, 1.0, 2.0], [0.0, 0.0, 3.0], [0.0, 1.0, 0.0]]) / 5.0
    assert_close(gradient, expected)
    labeled = st.LabeledSpanningTree.from_weights(weights[..., None].expand(3, 3, 2))
    assert_close(labeled.log_partition.exp(), torch.tensor(20.0))
    ragged = st.SpanningTree.from_weights(weights.expand(2, 3, 3), torch.tensor([2, 1]))
    assert_close(ragged.log_partition.exp(), torch.tensor([5.0, 3.0]))


@pytest.mark.parametrize("edge", [(1, 2), (2, 1)])
def test_weights_of_zero_forbid(edge, root):
    weights = torch.rand(4, 4, dtype=torch.float64)
    weights[edge] = 0.0
    weights.requires_grad_()
    d = st.SpanningTree.from_weights(weights, root=root)
    (gradient,) = torch.autograd.grad(d.entropy(), weights)
    assert gradient.isfinite().all()
    assert gradient[edge] == 0.0
    assert d.marginals[edge] == 0.0


def test_unlabeled_forgets_labels(root):
    theta = labeled_graphs((2,), 3, 3, forbidden=0.3)
    d = st.LabeledSpanningTree(theta, root=root)
    plain = d.unlabeled
    assert isinstance(plain, st.SpanningTree)
    assert_close(plain.marginals, d.marginals.sum(-1))
    tree = d.mode.heads
    assert_close(plain.log_prob(tree), d.joint(tree))


def test_one_label_is_no_label(root):
    theta = random_graphs((3,), 5, forbidden=0.3)
    p, q = st.SpanningTree(theta, root=root), st.LabeledSpanningTree(theta[..., None], root=root)
    r = torch.rand(3, 6, 6, 2, dtype=torch.float64)
    assert_close(q.log_partition, p.log_partition)
    assert_close(q.marginals.squeeze(-1), p.marginals)
    assert_close(q.entropy(), p.entropy())
    assert_close(q.renyi_entropy(0.5), p.renyi_entropy(0.5))
    assert_close(q.covariance(r[..., None, :]), p.covariance(r))
    tree = p.sample((4,))
    assert_close(q.log_prob((tree, tree.where(tree < 0, 0))), p.log_prob(tree))
    assert_close(q.joint(tree), p.log_prob(tree))


@pytest.mark.parametrize("labels", [0, 2])
def test_validation_follows_torch_unless_told(labels):
    """Values are judged when numbers are first needed, shapes at once."""
    theta = labeled_graphs((2,), 3, labels) if labels else random_graphs((2,), 3)
    theta[1, 2, 3] = torch.nan
    kind = st.LabeledSpanningTree if labels else st.SpanningTree
    d = kind(theta)
    with pytest.raises(ValueError, match=r"found nan at batch item \(1,\), edge 2 -> 3"):
        d.entropy()
    Distribution.set_default_validate_args(False)
    entropy = kind(theta).entropy()
    assert entropy.isnan().tolist() == [False, True]
    with pytest.raises(ValueError, match="NaN"):
        kind(theta, validate_args=True).entropy()
    with pytest.raises(ValueError, match="shape"):
        kind(theta[:, :2])


@pytest.mark.parametrize("labels", [0, 2])
def test_empty_batch(labels, root):
    """No graph, no answer, no error; also in gradients."""
    shape = (0, 4, 4, labels) if labels else (0, 4, 4)
    theta = torch.zeros(shape, dtype=torch.float64, requires_grad=True)
    kind = st.LabeledSpanningTree if labels else st.SpanningTree
    d = kind(theta, root=root)
    values = [d.log_partition, d.entropy(), d.renyi_entropy(0.95), d.norm(2), d.kl_divergence(d)]
    values += [d.log_prob(d.sample()), d.joint(d.mode), d.expectation(torch.ones(shape[1:]))]
    for value in values:
        assert value.shape == (0,)
    assert d.covariance(torch.ones(*shape[1:], 5)).shape == (0, 5, 5)
    assert d.sample((3,))[0].shape[-2:] == (0, 4)
    (gradient,) = torch.autograd.grad(sum(value.sum() for value in values), theta)
    assert gradient.shape == shape
