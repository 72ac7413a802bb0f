"""Totals on unnormalised weights: brute force, derivatives, shapes, ranges, bad input."""

from collections.abc import Iterator
from functools import lru_cache

import pytest
import torch
from torch import Tensor

import spantree as st
from spantree import totals
from spantree.inference.enumeration import enumerate_trees
from tests.graphs import random_directions, random_graphs, random_lengths, with_garbage
from tests.tolerances import assert_within

METHODS = ["unified", "vector", "hessian"]
LAYOUTS = ["dense", "sparse", "shared", "shared-sparse"]
PAIRS = [
    ("dense", "shared"),
    ("sparse", "dense"),
    ("shared", "sparse"),
    ("sparse", "shared-sparse"),
    ("shared-sparse", "shared-sparse"),
]


every_tree = lru_cache(enumerate_trees)


@pytest.fixture
def hats(monkeypatch):
    """Has T2 take the way by r̂ and ŝ, which does not pay for small graphs, wherever it can."""
    monkeypatch.setattr(
        totals, "hats_are_quicker", lambda _, left, right: left.is_sparse and right.is_sparse
    )


def random_weights(batch_shape: tuple[int, ...], num_nodes: int, forbidden: float = 0.3) -> Tensor:
    return random_graphs(batch_shape, num_nodes, scale=1.0, forbidden=forbidden).exp()


def random_features(w: Tensor, layout: str, size: int = 3, seed: int = 0) -> Tensor:
    """Features ``(..., n, n, R)``, half of them 0; without the batch axes if shared."""
    like = w[(0,) * (w.dim() - 2)] if layout.startswith("shared") else w
    drawn = random_directions(size, like, seed)
    drawn = (drawn * (random_directions(size, like, seed + 100) > 0.0)).movedim(0, -1)
    return drawn.to_sparse() if layout.endswith("sparse") else drawn


def trees_of(
    w: Tensor, features: list[Tensor], lengths: Tensor | None, root: str
) -> Iterator[tuple[Tensor, list[Tensor]]]:
    """For every graph: w(d) ``(T,)``, and r(d) ``(T, R)`` of each feature tensor."""
    n = w.shape[-1]
    flat = w.reshape(-1, n, n)
    each = [n - 1] * len(flat) if lengths is None else lengths.flatten().tolist()
    dense = (f.to_dense() for f in features)
    aligned = [f.expand(*w.shape, -1).reshape(-1, n, n, f.shape[-1]) for f in dense]
    for item, length in enumerate(each):
        at = every_tree(length, root)[:, 1:], torch.arange(1, length + 1)
        yield flat[item][at].prod(-1), [f[item][at].sum(-2) for f in aligned]


def brute_zeroth(w: Tensor, lengths: Tensor | None, root: str) -> Tensor:
    return torch.stack([x.sum() for x, _ in trees_of(w, [], lengths, root)]).reshape(w.shape[:-2])


def brute_first(w: Tensor, r: Tensor, lengths: Tensor | None, root: str) -> Tensor:
    found = [x @ f for x, (f,) in trees_of(w, [r], lengths, root)]
    return torch.stack(found).reshape(*w.shape[:-2], -1)


def brute_second(w: Tensor, r: Tensor, s: Tensor, lengths: Tensor | None, root: str) -> Tensor:
    found = [(f.mT * x) @ g for x, (f, g) in trees_of(w, [r, s], lengths, root)]
    return torch.stack(found).reshape(*w.shape[:-2], r.shape[-1], s.shape[-1])


def assert_relative(actual: Tensor, expected: Tensor, scale: Tensor | None = None) -> None:
    """Within 1e-10 of ``scale``, by default the largest entry."""
    scale = expected.abs().amax() if scale is None else scale
    assert_within(actual, expected, 1e-10 * scale)


@pytest.mark.parametrize("num_nodes", range(1, 6))
@pytest.mark.parametrize("forbidden", [0.0, 0.4, 0.8])
def test_zeroth_order_equals_brute_force(num_nodes, forbidden, root):
    w = random_weights((2, 3), num_nodes, forbidden)
    lengths = random_lengths((2, 3), num_nodes)
    q = random_features(w, "dense").abs()
    expected = brute_zeroth(w, lengths, root)
    assert_relative(totals.zeroth_order(w, lengths=lengths, root=root), expected, expected)
    expected = torch.stack([brute_zeroth(w * q[..., k], lengths, root) for k in range(3)], -1)
    dirty = with_garbage(w, lengths), with_garbage(q.movedim(-1, 0), lengths).movedim(0, -1)
    assert_relative(totals.zeroth_order(*dirty, lengths, root=root), expected, expected)
    assert_relative(totals.zeroth_order(w, q.to_sparse(), lengths, root=root), expected, expected)


