"""What Hypothesis draws: batches of weights that have a tree, and what goes with them."""

import hypothesis.strategies as st
import torch
from hypothesis.extra.numpy import arrays
from torch import Tensor

__all__ = ["BATCH_SHAPES", "batches", "directions_like", "lengths_for", "permutations_of_nodes"]

BATCH_SHAPES: list[tuple[int, ...]] = [(), (0,), (1,), (3,), (2, 3)]


@st.composite
def batches(
    draw: st.DrawFn,
    *,
    batch_shapes: list[tuple[int, ...]] | None = None,
    max_nodes: int = 6,
    magnitude: float = 20.0,
    forbid: bool = True,
) -> Tensor:
    """Draw ``(..., n, n)`` float64 log-weights.

    Each graph has a tree with a single root edge, and so has its subgraph of the nodes up to any
    one, so that any lengths go with it.
    """
    shape = draw(st.sampled_from(BATCH_SHAPES if batch_shapes is None else batch_shapes))
    n = draw(st.integers(2, max_nodes + 1))
    finite = st.floats(-magnitude, magnitude)
    drawn = _draw_array(draw, (*shape, n, n), finite | st.just(-torch.inf) if forbid else finite)
    planted = _draw_array(draw, (*shape, n, n), finite)
    # Node 1 below the root, every other below some earlier one.
    heads = [0, 0, *(draw(st.integers(1, j - 1)) for j in range(2, n))]
    planted_tree = torch.zeros(n, n, dtype=torch.bool)
    planted_tree[heads, torch.arange(n)] = True
    return torch.where(planted_tree & drawn.isneginf(), planted, drawn)


@st.composite
def lengths_for(draw: st.DrawFn, log_weights: Tensor) -> Tensor:
    """Draw the lengths of a ragged batch."""
    shape, n = log_weights.shape[:-2], log_weights.shape[-1]
    count = shape.numel()
    drawn = draw(st.lists(st.integers(1, n - 1), min_size=count, max_size=count))
    return torch.tensor(drawn, dtype=torch.int64).reshape(shape)


@st.composite
def directions_like(draw: st.DrawFn, log_weights: Tensor) -> Tensor:
    """Draw a direction, anything finite wherever there is no edge."""
    return _draw_array(draw, tuple(log_weights.shape), st.floats(-3.0, 3.0))


def permutations_of_nodes(log_weights: Tensor) -> st.SearchStrategy[list[int]]:
    """Draw an order of the nodes that leaves the root in its place."""
    return st.permutations(range(1, log_weights.shape[-1])).map(lambda order: [0, *order])


def _draw_array(draw: st.DrawFn, shape: tuple[int, ...], elements: st.SearchStrategy) -> Tensor:
    return torch.from_numpy(draw(arrays("float64", shape, elements=elements)).copy())
