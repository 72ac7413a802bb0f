"""The textbook route: the matrix-tree theorem by a determinant, derivatives by autograd."""

import torch
from torch import Tensor

__all__ = ["textbook_jet", "textbook_log_partition", "textbook_marginals"]


def textbook_log_partition(log_weights: Tensor) -> Tensor:
    """Log Z of ``(B, n, n)`` graphs with a single root (Koo et al. 2007), column maxima removed."""
    eye = torch.eye(log_weights.shape[-1], dtype=torch.bool, device=log_weights.device)
    scores = log_weights.masked_fill(eye, -torch.inf)[..., 1:]
    top = scores.detach().amax(dim=-2, keepdim=True)
    weights = (scores - top).exp()
    laplacian = torch.diag_embed(weights[..., 1:, :].sum(dim=-2)) - weights[..., 1:, :]
    rooted = torch.cat([weights[..., :1, :], laplacian[..., 1:, :]], dim=-2)
    return torch.linalg.slogdet(rooted).logabsdet + top.sum(dim=(-2, -1))


def textbook_marginals(log_weights: Tensor) -> tuple[Tensor, Tensor]:
    """Log Z and its gradient."""
    log_weights = log_weights.detach().requires_grad_()
    log_partition = textbook_log_partition(log_weights)
    return log_partition, *torch.autograd.grad(log_partition.sum(), log_weights)


def textbook_jet(log_weights: Tensor, direction: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Log Z, its gradient, and its Hessian times a direction."""
    log_weights = log_weights.detach().requires_grad_()
    log_partition = textbook_log_partition(log_weights)
    (marginals,) = torch.autograd.grad(log_partition.sum(), log_weights, create_graph=True)
    (jet,) = torch.autograd.grad((marginals * direction).sum(), log_weights)
    return log_partition, marginals, jet
