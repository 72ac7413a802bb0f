"""The C++ kernel and its twin in torch operations: one algorithm, the same numbers."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

import spantree as st
from spantree.kernels import _native, native
from tests.graphs import random_directions, random_graphs, random_lengths, with_garbage
from tests.hostile import FAMILIES, hostile_log_weights
from tests.tolerances import assert_keeps_promise, assert_probabilities, conditioning

slow = pytest.mark.slow
needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")


def jet(
    log_weights: Tensor, lengths: Tensor | None, directions: Tensor, **options: str
) -> list[Tensor]:
    """Log Z, the marginals, J_1 and J_2."""
    theta = log_weights.clone().requires_grad_()
    u, v = with_garbage(directions, lengths)
    first = st.hessian_vector_product(theta, u, lengths, **options)
    (second,) = torch.autograd.grad(first, theta, v.nan_to_num(0.0, 0.0, 0.0))
    total = st.log_partition(theta, lengths, **options)
    return [total, st.edge_marginals(theta, lengths, **options), first, second]


def assert_same(
    left: list[Tensor], right: list[Tensor], c: float, marginals: Tensor | None = None
) -> None:
    """Both keep the promise, so they differ by twice what it allows."""
    marginals = left[1] if marginals is None else marginals
    assert_probabilities_of_real_columns(left[1], right[1])
    for order, (a, b) in enumerate(zip(left, right, strict=True)):
        assert_keeps_promise(order, a, b, 2.0 * marginals, c)


def assert_probabilities_of_real_columns(*marginals: Tensor) -> None:
    for some in marginals:
        real = some.sum(-2) > 0.0
        assert_probabilities(torch.where(real[..., None, :], some, 1.0 / some.shape[-1]))


def on_both(log_weights: Tensor, lengths: Tensor | None, root: str) -> None:
    directions = random_directions(2, log_weights)
    by_kernel = jet(log_weights, lengths, directions, root=root, backend="native")
    by_twin = jet(log_weights, lengths, directions, root=root, backend="torch")
    assert_same(by_kernel, by_twin, conditioning(log_weights))


@pytest.mark.parametrize("num_nodes", [1, 2, 3, 4, 5, 8, 11, 17, 33, 57])
def test_gentle_weights(num_nodes, root):
    on_both(random_graphs((9,), num_nodes, forbidden=0.1), None, root)


@slow
@pytest.mark.parametrize("num_nodes", [90, 220])
def test_large_graphs(num_nodes, root):
    on_both(random_graphs((1,), num_nodes, scale=5.0, forbidden=0.1), None, root)


@pytest.mark.parametrize("num_nodes", [220, pytest.param(500, marks=slow)])
@pytest.mark.parametrize("scale", [5.0, 100.0])
def test_marginals_of_very_large_graphs(num_nodes, scale, root):
    log_weights = random_graphs((), num_nodes, scale=scale)
    by_kernel, by_twin = (
        st.edge_marginals(log_weights, root=root, backend=backend)
        for backend in ("native", "torch")
    )
    c = conditioning(log_weights)
    assert_keeps_promise(1, by_kernel, by_twin, 2.0 * by_twin, c)
    assert_probabilities(by_kernel)


@pytest.mark.parametrize("num_nodes", [5, 12, 40])
def test_ragged_batches(num_nodes, root):
    log_weights = random_graphs((17,), num_nodes, scale=8.0, forbidden=0.2)
    lengths = random_lengths((17,), num_nodes)
    on_both(with_garbage(log_weights, lengths), lengths, root)


@pytest.mark.parametrize(
    "num_nodes", [9, pytest.param(30, marks=slow), pytest.param(70, marks=slow)]
)
@pytest.mark.parametrize("family", FAMILIES)
def test_hostile_weights(family, num_nodes, root):
    on_both(hostile_log_weights(family, num_nodes), None, root)


def test_auto_is_native_on_the_cpu(root):
    log_weights = random_graphs((5,), 9)
    auto = st.edge_marginals(log_weights, root=root)
    assert torch.equal(auto, st.edge_marginals(log_weights, root=root, backend="native"))
    # The two add up in different orders; the same bits would mean that one of them never ran.
    assert not torch.equal(auto, st.edge_marginals(log_weights, root=root, backend="torch"))


@pytest.fixture(params=_native.instruction_sets())
def instruction_set(request):
    _native.use_instruction_set(request.param)
    yield request.param
    _native.use_instruction_set(_native.instruction_sets()[0])


@pytest.mark.parametrize("num_nodes", [3, 10, 24, 60, pytest.param(210, marks=slow)])
@pytest.mark.parametrize(
    "family", ["gaussian-10", "gaussian-300", "chain-of-3-cycles-bound-by-150"]
)
def test_every_instruction_set(instruction_set, num_nodes, family, root):
    """The first one is the one that all other tests run on."""
    log_weights = hostile_log_weights(family, num_nodes)
    directions = random_directions(2, log_weights)
    here = jet(log_weights, None, directions, root=root)
    _native.use_instruction_set(_native.instruction_sets()[0])
    usual = jet(log_weights, None, directions, root=root)
    assert_same(here, usual, conditioning(log_weights))


@pytest.mark.parametrize("num_nodes", [21, 32, 49, 70, 96, 130])
def test_a_single_tree(instruction_set, num_nodes, root):
    """Sooner or later the child of the root has no other head left, wherever it stands."""
    log_weights = torch.stack([hostile_log_weights("one-tree", num_nodes, s) for s in range(6)])
    edges = log_weights.isfinite() & ~torch.eye(num_nodes + 1, dtype=torch.bool)
    edges[..., 0] = False
    total = torch.where(edges, log_weights, 0.0).sum((-2, -1))
    for always_wide in (False, True):
        for items in (slice(None), *(slice(i, i + 1) for i in range(6))):
            log_partition, marginals, status = native.run(
                log_weights[items], None, single_root=root == "single", always_wide=always_wide
            )
            assert status is None
            assert torch.equal(marginals, edges[items].double())
            assert_keeps_promise(0, log_partition, total[items], marginals, 1.0)


@pytest.mark.parametrize("num_nodes", [30, 70, 140])
@pytest.mark.parametrize("forbidden", [0.85, 0.95])
def test_sparse_graphs(instruction_set, forbidden, num_nodes, root):
    """As above, where there is a choice."""
    for seed in range(4):
        log_weights = random_graphs((), num_nodes, forbidden=forbidden, seed=seed)
        order = torch.randperm(num_nodes, generator=torch.Generator().manual_seed(seed)) + 1
        order = torch.cat([torch.zeros(1, dtype=torch.int64), order])
        log_weights = log_weights[order][:, order][None]
        options = {"root": root, "backend": "native"}
        alone = st.edge_marginals(log_weights, **options)
        twin = st.edge_marginals(log_weights, root=root, backend="torch")
        assert_keeps_promise(1, alone, twin, 2.0 * twin, 1.0)
        together = st.edge_marginals(log_weights.expand(9, -1, -1), **options)
        assert torch.equal(together, alone.expand(9, -1, -1))


def test_every_instruction_set_is_batch_invariant(instruction_set, root):
    log_weights = random_graphs((19,), 21, forbidden=0.1)
    together = st.edge_marginals(log_weights, root=root)
    for i in range(19):
        assert torch.equal(together[i], st.edge_marginals(log_weights[i], root=root))


@pytest.mark.parametrize("num_nodes", [1, 2, 7, 20, 45])
def test_wide_numbers_on_gentle_weights(num_nodes, root):
    """Numbers with exponents of their own agree with doubles wherever doubles suffice."""
    log_weights = random_graphs((6,), num_nodes, forbidden=0.1)
    single_root = root == "single"
    for directions in _up_to(native.MAX_ORDER, random_directions(native.MAX_ORDER, log_weights)):
        _compare(
            lambda wide, u=directions: native.run(
                log_weights, None, u, single_root=single_root, always_wide=wide
            ),
            len(directions),
        )


def _up_to(order: int, directions: Tensor) -> list[tuple[Tensor, ...]]:
    return [tuple(u[None] for u in directions[:k]) for k in range(order + 1)]


def _compare(run: Callable[[bool], tuple], order: int) -> None:
    narrow, wide = run(False), run(True)
    assert_keeps_promise(0, wide[0], narrow[0], wide[0], 1.0)
    jets = [result[1].reshape(-1, *result[1].shape[-2:]) for result in (wide, narrow)]
    scale = torch.ones_like(jets[0]) if order else jets[0]
    assert_keeps_promise(min(order + 1, 3), *jets, 2.0 * scale, 1.0)


@needs_cuda
@pytest.mark.parametrize("family", FAMILIES)
def test_cuda_equals_cpu(family, root):
    log_weights = torch.stack([hostile_log_weights(family, 20, seed) for seed in range(3)])
    lengths = torch.tensor([20, 20, 20])
    directions = random_directions(2, log_weights)
    here = jet(log_weights, lengths, directions, root=root)
    there = jet(log_weights.cuda(), lengths.cuda(), directions.cuda(), root=root)
    assert all(tensor.is_cuda for tensor in there)
    assert_same(here, [tensor.cpu() for tensor in there], conditioning(log_weights), here[1])