@pytest.mark.parametrize("num_nodes", range(1, 6))
@pytest.mark.parametrize("layout", LAYOUTS)
def test_first_order_equals_brute_force(num_nodes, layout, root):
    w, lengths = random_weights((2, 3), num_nodes), random_lengths((2, 3), num_nodes)
    r = random_features(w, layout)
    expected = brute_first(w, r, lengths, root)
    scale = brute_first(w, r.to_dense().abs(), lengths, root)
    actual = totals.first_order(with_garbage(w, lengths), r, lengths, root=root)
    assert_relative(actual, expected, scale.amax(-1, keepdim=True))


@pytest.mark.usefixtures("hats")
@pytest.mark.parametrize("num_nodes", range(1, 6))
@pytest.mark.parametrize("forbidden", [0.0, 0.4, 0.8])
def test_second_order_equals_brute_force(num_nodes, forbidden, root):
    w = random_weights((2, 2), num_nodes, forbidden)
    lengths = random_lengths((2, 2), num_nodes)
    for left, right in PAIRS:
        r, s = random_features(w, left), random_features(w, right, size=4, seed=1)
        scale = brute_second(w, r.to_dense().abs(), s.to_dense().abs(), lengths, root)
        expected = brute_second(w, r, s, lengths, root)
        for method in METHODS:
            dirty = with_garbage(w, lengths)
            actual = totals.second_order(dirty, r, s, lengths, root=root, method=method)
            assert_relative(actual, expected, scale.amax((-2, -1), keepdim=True))


@pytest.mark.parametrize("method", METHODS)
def test_one_hot_features_give_the_weight_of_pairs_of_edges(method, root):
    """w̃_ij,kl for all pairs, where T2 takes the way by r̂ and ŝ: it is worth it from N = 20 on."""
    w = random_weights((), 18, forbidden=0.5)
    edges = torch.eye(19 * 19, dtype=torch.float64).reshape(19, 19, -1).to_sparse()
    actual = totals.second_order(w, edges, edges, root=root, method=method)
    marginals = st.edge_marginals(w.log(), root=root).flatten()
    total = totals.zeroth_order(w, root=root)
    assert_relative(actual.diagonal(), total * marginals)
    (direction,) = random_directions(1, w)
    expected = st.hessian_vector_product(w.log(), direction, root=root).flatten()
    expected = expected + marginals * (marginals @ direction.flatten())
    assert_relative(actual @ direction.flatten(), total * expected)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("call", ["zeroth", "first", *METHODS])
def test_derivatives_equal_those_of_brute_force(call, order, root):
    """In w, r and s; an edge of weight 0 is none, and has derivative 0."""
    lengths = torch.tensor([4, 2])
    w = random_weights((2,), 4, forbidden=0.4)
    r, s = random_features(w, "dense"), random_features(w, "shared", size=2, seed=1)
    (at,) = random_directions(1, w)

    def library(w: Tensor, r: Tensor, s: Tensor) -> Tensor:
        if call == "zeroth":
            return totals.zeroth_order(w, r * r, lengths, root=root)
        if call == "first":
            return totals.first_order(w, r, lengths, root=root)
        return totals.second_order(w, r, s, lengths, root=root, method=call)

    def oracle(w: Tensor, r: Tensor, s: Tensor) -> Tensor:
        w = w.where(w > 0.0, 0.0)
        if call == "zeroth":
            q = r.where(r != 0.0, 0.0) ** 2
            return torch.stack([brute_zeroth(w * q[..., k], lengths, root) for k in range(3)], -1)
        if call == "first":
            return brute_first(w, r, lengths, root)
        return brute_second(w, r, s, lengths, root)

    found = []
    for function in (library, oracle):
        inputs = [x.clone().requires_grad_() for x in (w, r, s)]
        value = function(*inputs)
        value = (value * value).sum()
        for _ in range(order):
            gradients = torch.autograd.grad(value, inputs, create_graph=True, allow_unused=True)
            value = (gradients[0] * at).sum()
        found.append([g.detach() for g in gradients if g is not None])
    assert len(found[0]) == len(found[1]) > 0
    for actual, expected in zip(*found, strict=True):
        assert_relative(actual, expected)


