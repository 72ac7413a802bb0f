"""The door to the samplers of the C++ kernel: tensors in, tensors out."""

from typing import Literal, NamedTuple

import torch
from torch import Tensor

from spantree.kernels import _native
from spantree.kernels.memory import laid_out, laid_out_lengths

__all__ = ["Method", "Plan", "draw", "plan"]

Method = Literal["quicker", "walk", "regrow"]
_METHODS: dict[Method, int] = {"quicker": 0, "walk": 1, "regrow": 2}


class Plan(NamedTuple):
    """What is known of a batch of graphs before a tree is drawn.

    Attributes:
        at_root: ``(B, n)`` float64, the probability that a node hangs on the root.
        steps: ``(B, n)`` float64, the expected steps of Wilson's walks: with a single root given
            that the node is its child, otherwise the node's share of them. Huge rather than inf.
        status: ``(B,)``, or None if all items are fine; see `native.run`.
    """

    at_root: Tensor
    steps: Tensor
    status: Tensor | None


def plan(
    log_weights: Tensor, lengths: Tensor | None, *, single_root: bool, always_wide: bool = False
) -> Plan:
    """Solve ``(B, n, n)`` graphs, float32 or float64 on the CPU, for what sampling must know."""
    count, n = log_weights.shape[0], log_weights.shape[-1]
    log_weights, lengths = laid_out(log_weights), laid_out_lengths(lengths)
    at_root = log_weights.new_empty(count, n, dtype=torch.float64)
    steps = torch.empty_like(at_root)
    status = torch.zeros(count, dtype=torch.int8)
    all_fine = _native.run(
        log_weights.data_ptr(),
        lengths.data_ptr() if lengths is not None else 0,
        [],
        0,
        0,
        status.data_ptr(),
        at_root.data_ptr(),
        steps.data_ptr(),
        count,
        n,
        1,
        log_weights.element_size(),
        0,
        single_root,
        always_wide,
        torch.get_num_threads(),
    )
    return Plan(at_root, steps, None if all_fine else status)


def draw(
    log_weights: Tensor,
    lengths: Tensor | None,
    plan: Plan,
    seed: int,
    samples: int,
    *,
    single_root: bool,
    method: Method = "quicker",
    always_wide: bool = False,
) -> Tensor:
    """Draw trees of the graphs that ``plan`` is about.

    Args:
        log_weights: ``(B, n, n)``, float32 or float64, on the CPU.
        lengths: ``(B,)``, or None if all are ``n - 1``.
        plan: theirs.
        seed: 64 bits; all randomness comes from here.
        samples: how many of each.
        single_root: whether exactly one edge leaves the root.
        method: the quicker way for every sample; tests force one.
        always_wide: regrow with exponents of their own (a check of that path).

    Returns:
        Heads ``(samples, B, n)`` int64; -1 for root and padding, and for all nodes without a tree.
    """
    count, n = log_weights.shape[0], log_weights.shape[-1]
    log_weights, lengths = laid_out(log_weights), laid_out_lengths(lengths)
    heads = torch.empty(samples, count, n, dtype=torch.int64)
    _native.sample(
        log_weights.data_ptr(),
        lengths.data_ptr() if lengths is not None else 0,
        plan.at_root.data_ptr(),
        plan.steps.data_ptr(),
        heads.data_ptr(),
        seed,
        count,
        n,
        samples,
        log_weights.element_size(),
        single_root,
        always_wide,
        _METHODS[method],
        torch.get_num_threads(),
    )
    return heads
