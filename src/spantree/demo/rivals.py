"""What the library is compared with: the textbook's determinant, and the entropy of old.

Both are the matrix-tree theorem in double precision, as well as it can be written with determinants
and autograd. They are here to be shown at their limits, and nothing else may use them.
"""

import torch
from torch import Tensor

__all__ = ["past_entropy", "textbook_entropy", "textbook_log_partition", "textbook_marginals"]


def textbook_log_partition(log_weights: Tensor) -> Tensor:
    """Log Z ``(...)`` of graphs ``(..., n, n)`` with a single root, by Koo et al. (2007).

    One determinant of order N, every column scaled by its heaviest edge: O(N³).
    """
    weights, shift = _scaled_weights(log_weights)
    return torch.linalg.slogdet(_rooted_laplacian(weights)).logabsdet + shift


def textbook_marginals(log_weights: Tensor, *, create_graph: bool = False) -> Tensor:
    """The probability of every edge: the gradient of `textbook_log_partition`, by autograd."""
    if not log_weights.requires_grad:
        log_weights = log_weights.detach().requires_grad_()
    total = textbook_log_partition(log_weights).sum()
    return torch.autograd.grad(total, log_weights, create_graph=create_graph)[0]


def textbook_entropy(log_weights: Tensor) -> Tensor:
    """The entropy as log Z − ⟨μ, θ⟩, with all derivatives left to autograd: O(N³)."""
    marginals = textbook_marginals(log_weights, create_graph=log_weights.requires_grad)
    finite = log_weights.where(marginals != 0, 0.0)
    return textbook_log_partition(log_weights) - (marginals * finite).sum((-2, -1))


def past_entropy(log_weights: Tensor) -> Tensor:
    """The entropy with a determinant for every node, after Smith and Eisner (2007): O(N⁴).

    The expected log-weight of the edge into node j is the ratio of two determinants, one of which
    has w log w in the place of the weights of that column.
    """
    weights, _ = _scaled_weights(log_weights)
    weighted_logs = weights * weights.where(weights > 0, 1.0).log()
    n = weights.shape[-1]
    of_node = torch.eye(n, dtype=torch.bool)[1:, None, :]  # (N, 1, n): for each node, its column
    changed = weighted_logs[..., None, :, :].where(of_node, weights[..., None, :, :])
    sign, log_size = torch.linalg.slogdet(_rooted_laplacian(changed))
    sign_of_z, log_partition = torch.linalg.slogdet(_rooted_laplacian(weights))
    ratios = sign * sign_of_z[..., None] * (log_size - log_partition[..., None]).exp()
    return log_partition - ratios.sum(-1)


def _scaled_weights(log_weights: Tensor) -> tuple[Tensor, Tensor]:
    """Weights with a largest edge of 1 in every column, 0 off the edges; and the shift of log Z."""
    n = log_weights.shape[-1]
    no_edge = torch.eye(n, dtype=torch.bool)
    no_edge[:, 0] = True
    scores = log_weights.masked_fill(no_edge, -torch.inf)
    heaviest = scores.detach().amax(-2, keepdim=True)
    heaviest = heaviest.masked_fill(heaviest == -torch.inf, 0.0)
    return (scores - heaviest).exp(), heaviest[..., 1:].sum((-2, -1))


def _rooted_laplacian(weights: Tensor) -> Tensor:
    """``(..., N, N)``: the Laplacian of the other nodes, its first row the weights of the root."""
    laplacian = torch.diag_embed(weights[..., 1:, 1:].sum(-2)) - weights[..., 1:, 1:]
    return torch.cat([weights[..., :1, 1:], laplacian[..., 1:, :]], -2)