@pytest.mark.usefixtures("hats")
def test_derivatives_in_sparse_features(root):
    w = random_weights((2,), 4)
    found = []
    for layout in (lambda x: x, Tensor.to_sparse):
        dense = random_features(w, "dense").requires_grad_()
        s = random_features(w, "sparse", seed=1)
        value = totals.first_order(w, layout(dense), root=root).square().sum()
        value = value + totals.second_order(w, layout(dense), s, root=root).square().sum()
        (gradient,) = torch.autograd.grad(value, dense)
        found.append(gradient.to_dense().where(dense != 0.0, 0.0))
    assert_relative(found[1], found[0])


@pytest.mark.parametrize("method", METHODS)
def test_transforms(method, root):
    """vmap over w is for T2^v alone: the others look at the numbers to choose their way."""
    w = random_weights((2,), 3)
    r, s = random_features(w[0], "dense"), random_features(w[0], "dense", seed=1)

    def total(w: Tensor) -> Tensor:
        return totals.second_order(w, r, s, root=root, method=method, validate_args=False)

    one, (at,) = w[0], random_directions(1, w[0])
    jacobian = torch.func.jacrev(total)(one)
    assert_relative(torch.func.jacfwd(total)(one), jacobian)
    assert_relative(torch.func.jvp(total, (one,), (at,))[1], (jacobian * at).sum((-2, -1)))
    if method == "vector":
        assert_relative(torch.func.vmap(total)(w), torch.stack([total(x) for x in w]))


@pytest.mark.parametrize("batch_shape", [(), (0,), (2, 1)], ids=str)
def test_shapes(batch_shape, root):
    w = random_weights(batch_shape, 3)
    scalar, vector = torch.rand(4, 4), torch.rand(4, 4, 5)
    assert totals.zeroth_order(w, root=root).shape == batch_shape
    assert totals.zeroth_order(w, scalar, root=root).shape == batch_shape
    assert totals.zeroth_order(w, vector, root=root).shape == (*batch_shape, 5)
    assert totals.first_order(w, scalar, root=root).shape == batch_shape
    assert totals.first_order(w, vector, root=root).shape == (*batch_shape, 5)
    for method in METHODS:
        for r in (scalar, vector, vector[..., :0], vector.to_sparse()):
            for s in (scalar, vector, vector[..., :0], vector.to_sparse()):
                shape = (*batch_shape, *r.shape[2:], *s.shape[2:])
                assert totals.second_order(w, r, s, root=root, method=method).shape == shape


def test_coarse_dtypes_are_the_float64_answer_rounded(root):
    w = random_weights((2,), 4).to(torch.bfloat16)
    r = random_features(w.double(), "dense").to(torch.bfloat16)
    for method in METHODS:
        actual = totals.second_order(w, r, r, root=root, method=method)
        expected = totals.second_order(w.double(), r.double(), r.double(), root=root, method=method)
        assert actual.dtype == torch.float32
        assert torch.equal(actual, expected.float())
    assert totals.first_order(w.float(), r.float(), root=root).dtype == torch.float32


@pytest.mark.usefixtures("hats")
def test_a_graph_without_a_tree_has_totals_of_zero(root):
    w = torch.ones(2, 4, 4, dtype=torch.float64)
    w[1, :, 2] = 0.0
    w.requires_grad_()
    r = random_features(w.detach(), "sparse")
    results = [totals.zeroth_order(w, root=root), totals.first_order(w, r, root=root)]
    results += [totals.second_order(w, r, r, root=root, method=m) for m in METHODS]
    for result in results:
        assert (result[1] == 0.0).all()
        assert (result[0] != 0.0).any()
        (gradient,) = torch.autograd.grad(result.sum(), w)
        assert (gradient[1] == 0.0).all()
        assert gradient.isfinite().all()


@pytest.mark.usefixtures("hats")
@pytest.mark.parametrize("method", ["unified", "hessian"])
def test_what_differences_would_lose_goes_another_way(method, root):
    """Two nodes bound by e⁶⁰, weights of 1e±200: there T2 and T2^h are T2^v."""
    bound = random_weights((3,), 4, forbidden=0.0)
    bound[1, 1, 2] = bound[1, 2, 1] = 1e26
    wide = random_weights((3,), 4, forbidden=0.0) ** 1.0
    wide[2, 1, 3], wide[2, 2, 4] = 1e200, 1e-200
    for w in (bound, wide):
        r = random_features(w, "sparse")
        actual = totals.second_order(w, r, r, root=root, method=method)
        expected = brute_second(w, r, r, None, root)
        scale = brute_second(w, r.to_dense().abs(), r.to_dense().abs(), None, root)
        assert_relative(actual, expected, scale.amax((-2, -1), keepdim=True))


