"""Elimination without subtraction, in torch operations: log Z, marginals, their derivatives.

Follow heads upwards: a walk from node ``j`` to its head, to the head's head, and on to the root;
``steps[..., j, i]`` is the weight of the step from ``j`` to a head ``i``. Eliminating a node puts
in its place wherever walks go after it, as Grassmann, Taksar and Heyman do for Markov chains:
non-negative numbers are added, multiplied and divided, never subtracted, so every result is
accurate relative to itself. Halving the nodes, and eliminating each half for the benefit of the
other, gives the gradient of log Z in about 1.3 N³ multiply-adds (``docs/numerics.md``). All
subproblems of one level are stacked along the batch axis. Nothing is written in place, so that
``torch.func.jvp`` nests to any order.

The root is two states of the walk. With several roots its weights lead to the state ``FIRM``. A
single root is the exact limit t -> 0 of root weights multiplied by t: they lead to ``FAINT``, are
counted in units of t, and vanish beside all others. A node that has lost every other head hangs on
the root for certain, and its faint weight moves to ``FIRM``. A tree pays one t for each such node;
a single root pays exactly one.
"""

from math import inf
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

__all__ = ["Elimination", "column_shifts", "eliminate", "jet", "possible_pairs"]

FAINT, FIRM, ROOT_STATES = 0, 1, 2

# Logarithms of scaled weights: products of two weights from COMFORTABLE up stay within the range of
# doubles, single weights from NEGLIGIBLE up do, and smaller ones are dropped. What is dropped below
# INVISIBLE has no marginal that a double could hold if its gradient is at most LARGEST_GRADIENT.
COMFORTABLE, NEGLIGIBLE, INVISIBLE = -340.0, -700.0, -1100.0
LARGEST_GRADIENT = 2.0**50

# ln 2 = LN2_HIGH + LN2_LOW, where LN2_HIGH times an integer of up to 20 bits is exact (fdlibm).
LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10

# The faint and the firm weight of every node when it goes, in order of elimination.
_Pivots = list[tuple[Tensor, Tensor]]


class Elimination(NamedTuple):
    """What one elimination tells about a batch of graphs.

    Attributes:
        log_partition: ``(B,)``, ``-inf`` where no tree exists.
        marginals: ``(B, n, n)``, ``[head, dependent]``, 0 where no tree exists.
        infeasible: ``(B,)``, whether no tree exists.
        trusted: ``(B,)``, whether the range of doubles certainly sufficed. Where it may not have,
            the other fields mean nothing and can be NaN.
    """

    log_partition: Tensor
    marginals: Tensor
    infeasible: Tensor
    trusted: Tensor


class _Graph(NamedTuple):
    """Edges, with the weights of each column divided by a constant.

    Attributes:
        possible: ``(B, n, n)``, which pairs of nodes an edge may join.
        present: ``(B, n, n)``, which pairs an edge does join.
        log_ratios: ``(B, n, n)``, scaled log-weights, arbitrary where no edge is present.
        weights: ``(B, n, n)``, their exponentials. Node 1 governs all padding with weight 1, which
            multiplies every tree by 1; other pairs without an edge hold 0.
        shifts: ``(B, n)``, logarithms of the constants; that of the root's row is in column 0.
    """

    possible: Tensor
    present: Tensor
    log_ratios: Tensor
    weights: Tensor
    shifts: Tensor


class _Solution(NamedTuple):
    """The gradient of log Z in a graph's weights, and the pivots, whose product is their Z."""

    graph: _Graph
    gradient: Tensor  # (B, n, n)
    pivots: Tensor  # (B, n - 1)
    infeasible: Tensor  # (B,)


def eliminate(log_weights: Tensor, lengths: Tensor, *, single_root: bool) -> Elimination:
    """Return log Z and every edge marginal, each accurate relative to itself.

    Args:
        log_weights: ``(B, n, n)`` float64, ``[head, dependent]``; node 0 is the root. Column 0, the
            diagonal and everything beyond an item's length is ignored; ``-inf`` forbids an edge.
        lengths: ``(B,)`` int64, the number of non-root nodes of each item, at least 1.
        single_root: whether exactly one edge leaves the root.
    """
    solution = _solve(log_weights, lengths, single_root)
    return Elimination(
        log_partition=_log_partition(solution),
        marginals=_marginals(solution),
        infeasible=solution.infeasible,
        trusted=_trusted(solution, lengths),
    )


def jet(
    log_weights: Tensor, directions: tuple[Tensor, ...], lengths: Tensor, *, single_root: bool
) -> Tensor:
    """Return the derivative of the marginals along k directions, ``(B, n, n)``.

    This is the derivative of log Z of order k + 1 with k of its arguments filled in, so the order
    of the directions does not matter. Without directions, the marginals. Costs 2^k eliminations
    and more; as accurate, and as dependent on ``trusted``, as the marginals.

    Args:
        log_weights: ``(B, n, n)`` float64, as for :func:`eliminate`.
        directions: k tensors ``(B, n, n)``; what they hold where there is no edge is ignored.
        lengths: ``(B,)`` int64, as for :func:`eliminate`.
        single_root: whether exactly one edge leaves the root.
    """
    if not directions:
        return _marginals(_solve(log_weights, lengths, single_root))

    def lower_order(point: Tensor) -> Tensor:
        return jet(point, directions[:-1], lengths, single_root=single_root)

    return torch.func.jvp(lower_order, (log_weights,), (directions[-1],))[1]


