"""log Z: the logarithm of the total weight of all spanning trees."""

from torch import Tensor

from spantree.checks import Backend, Root
from spantree.inference.jet import zeroth
from spantree.inference.question import Question

__all__ = ["log_partition"]


def log_partition(
    log_weights: Tensor,
    lengths: Tensor | None = None,
    *,
    root: Root = "single",
    validate_args: bool | None = None,
    backend: Backend = "auto",
) -> Tensor:
    """The logarithm of Z, the sum over all spanning trees of the product of their weights.

    Exact to the last digits for every input (see "Numerics" in the documentation), in O(N³) per
    graph. Differentiable to any order; the gradient is `edge_marginals`.

    Args:
        log_weights: ``(..., n, n)``, ``[head, dependent]``; node 0 is the root. ``-inf`` forbids an
            edge. Column 0 and the diagonal are ignored.
        lengths: ``(...)`` number of non-root nodes of each graph, 1 to n - 1; all n - 1 if None.
            What lies beyond is ignored.
        root: ``"single"`` for trees with exactly one edge from the root, ``"multi"`` for one or
            more.
        validate_args: whether to raise for NaN, +inf and graphs without a tree; by default as
            torch.distributions does. If not, these graphs have log Z NaN and -inf.
        backend: ``"native"`` (CPU only), ``"torch"``, or by device.

    Returns:
        ``(...)`` in the dtype of ``log_weights``, float32 for half precisions.

    Raises:
        TypeError, ValueError: if an argument does not fit; the message says how.

    Example:
        Cayley counted the trees on N labelled nodes; each can hang on the root by any of them.

        >>> import torch
        >>> log_partition(torch.zeros(5, 5)).exp().round()
        tensor(64.)
    """
    question = Question.about(log_weights, lengths, root, validate_args, backend)
    return zeroth(log_weights, lengths, question, with_marginals=False)[0]
