"""Second derivatives of log Z: covariances of edges."""

from torch import Tensor

from spantree.checks import Backend, Root, check_direction
from spantree.inference.jet import first
from spantree.inference.question import Question

__all__ = ["hessian_vector_product"]


def hessian_vector_product(
    log_weights: Tensor,
    direction: Tensor,
    lengths: Tensor | None = None,
    *,
    root: Root = "single",
    validate_args: bool | None = None,
    backend: Backend = "auto",
) -> Tensor:
    """The Hessian of log Z times a direction: how the marginals change along it.

    Entry ``[i, j]`` is the covariance, over random trees, of having the edge from i to j and of the
    sum of ``direction`` over the edges of the tree. Each costs about as much again as the
    marginals, and is as accurate: the error is relative to the marginal. Differentiable to any
    order, in ``direction`` too.

    Args:
        log_weights: ``(..., n, n)``; see `log_partition`, as for all other arguments.
        direction: ``(..., n, n)`` like ``log_weights``, or with further axes in front: several
            directions, which share the work. Ignored where there is no edge.
        lengths: ``(...)`` number of non-root nodes of each graph.
        root: ``"single"`` or ``"multi"``.
        validate_args: whether to raise for bad values and for graphs without a tree.
        backend: ``"auto"``, ``"native"`` or ``"torch"``.

    Returns:
        A tensor of the shape of ``direction``.

    Example:
        >>> import torch
        >>> log_weights = torch.zeros(3, 3)  # two trees: root -> 1 -> 2 and root -> 2 -> 1
        >>> root_is_1 = torch.zeros(3, 3)
        >>> root_is_1[0, 1] = 1.0
        >>> hessian_vector_product(log_weights, root_is_1)
        tensor([[ 0.0000,  0.2500, -0.2500],
                [ 0.0000,  0.0000,  0.2500],
                [ 0.0000, -0.2500,  0.0000]])
    """
    question = Question.about(log_weights, lengths, root, validate_args, backend)
    check_direction(direction, log_weights)
    return first(log_weights, direction, lengths, question)