def test_totals_beyond_the_range_of_doubles_are_infinite():
    w = torch.full((6, 6), 1e100, dtype=torch.float64)
    assert totals.zeroth_order(w) == torch.inf
    assert totals.first_order(w, torch.ones(6, 6)) == torch.inf
    assert totals.second_order(w, torch.ones(6, 6), torch.ones(6, 6)) == torch.inf


CALLS = {
    "zeroth_order": lambda w, **kw: totals.zeroth_order(w, **kw),
    "first_order": lambda w, **kw: totals.first_order(w, torch.ones(4, 4), **kw),
    **{
        method: lambda w, method=method, **kw: totals.second_order(
            w, torch.ones(4, 4), torch.ones(4, 4), method=method, **kw
        )
        for method in METHODS
    },
}


@pytest.fixture(params=CALLS)
def call(request):
    return CALLS[request.param]


@pytest.mark.parametrize(
    ("wrong", "said"), [(-1.0, "-1.0"), (torch.nan, "nan"), (torch.inf, "inf")], ids=str
)
def test_values_of_weights(wrong, said, call):
    w = torch.ones(2, 3, 4, 4)
    w[1, 2, 3, 1] = wrong
    message = rf"w must hold finite numbers >= 0 on every edge, found {said} "
    with pytest.raises(ValueError, match=message + r"at batch item \(1, 2\), edge 3 -> 1"):
        call(w)
    with pytest.raises(ValueError, match=rf"found {said}, edge 3 -> 1"):
        call(w[1, 2])
    call(w, lengths=torch.full((2, 3), 2))
    assert call(w, validate_args=False)[1, 2].isnan()


@pytest.mark.parametrize("wrong", [-1.0, torch.nan, torch.inf])
def test_values_of_factors(wrong):
    w, q = torch.ones(2, 4, 4), torch.ones(4, 4, 3)
    q[2, 1, 1] = wrong
    message = r"q must hold finite numbers >= 0 on every edge, found .* at batch item \(0,\), edge "
    with pytest.raises(ValueError, match=message + "2 -> 1"):
        totals.zeroth_order(w, q)
    assert totals.zeroth_order(w, q, validate_args=False)[:, 1].isnan().all()


def test_arguments_that_do_not_fit(call):
    with pytest.raises(ValueError, match=r"w must have shape \(\.\.\., n, n\).*got \(4, 3\)"):
        call(torch.ones(4, 3))
    with pytest.raises(TypeError, match=r"w must be a torch\.Tensor, got float"):
        call(1.0)
    with pytest.raises(TypeError, match=r"w must have a floating-point dtype, got torch\.int64"):
        call(torch.ones(4, 4, dtype=torch.int64))
    with pytest.raises(ValueError, match="root must be 'single' or 'multi', got 'both'"):
        call(torch.ones(4, 4), root="both")
    with pytest.raises(ValueError, match=r"lengths must have shape \(\) like the batch"):
        call(torch.ones(4, 4), lengths=torch.tensor([3]))
    with pytest.raises(ValueError, match=r"lengths must lie in 1\.\.3, got 4"):
        call(torch.ones(4, 4), lengths=torch.tensor(4))


def test_features_that_do_not_fit():
    w, ones = torch.ones(2, 4, 4), torch.ones(4, 4)
    wrong = torch.ones(3, 4, 4)
    for name, function in {
        "q": lambda x: totals.zeroth_order(w, x),
        "r": lambda x: totals.first_order(w, x),
        "s": lambda x: totals.second_order(w, ones, x),
    }.items():
        with pytest.raises(ValueError, match=rf"{name} must have shape \(2, 4, 4\) or"):
            function(wrong)
        with pytest.raises(TypeError, match=rf"{name} must be a torch\.Tensor, got list"):
            function([1.0])
    with pytest.raises(ValueError, match="r must have shape"):
        totals.second_order(w, wrong, ones)


@pytest.mark.parametrize("wrong", ["T2", "exact", None])
def test_method(wrong):
    message = f"method must be one of 'unified', 'vector', 'hessian', got {wrong!r}$"
    with pytest.raises(ValueError, match=message):
        totals.second_order(torch.ones(4, 4), torch.ones(4, 4), torch.ones(4, 4), method=wrong)
