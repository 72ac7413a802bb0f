"""A sentence's numbers are the same, bit for bit, in whatever company it is computed."""

import pytest
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

import spantree as st
from tests.graphs import random_directions, random_graphs, with_garbage
from tests.hostile import hostile_log_weights

SIZES = [*range(1, 14), 16, 17, 24, 25, 32, 33, 41, 56, 57, 65, 80, 100]
HOSTILE = ["gaussian-300", "2-cycle-bound-by-600", "half-at-1e4-below", "one-tree"]


def compute(
    log_weights: Tensor, direction: Tensor, lengths: Tensor | None, root: str
) -> tuple[Tensor, Tensor, Tensor]:
    return (
        st.log_partition(log_weights, lengths, root=root),
        st.edge_marginals(log_weights, lengths, root=root),
        st.hessian_vector_product(log_weights, direction, lengths, root=root),
    )


def place(items: list[tuple[Tensor, Tensor]], padding: int) -> tuple[Tensor, Tensor, Tensor]:
    """Make a ragged batch of (weights, direction), with garbage in at least so much padding."""
    lengths = torch.tensor([len(weights) - 1 for weights, _ in items])
    n = int(lengths.max()) + 1 + padding
    padded = torch.zeros(2, len(items), n, n, dtype=items[0][0].dtype)
    for i, (weights, direction) in enumerate(items):
        padded[0, i, : len(weights), : len(weights)] = weights
        padded[1, i, : len(weights), : len(weights)] = direction
    return *with_garbage(padded, lengths), lengths


def assert_same_bits(batch: tuple[Tensor, ...], position: int, alone: tuple[Tensor, ...]) -> None:
    n = alone[1].shape[-1]
    for name, together, expected in zip(("log Z", "marginals", "J_1"), batch, alone, strict=True):
        item = together[position]
        if item.ndim:
            outside = item.clone()
            outside[:n, :n] = 0.0
            assert (outside == 0.0).all(), f"{name}: something in the padding"
            item = item[:n, :n]
        assert torch.equal(item, expected), f"{name}: not the same bits at position {position}"


