"""The best trees: of greatest score, the k of greatest score, of greatest expected attachment.

All of them are exact, whatever the weights: the order of trees is that of the real sums of the
given numbers. Of trees of equal score the one comes first whose heads, read from node 1 on, are
smaller at the first difference, and then the one with the smaller labels, so every answer is
determined by the graph alone. See "Decoding" in the documentation.
"""

from dataclasses import replace
from typing import Literal, overload

import torch
from torch import Tensor

from spantree.checks import Root, check_count
from spantree.inference.ensemble import Ensemble
from spantree.inference.question import Question
from spantree.inference.ranking import Trees, rank_trees
from spantree.inference.transforms import may_be_differentiated
from spantree.inference.trees import along

__all__ = ["best_of", "best_tree", "best_trees", "k_best_of", "minimum_bayes_risk_of"]


@overload
def best_tree(
    log_weights: Tensor,
    lengths: Tensor | None = ...,
    *,
    root: Root = ...,
    return_score: Literal[False] = ...,
    validate_args: bool | None = ...,
) -> Tensor: ...


@overload
def best_tree(
    log_weights: Tensor,
    lengths: Tensor | None = ...,
    *,
    root: Root = ...,
    return_score: Literal[True],
    validate_args: bool | None = ...,
) -> tuple[Tensor, Tensor]: ...


def best_tree(
    log_weights: Tensor,
    lengths: Tensor | None = None,
    *,
    root: Root = "single",
    return_score: bool = False,
    validate_args: bool | None = None,
) -> Tensor | tuple[Tensor, Tensor]:
    """The tree of greatest weight, in O(N²) per graph, with one root edge or any number.

    More, up to O(N³), where nearly all trees tie (see "Decoding" in the documentation).

    Args:
        log_weights: ``(..., n, n)``; see `log_partition`, as for all other arguments.
        lengths: ``(...)`` number of non-root nodes of each graph.
        root: ``"single"`` or ``"multi"``.
        return_score: whether to return the score as well.
        validate_args: whether to raise for bad values and for graphs without a tree, whose heads
            are -1 and whose score is -inf otherwise.

    Returns:
        Heads ``(..., n)``, -1 for the root and for padding; and, if asked for, the sum of the
        tree's log-weights ``(...)``, differentiable in ``log_weights``.

    Example:
        >>> import torch
        >>> weights = torch.tensor([[0.0, 3.0, 1.0], [0.0, 0.0, 1.0], [0.0, 2.0, 0.0]])
        >>> best_tree(weights.log())
        tensor([-1,  0,  1])
    """
    question = Question.about(log_weights, lengths, root, validate_args, "auto")
    trees = rank_trees(log_weights, lengths, 1, question, with_scores=return_score)
    if not return_score:
        return trees.heads[0]
    scores = _differentiable(trees, log_weights, lengths).scores[0]
    return trees.heads[0], _rounded(scores, log_weights.dtype)


def best_trees(
    log_weights: Tensor,
    k: int,
    lengths: Tensor | None = None,
    *,
    root: Root = "single",
    validate_args: bool | None = None,
) -> tuple[Tensor, Tensor]:
    """The k trees of greatest weight in order, in O(k N²) per graph; ties as for `best_tree`.

    Args:
        log_weights: ``(..., n, n)``; see `log_partition`, as for all other arguments.
        k: how many, at least 1.
        lengths: ``(...)`` number of non-root nodes of each graph.
        root: ``"single"`` or ``"multi"``.
        validate_args: see `best_tree`.

    Returns:
        Heads ``(k, ..., n)`` and scores ``(k, ...)``, as `best_tree` has them, best first. Where a
        graph has fewer trees the rest of its heads are -1 and of its scores -inf.

    Example:
        >>> import torch
        >>> heads, scores = best_trees(torch.tensor([[0.0, 5, 1], [0, 0, 1], [0, 3, 0]]), 3)
        >>> heads.tolist(), scores.tolist()
        ([[-1, 0, 1], [-1, 2, 0], [-1, -1, -1]], [6.0, 4.0, -inf])
    """
    check_count("k", k)
    question = Question.about(log_weights, lengths, root, validate_args, "auto")
    trees = _differentiable(rank_trees(log_weights, lengths, k, question), log_weights, lengths)
    return trees.heads, _rounded(trees.scores, log_weights.dtype)


def best_of(ensemble: Ensemble) -> Trees:
    """The best tree, with the best labels: heads ``(*batch, n)``, scores ``(*batch,)``.

    Scores are differentiable in the ensemble's weights.
    """
    return _first(k_best_of(ensemble, 1))


def k_best_of(ensemble: Ensemble, k: int) -> Trees:
    """The k best trees, or labelled trees, in order: heads ``(k, *batch, n)``."""
    check_count("k", k)
    trees = rank_trees(ensemble.log_weights, ensemble.lengths, k, ensemble.question)
    return _differentiable(trees, ensemble.log_weights, ensemble.lengths)


def minimum_bayes_risk_of(ensemble: Ensemble, marginals: Tensor) -> Trees:
    """The tree that is expected to share most edges with a random one.

    Args:
        ensemble: the graphs.
        marginals: theirs; with labels an edge counts if its label is the same, too.

    Returns:
        The tree among the edges of the graph, and how many edges it is expected to share.
    """
    gains = marginals.to(torch.float64).where(ensemble.present, -torch.inf)
    return best_of(replace(ensemble, log_weights=gains))


def _first(trees: Trees) -> Trees:
    heads, labels, scores = trees
    return Trees(heads[0], None if labels is None else labels[0], scores[0])


def _differentiable(trees: Trees, log_weights: Tensor, lengths: Tensor | None) -> Trees:
    """The same trees, their scores as functions of the weights wherever somebody might ask."""
    if not may_be_differentiated(log_weights):
        return trees
    exists = trees.scores > -torch.inf
    sums = along(log_weights.double(), trees.heads, lengths, trees.labels)
    sums = sums.where(exists, trees.scores)
    # Of the exact value, with the gradient of the sum.
    correction = (trees.scores - sums.detach()).where(sums.isfinite(), 0.0)
    return trees._replace(scores=sums + correction)


def _rounded(scores: Tensor, dtype: torch.dtype) -> Tensor:
    return scores.to(dtype if dtype in (torch.float32, torch.float64) else torch.float32)