def possible_pairs(lengths: Tensor, n: int) -> Tensor:
    """Return which pairs of nodes an edge may join, ``(B, n, n)``."""
    node = torch.arange(n, device=lengths.device)
    real = node <= lengths[:, None]
    return real[:, :, None] & real[:, None, :] & (node > 0) & (node != node[:, None])


def _solve(log_weights: Tensor, lengths: Tensor, single_root: bool) -> _Solution:
    graph = _scale(log_weights, lengths, single_root)
    steps = graph.weights.mT[:, 1:]
    root, others = steps[..., :1], steps[..., 1:]
    nothing = torch.zeros_like(root)
    states = (root, nothing, others) if single_root else (nothing, root, others)
    gradient, pivots = _gradient(torch.cat(states, dim=2))

    # The first subproblems of every level follow each item down one path, whose pivots make up Z.
    batch = len(log_weights)
    faint = torch.cat([weight[:batch] for weight, _ in pivots], dim=1)
    firm = torch.cat([weight[:batch] for _, weight in pivots], dim=1)
    hangs = firm == 0.0
    pivot = torch.where(hangs, faint, firm)
    # Not "any is 0": those after a 0 are NaN.
    infeasible = ~(pivot > 0.0).all(dim=1) | (hangs.sum(dim=1) > 1)

    from_root = gradient[:, FAINT : FAINT + 1] if single_root else gradient[:, FIRM : FIRM + 1]
    gradient = pad(torch.cat([from_root, gradient[:, ROOT_STATES:]], dim=1), (1, 0))
    return _Solution(graph, gradient, pivot, infeasible)


def _scale(log_weights: Tensor, lengths: Tensor, single_root: bool) -> _Graph:
    """Divide the incoming edges of every node by the heaviest of them."""
    n = log_weights.shape[-1]
    node = torch.arange(n, device=log_weights.device)
    real = node <= lengths[:, None]
    possible = possible_pairs(lengths, n)
    present = possible & (log_weights > -inf)

    # Constants under differentiation, since a shift of a column changes no probability.
    masked = log_weights.detach().masked_fill(~present, -inf)
    shifts = column_shifts(masked, single_root=single_root)
    finite = torch.where(present, log_weights, 0.0)
    log_ratios, lost = _difference(finite, pad(shifts[:, 1:], (1, 0))[:, None, :])
    log_ratios, lost_too = _difference(log_ratios, pad(shifts[:, :1], (0, n - 1))[:, :, None])

    kept = present & (log_ratios >= NEGLIGIBLE)
    # exp(x + lost) = exp(x) (1 + lost) to the last digit. Masked before exp and after it, or what
    # pairs without an edge hold would make the derivatives NaN.
    weights = torch.where(kept, log_ratios, 0.0).exp() * (1.0 + lost + lost_too)
    padding = (node == 1)[:, None] & ~real[:, None, :]
    weights = torch.where(kept, weights, padding.to(weights.dtype))
    return _Graph(possible, present, log_ratios, weights, shifts)


def column_shifts(log_weights: Tensor, *, single_root: bool) -> Tensor:
    """Return the largest log-weight of each column, ``(B, n)``, -inf wherever there is no edge.

    With a single root, the largest among non-root heads where there is one: root weights count in
    units of their own, and the largest that is then left in their row stands in column 0.
    """
    from_root = log_weights[:, 0]
    heads = log_weights[:, 1:] if single_root else log_weights
    heaviest = heads.amax(dim=1)
    # Nobody but the root can govern this node, or nobody but at a forbidding price.
    heaviest = torch.where(from_root - heaviest > -NEGLIGIBLE, from_root, heaviest)
    # A node that nothing can govern has no heaviest edge; leave its column empty.
    heaviest = heaviest.masked_fill(heaviest.isneginf(), 0.0)
    if not single_root:
        return heaviest
    row = (from_root - heaviest).amax(dim=1, keepdim=True)
    return torch.cat([row.masked_fill(row.isneginf(), 0.0), heaviest[:, 1:]], dim=1)


