"""The probability of every edge."""

from torch import Tensor

from spantree.checks import Backend, Root
from spantree.inference.jet import zeroth
from spantree.inference.question import Question

__all__ = ["edge_marginals"]


def edge_marginals(
    log_weights: Tensor,
    lengths: Tensor | None = None,
    *,
    root: Root = "single",
    validate_args: bool | None = None,
    backend: Backend = "auto",
) -> Tensor:
    """The probability that a random tree has the edge, for every edge.

    Every entry carries full relative accuracy, however small it is (see "Numerics" in the
    documentation); O(N³) per graph. Differentiable to any order.

    Args:
        log_weights: ``(..., n, n)``; see `log_partition`, as for all other arguments.
        lengths: ``(...)`` number of non-root nodes of each graph.
        root: ``"single"`` or ``"multi"``.
        validate_args: whether to raise for bad values and for graphs without a tree, whose
            marginals are 0 otherwise.
        backend: ``"auto"``, ``"native"`` or ``"torch"``.

    Returns:
        ``(..., n, n)``: entry ``[i, j]`` is the probability of the edge from i to j, 0 where there
        is none. Each real column sums to 1.

    Example:
        >>> import torch
        >>> weights = torch.tensor([[0.0, 3.0, 1.0], [0.0, 0.0, 1.0], [0.0, 2.0, 0.0]])
        >>> edge_marginals(weights.log())
        tensor([[0.0000, 0.6000, 0.4000],
                [0.0000, 0.0000, 0.6000],
                [0.0000, 0.4000, 0.0000]])
    """
    question = Question.about(log_weights, lengths, root, validate_args, backend)
    return zeroth(log_weights, lengths, question, with_marginals=True)[1]
