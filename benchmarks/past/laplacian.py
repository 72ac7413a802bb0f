"""What they all stand on: the matrix-tree theorem, by a Laplacian and its inverse."""

import torch
from torch import Tensor

__all__ = ["by_edge", "laplacian", "scaled_weights", "without_root_column"]


def scaled_weights(log_weights: Tensor) -> tuple[Tensor, Tensor]:
    """Weights ``(..., n, n)`` with a largest entry of 1 in each column, and log Z's shift."""
    n = log_weights.shape[-1]
    no_edge = torch.eye(n, dtype=torch.bool)
    no_edge[:, 0] = True
    scores = log_weights.masked_fill(no_edge, -torch.inf)
    top = scores[..., 1:].amax(-2, keepdim=True)
    weights = torch.cat([torch.zeros_like(scores[..., :1]), (scores[..., 1:] - top).exp()], -1)
    return weights, top.sum((-2, -1))


def laplacian(weights: Tensor, root: str) -> Tensor:
    """``(..., N, N)``, with the determinant Z; with a single root that of Koo et al. (2007)."""
    inner, from_root = weights[..., 1:, 1:], weights[..., :1, 1:]
    if root == "multi":
        return torch.diag_embed(weights[..., 1:].sum(-2)) - inner
    matrix = torch.diag_embed(inner.sum(-2)) - inner
    return torch.cat([from_root, matrix[..., 1:, :]], -2)


def by_edge(inverse: Tensor, root: str) -> Tensor:
    """d log Z along the edge (i, j), had it replaced the edges into l: ``(..., l, i, j)``.

    An edge is a column with one or two entries ±1 in place of its dependent's column of the
    Laplacian, so this is the inverse times that column. With l = j it is d log Z / dw_ij.
    """
    first = inverse[..., :1]
    others = inverse
    if root == "single":
        others = torch.cat([torch.zeros_like(first), inverse[..., 1:]], -1)
    root_heads = first.expand_as(inverse) if root == "single" else inverse
    inner = others[..., None, :] - others[..., :, None]
    return without_root_column(torch.cat([root_heads[..., None, :], inner], -2))


def without_root_column(edges: Tensor) -> Tensor:
    """Puts back the column of the root, which has no edges."""
    return torch.cat([torch.zeros_like(edges[..., :1]), edges], -1)