def _difference(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Return a - b rounded, and what the rounding lost (Knuth's two-sum), a constant."""
    difference = a - b
    exact_a, rounded = a.detach(), difference.detach()
    taken = exact_a - rounded
    return difference, (exact_a - (rounded + taken)) + (taken - b)


def _gradient(steps: Tensor) -> tuple[Tensor, _Pivots]:
    """Return the gradient of log Z ``(S, states, m)`` for walks on m nodes.

    Args:
        steps: ``(S, m, states)``, the weights of the steps from the m nodes to the two states of
            the root and the m nodes. The diagonal is never read.
    """
    m = steps.shape[1]
    if m == 1:
        return _gradient_of_last(steps)
    dropped = m // 2
    kept = m - dropped
    # Keep the first nodes; beside it, keep the last. With m odd both keep the one in the middle.
    both = torch.cat([steps, _roll_nodes(steps.roll(-dropped, dims=1), -dropped, dim=2)])
    exits, pivots = _exits(both[:, kept:])
    reduced = torch.baddbmm(both[:, :kept, :-dropped], both[:, :kept, -dropped:], exits)
    gradient, later_pivots = _gradient(reduced)
    first, last = torch.cat([gradient, exits @ gradient], dim=1).tensor_split(2)
    last = _roll_nodes(last, dropped, dim=1)[..., kept - dropped :]
    return torch.cat([first, last], dim=2), pivots + later_pivots


def _gradient_of_last(steps: Tensor) -> tuple[Tensor, _Pivots]:
    faint, firm = steps[..., FAINT], steps[..., FIRM]
    hangs = firm == 0.0
    reaches_root = torch.stack([hangs, ~hangs, torch.zeros_like(hangs)], dim=1).to(steps.dtype)
    # Divide tensor by tensor: the derivative of 1.0 / x squares the result, which may underflow.
    return reaches_root / torch.where(hangs, faint, firm)[:, None], [(faint, firm)]


def _roll_nodes(states: Tensor, by: int, dim: int) -> Tensor:
    """Roll the nodes among the states along ``dim``; those of the root stay first."""
    root = states.narrow(dim, 0, ROOT_STATES)
    nodes = states.narrow(dim, ROOT_STATES, states.shape[dim] - ROOT_STATES)
    return torch.cat([root, nodes.roll(by, dims=dim)], dim=dim)


def _exits(steps: Tensor) -> tuple[Tensor, _Pivots]:
    """Return where walks leave a set of h nodes, ``(S, h, r)``: probabilities over the r others.

    Args:
        steps: ``(S, h, r + h)``, the weights of the steps from the h nodes, eliminated last to
            first, to the others and to themselves. The diagonal is never read.
    """
    h = steps.shape[1]
    if h == 1:
        return _exits_of_one(steps[..., :-1])
    # Steps out of the second half first lead to the first half or out; then that half goes too.
    half = h // 2
    second, pivots = _exits(steps[:, half:])
    others = second.shape[2] - half
    first = torch.baddbmm(steps[:, :half, : half - h], steps[:, :half, half - h :], second)
    first, later_pivots = _exits(first)
    second = torch.baddbmm(second[..., :others], second[..., others:], first)
    return torch.cat([first, second], dim=1), pivots + later_pivots


def _exits_of_one(steps: Tensor) -> tuple[Tensor, _Pivots]:
    faint, firm = steps[..., FAINT], steps[..., FIRM:].sum(dim=-1)
    hangs = firm == 0.0
    pivot = torch.where(hangs, faint, firm)
    # A node that hangs on the root has no weight but the faint one, which moves on to FIRM.
    steps = torch.where(hangs[..., None], steps.roll(FIRM - FAINT, dims=-1), steps)
    return steps / pivot[..., None], [(faint, firm)]


def _marginals(solution: _Solution) -> Tensor:
    probabilities = solution.graph.weights * solution.gradient
    exists = solution.graph.present & ~solution.infeasible[:, None, None]
    return torch.where(exists, probabilities, 0.0)


def _log_partition(solution: _Solution) -> Tensor:
    """Add up logarithms, whole numbers apart from fractions, so that large terms cancel exactly."""
    shifts = solution.graph.shifts
    mantissas, exponents = torch.frexp(solution.pivots)
    exponent = exponents.sum(dim=1).to(shifts.dtype)
    whole = shifts.round()
    large = whole.sum(dim=1) + exponent * LN2_HIGH
    small = (shifts - whole).sum(dim=1) + mantissas.log().sum(dim=1) + exponent * LN2_LOW
    return torch.where(solution.infeasible, -inf, large + small)


def _trusted(solution: _Solution, lengths: Tensor) -> Tensor:
    """Return whether the range of doubles certainly sufficed, ``(B,)``."""
    graph = solution.graph
    pairs = (1, 2)
    close = graph.present & (graph.log_ratios >= COMFORTABLE)
    complete = (~graph.possible | close).all(dim=pairs)

    dropped = graph.present & (graph.log_ratios < NEGLIGIBLE)
    visible = (dropped & (graph.log_ratios >= INVISIBLE)).any(dim=pairs)
    # The gradient is NaN, and the comparison false, wherever a pivot underflowed to 0.
    bounded = (~graph.possible | (solution.gradient <= LARGEST_GRADIENT)).all(dim=pairs)

    # Every reduced weight is at least a product of N weights divided by N pivots of at most N: if
    # that cannot underflow, a pivot of 0 is a true 0.
    smallest = torch.where(graph.present, graph.log_ratios, 0.0).amin(dim=pairs)
    exact_zeros = lengths * (smallest - lengths.log()) >= NEGLIGIBLE
    return torch.where(solution.infeasible, exact_zeros, complete | (~visible & bounded))