def draw(num_nodes: int, seed: int, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    log_weights = random_graphs((), num_nodes, forbidden=0.1, seed=seed).to(dtype)
    return log_weights, random_directions(1, log_weights, seed)[0]


def draw_hostile(family: str, num_nodes: int, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    log_weights = hostile_log_weights(family, num_nodes).to(dtype)
    return log_weights, random_directions(1, log_weights)[0]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
@pytest.mark.parametrize("num_nodes", SIZES)
def test_company_of_its_own_length(num_nodes, dtype, root, threads):
    """Any number of sentences, so that each lane and each remainder of a block comes up."""
    items = [draw(num_nodes, seed, dtype) for seed in range(19)]
    torch.set_num_threads(1)
    alone = [compute(*item, None, root) for item in items]
    torch.set_num_threads(threads)
    for count in (2, 7, 8, 9, 16, 19):
        weights, direction, _ = place(items[:count], padding=0)
        batch = compute(weights, direction, None, root)
        for position in range(count):
            assert_same_bits(batch, position, alone[position])


@pytest.mark.parametrize("padding", [0, 1, 30])
@pytest.mark.parametrize("num_nodes", SIZES)
def test_company_of_other_lengths(num_nodes, padding, root, threads):
    sizes = [num_nodes, 3, num_nodes, 40, 1, num_nodes + 1, num_nodes, max(1, num_nodes - 1)]
    items = [draw(size, seed, torch.float64) for seed, size in enumerate(sizes)]
    alone = [compute(*item, None, root) for item in items]
    weights, direction, lengths = place(items, padding)
    batch = compute(weights, direction, lengths, root)
    for position in range(len(items)):
        assert_same_bits(batch, position, alone[position])
    order = torch.randperm(len(items), generator=torch.Generator().manual_seed(num_nodes))
    batch = compute(weights[order], direction[order], lengths[order], root)
    for position, original in enumerate(order.tolist()):
        assert_same_bits(batch, position, alone[original])


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
@pytest.mark.parametrize("num_nodes", [2, 5, 9, 24, 40])
@pytest.mark.parametrize("family", HOSTILE)
def test_hostile_company(family, num_nodes, dtype, root, threads):
    """Items that need wide numbers, beside items that do not: neither notices the other."""
    gentle = [draw(num_nodes, seed, dtype) for seed in range(5)]
    hostile = [draw_hostile(name, num_nodes, dtype) for name in (family, *HOSTILE)]
    items = [item for pair in zip(gentle, hostile, strict=True) for item in pair]
    alone = [compute(*item, None, root) for item in items]
    weights, direction, lengths = place(items, padding=3)
    batch = compute(weights, direction, lengths, root)
    for position in range(len(items)):
        assert_same_bits(batch, position, alone[position])


@pytest.mark.parametrize("num_nodes", [150, 199, 200, 201, 260])
def test_large_graphs(num_nodes, root, threads):
    items = [draw(num_nodes, seed, torch.float64) for seed in range(2)]
    torch.set_num_threads(1)
    alone = [compute(*item, None, root) for item in items]
    torch.set_num_threads(threads)
    for padding in (0, 5):
        batch = compute(*place([*items, draw(3, 9, torch.float64)], padding), root)
        for position in range(2):
            assert_same_bits(batch, position, alone[position])


def test_absent_lengths_and_full_lengths(root, threads):
    for num_nodes in SIZES:
        weights, direction = draw(num_nodes, 0, torch.float64)
        without = compute(weights, direction, None, root)
        with_full = compute(weights, direction, torch.tensor(num_nodes), root)
        for a, b in zip(without, with_full, strict=True):
            assert torch.equal(a, b)


@pytest.mark.parametrize("num_nodes", [2, 8, 20, 65])
def test_gradients_are_the_same_bits_as_values(num_nodes, root):
    weights, direction = draw(num_nodes, 0, torch.float64)
    theta = weights.clone().requires_grad_()
    marginals = st.edge_marginals(theta, root=root)
    (gradient,) = torch.autograd.grad(st.log_partition(theta, root=root), theta)
    assert torch.equal(gradient, marginals)
    (gradient,) = torch.autograd.grad(marginals, theta, direction)
    assert torch.equal(gradient, st.hessian_vector_product(weights, direction, root=root))


class Batches(Dataset):
    """Batches drawn beforehand, computed in whatever process asks."""

    def __init__(self, root: str, threads: int) -> None:
        self.root, self.threads = root, threads
        sentences = [draw(size, size, torch.float64) for size in (1, 5, 17, 33, 40)]
        self.batches = [place([one, *sentences, one], padding=2) for one in sentences]

    def __len__(self) -> int:
        return len(self.batches)

    def __getitem__(self, index: int) -> tuple[Tensor, ...]:
        # A worker has one thread unless told otherwise, as torch's own do not survive a fork.
        before = torch.get_num_threads()
        torch.set_num_threads(self.threads)
        results = compute(*self.batches[index], self.root)
        torch.set_num_threads(before)
        return results


@pytest.mark.filterwarnings("ignore:This process.*is multi-threaded:DeprecationWarning")
def test_forked_worker(root, threads):
    """The threads of the kernel do not survive a fork either, but the kernel does."""
    batches = Batches(root, threads)
    expected = [batches[index] for index in range(len(batches))]  # starts this process's threads
    loader = DataLoader(
        batches, batch_size=None, num_workers=2, multiprocessing_context="fork", timeout=300
    )
    for _ in range(2):
        for actual, here in zip(loader, expected, strict=True):
            assert all(map(torch.equal, actual, here))
    assert all(map(torch.equal, batches[3], expected[3]))
