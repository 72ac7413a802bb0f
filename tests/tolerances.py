"""How close is close: one helper for every dtype, and the accuracy that the library promises."""

import torch
from torch import Tensor

__all__ = [
    "assert_close",
    "assert_keeps_promise",
    "assert_probabilities",
    "assert_within",
    "conditioning",
    "spread",
]

# Results are computed in float64 and rounded once, so a coarser dtype costs its own rounding only.
RELATIVE = {
    torch.float64: 1e-12,
    torch.float32: 1e-6,
    torch.bfloat16: 1e-2,
    torch.float16: 1e-3,
}

# What is promised about a derivative of log Z of each order, in units of c times the marginal.
PROMISE = {1: 1e-12, 2: 1e-11, 3: 1e-9}
SMALLEST_MARGINAL = 1e-250
SMALLEST_DERIVATIVE = 1e-300


def assert_close(actual: Tensor, expected: Tensor, factor: float = 1.0) -> None:
    """Compare to the precision of ``actual``'s dtype, relative above 1 and absolute below."""
    expected = expected.to(torch.float64)
    allowed = factor * RELATIVE[actual.dtype] * expected.abs().clamp_min(1.0)
    assert_within(actual, expected, allowed)


def assert_within(actual: Tensor, expected: Tensor, allowed: Tensor | float) -> None:
    """Fail with the place and size of the worst error, unless all are at most ``allowed``."""
    assert actual.shape == expected.shape, f"shape {actual.shape}, not {expected.shape}"
    actual, expected = actual.detach().cpu().double(), expected.detach().cpu().double()
    error = torch.where(actual == expected, 0.0, (actual - expected).abs())  # inf equals inf
    # Dividing first by a tiny bound would overflow; a NaN is as bad as can be.
    bound = torch.as_tensor(allowed, dtype=torch.float64).cpu().expand_as(error)
    ratio = torch.where(error <= bound, 0.0, error / bound).nan_to_num(nan=torch.inf)
    if (ratio > 0.0).any():
        place = torch.unravel_index(ratio.argmax(), ratio.shape)
        raise AssertionError(
            f"{ratio.max():.3g} times the error allowed at {tuple(int(i) for i in place)}: "
            f"got {actual[place]:.17g}, expected {expected[place]:.17g} "
            f"({int((ratio > 0.0).sum())} of {ratio.numel()} entries are off)"
        )


def spread(log_weights: Tensor) -> float:
    """The largest distance of a finite log-weight below the maximum of its column."""
    edges = log_weights.double().clone()
    edges.diagonal(dim1=-2, dim2=-1).fill_(-torch.inf)
    edges = edges[..., 1:]
    distance = edges.amax(-2, keepdim=True) - edges
    distance = distance[distance.isfinite()]
    return distance.max().item() if distance.numel() else 0.0


def conditioning(log_weights: Tensor) -> float:
    """The factor c of the promise: a difference of log-weights is known to its own digits only."""
    return max(1.0, spread(log_weights) / 300.0)


def assert_keeps_promise(
    order: int, actual: Tensor, expected: Tensor, marginals: Tensor, c: float
) -> None:
    """Hold the derivative of log Z of this order to what the library promises.

    Args:
        order: 0 for log Z itself, 1 for the marginals, 2 for J_1 and 3 for J_2.
        actual: what the library returned.
        expected: what it should have returned.
        marginals: the exact marginals, by which derivatives are measured.
        c: the conditioning of the weights.
    """
    if order == 0:
        allowed = 1e-12 * expected.abs().clamp_min(1.0)
    else:
        allowed = c * PROMISE[order] * marginals + SMALLEST_DERIVATIVE
    if order == 1:
        allowed = allowed.where(marginals > SMALLEST_MARGINAL, SMALLEST_MARGINAL)
    assert_within(actual, expected, allowed)


def assert_probabilities(marginals: Tensor) -> None:
    """Never NaN, never negative, and every column with an edge sums to 1 within 1e-12."""
    assert not marginals.isnan().any()
    assert (marginals >= 0.0).all()
    total = marginals[..., 1:].sum(-2)
    assert_within(total, torch.ones_like(total), 1e-12)
