"""Training criteria: each takes a distribution and returns one differentiable number per graph.

The gradient of each costs O(N³), like its value: it is one more derivative of log Z. Smaller is
better, but for `expected_attachment`, which is a score.

Gold trees are heads ``(*batch, n)``; with labels, pairs (heads, labels), or heads alone. A head or
label of -1 is not annotated.
"""

from typing import Any

from torch import Tensor

from spantree.checks import check_device
from spantree.distributions.base import TreeDistribution

__all__ = [
    "entropy_regularization",
    "expected_attachment",
    "generalized_expectation",
    "kl_to_teacher",
    "negative_log_likelihood",
    "risk",
]


def negative_log_likelihood(distribution: TreeDistribution, gold: Any) -> Tensor:
    """−log p(gold tree), or of all trees that agree with a partial one, ``(*batch,)``."""
    if distribution.is_complete(gold):
        return -distribution.log_prob(gold)
    return -distribution.joint(gold)


def expected_attachment(distribution: TreeDistribution, gold: Any) -> Tensor:
    """The expected share of annotated nodes that get their gold head (and label), ``(*batch,)``.

    The unlabelled or labelled attachment score of a tree drawn at random; 1 is perfect.
    """
    return _shares(distribution, gold)[0]


def risk(distribution: TreeDistribution, gold: Any) -> Tensor:
    """The expected share of annotated nodes that get a wrong head (or label): 1 − the score.

    Summed over wrong edges, so that a small risk keeps all its digits.
    """
    return _shares(distribution, gold)[1]


def entropy_regularization(distribution: TreeDistribution, *, per_node: bool = True) -> Tensor:
    """The entropy of the trees, by default in nats per node, ``(*batch,)``; small if it is sure."""
    entropy = distribution.entropy()
    return entropy / _nodes(distribution) if per_node else entropy


def generalized_expectation(
    distribution: TreeDistribution, features: Tensor, target: Tensor, *, pooled: bool = False
) -> Tensor:
    """The generalized expectation criterion ½ ‖E[f] − f*‖², light supervision by statistics.

    Its gradient is J_1(f · (E[f] − f*)): one Hessian product, whatever the number of features.

    Args:
        distribution: over trees.
        features: f, as for `SpanningTree.expectation`, dense or sparse.
        target: f*, ``(R,)`` or ``(*batch, R)``; no last axis for a scalar feature.
        pooled: sum expectations over the batch before they meet ``target`` ``(R,)``.

    Returns:
        ``(*batch,)``, or one number if pooled.
    """
    expected = distribution.expectation(features)
    scalar = expected.dim() == len(distribution.batch_shape)
    expected = expected[..., None] if scalar else expected
    count = expected.shape[-1]
    if not isinstance(target, Tensor) or not target.dtype.is_floating_point:
        got = target.dtype if isinstance(target, Tensor) else type(target).__name__
        raise TypeError(f"target must be a floating-point torch.Tensor, got {got}")
    one = () if scalar else (count,)
    each = one if pooled else (*distribution.batch_shape, *one)
    if tuple(target.shape) not in (one, each):
        either = f"{one} or {each}" if one != each else f"{one}"
        raise ValueError(
            f"target must have shape {either} like the expectations"
            f"{' of the whole batch' if pooled else ''}, got {tuple(target.shape)}"
        )
    check_device("target", target, distribution.log_weights.device)
    if pooled:
        expected = expected.reshape(-1, count).sum(0)
    wanted = target[..., None] if scalar else target
    difference = expected - wanted.to(expected.dtype)
    return 0.5 * difference.square().sum(-1)


def kl_to_teacher(
    distribution: TreeDistribution, teacher: TreeDistribution, *, reverse: bool = False
) -> Tensor:
    """KL(teacher‖distribution), or with ``reverse`` KL(distribution‖teacher), ``(*batch,)``.

    The first asks the student to cover all that the teacher believes, the second to believe nothing
    that the teacher does not.
    """
    if reverse:
        return distribution.kl_divergence(teacher)
    return teacher.kl_divergence(distribution)


def _shares(distribution: TreeDistribution, gold: Any) -> tuple[Tensor, Tensor]:
    """The expected shares of the annotated nodes that have the gold edge, and another one."""
    axes = _edge_axes(distribution)
    right = distribution.edge_indicator(gold)
    annotated = right.any(-1, keepdim=True) if axes == 3 else right
    annotated = annotated.any(-axes, keepdim=True)
    count = annotated.flatten(-axes).sum(-1).clamp(min=1)

    def share(edges: Tensor) -> Tensor:
        return distribution.marginals.where(edges, 0.0).flatten(-axes).sum(-1) / count

    return share(right), share(annotated & ~right)


def _edge_axes(distribution: TreeDistribution) -> int:
    return distribution.log_weights.dim() - len(distribution.batch_shape)


def _nodes(distribution: TreeDistribution) -> Tensor | int:
    """How many nodes there are beside the root, ``(*batch,)`` or one number."""
    return distribution.event_shape[0] - 1 if distribution.lengths is None else distribution.lengths
