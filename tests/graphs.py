"""Random graphs with trees, the garbage that may surround them, and brute force over a batch."""

import torch
from torch import Generator, Tensor

from spantree.inference.enumeration import log_partition_by_enumeration

__all__ = [
    "brute_force",
    "brute_force_derivatives",
    "random_directions",
    "random_graphs",
    "random_lengths",
    "random_tree",
    "with_garbage",
]

GARBAGE = (torch.nan, torch.inf, -torch.inf, 1e300)


def random_tree(num_nodes: int, generator: Generator) -> Tensor:
    """Draw the heads of a tree in which node 1 hangs on the root and any other on a lower node."""
    nodes = range(2, num_nodes + 1)
    lower = [int(torch.randint(1, node, (), generator=generator)) for node in nodes]
    return torch.tensor([-1, 0, *lower])


def random_graphs(
    batch_shape: tuple[int, ...],
    num_nodes: int,
    *,
    scale: float = 2.0,
    forbidden: float = 0.0,
    seed: int = 0,
) -> Tensor:
    """Draw Gaussian ``(..., n, n)`` float64 log-weights, a share of them ``-inf``.

    The nodes up to any one have a tree of their own, so that any lengths go with the batch.
    """
    generator = Generator().manual_seed(seed)
    n = num_nodes + 1
    log_weights = torch.randn(*batch_shape, n, n, generator=generator, dtype=torch.float64) * scale
    dropped = torch.rand(*batch_shape, n, n, generator=generator) < forbidden
    for item in dropped.reshape(-1, n, n):
        item[random_tree(num_nodes, generator)[1:], torch.arange(1, n)] = False
    return log_weights.masked_fill(dropped, -torch.inf)


def random_directions(count: int, log_weights: Tensor, seed: int = 0) -> Tensor:
    """Draw ``(count, ..., n, n)`` directions, something everywhere."""
    generator = Generator().manual_seed(1000 + seed)
    shape = (count, *log_weights.shape)
    drawn = torch.randn(shape, generator=generator, dtype=torch.float64)
    return drawn.to(log_weights)


def random_lengths(batch_shape: tuple[int, ...], num_nodes: int, seed: int = 0) -> Tensor:
    """Draw lengths, the largest and the smallest among them."""
    generator = Generator().manual_seed(2000 + seed)
    lengths = torch.randint(1, num_nodes + 1, batch_shape, generator=generator)
    flat = lengths.view(-1)
    flat[:1], flat[-1:] = num_nodes, 1
    return lengths


def with_garbage(tensor: Tensor, lengths: Tensor | None = None) -> Tensor:
    """Put what must not matter into column 0, the diagonal and all padding of ``(..., n, n)``."""
    node = torch.arange(tensor.shape[-1], device=tensor.device)
    ignored = (node == 0) | (node == node[:, None])
    if lengths is not None:
        padding = node > lengths[..., None]
        ignored = ignored | padding[..., None, :] | padding[..., :, None]
    ignored = ignored.expand(tensor.shape)
    result = tensor.clone()
    place = torch.arange(int(ignored.sum()), device=tensor.device) % len(GARBAGE)
    result[ignored] = torch.tensor(GARBAGE).to(tensor)[place]
    return result


def brute_force(log_weights: Tensor, lengths: Tensor | None, root: str) -> Tensor:
    """Log Z of every item of a ragged batch, by enumeration; differentiable."""
    if lengths is None:
        return log_partition_by_enumeration(log_weights, root)
    total = log_weights.new_zeros(lengths.shape)
    for length in lengths.unique().tolist():
        prefix = log_weights[lengths == length][:, : length + 1, : length + 1]
        total = total.masked_scatter(lengths == length, log_partition_by_enumeration(prefix, root))
    return total


def brute_force_derivatives(
    log_weights: Tensor, directions: Tensor, lengths: Tensor | None, root: str
) -> list[Tensor]:
    """The marginals, J_1 along the first direction, J_2 along the first two, and so on."""
    theta = log_weights.detach().clone().requires_grad_()
    total = brute_force(theta, lengths, root).sum()
    derivatives = []
    for direction in [*directions, None]:
        (gradient,) = torch.autograd.grad(total, theta, create_graph=True)
        derivatives.append(gradient.detach())
        if direction is not None:
            total = (gradient * direction).sum()
    return derivatives
