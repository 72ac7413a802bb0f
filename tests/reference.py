"""The oracle beyond five nodes: the matrix-tree theorem in mpmath at 300 digits and more.

log Z is the log-determinant of a matrix A whose entries are sums of weights: the
Laplacian without the root's row and column (multi), or the same with its first row
replaced by the root's edges (single; Koo et al. 2007). A is linear in the weights,

    A(w) = Σ_ij w_ij c_ij e_jᵀ,     c_ij a column with one or two entries ±1,

so with B = A⁻¹ every derivative of log det A is a product of B and A(direction):

    ∂B along x = −B A(x) B,         ∂ log Z / ∂w_ij = e_jᵀ B c_ij.

All of it subtracts nearly equal numbers without shame, and pays in digits. It shares
neither the algorithm nor the formulas with the library.
"""

from collections.abc import Iterator
from typing import NamedTuple

import mpmath
import torch
from mpmath import mp
from torch import Tensor

__all__ = ["Exact", "exact_inference"]

LEAST_DIGITS = 300
SPARE_DIGITS = 60
SMALLEST_OF_INTEREST = 300  # nothing is ever compared below 10^-300

EdgeValues = dict[tuple[int, int], mpmath.mpf]


class Exact(NamedTuple):
    """What the library should return, rounded once to float64."""

    log_partition: Tensor
    marginals: Tensor
    first: Tensor
    second: Tensor
    digits: int


def exact_inference(
    log_weights: Tensor,
    root: str,
    directions: tuple[Tensor, Tensor] | None = None,
    *,
    digits: int = LEAST_DIGITS,
) -> Exact:
    """Compute log Z, the marginals, J_1(U) and J_2(U, V) of one graph.

    Args:
        log_weights: ``(n, n)``, ``[head, dependent]``, for which a tree exists.
        root: ``"single"`` or ``"multi"``.
        directions: U and V, ``(n, n)`` each; zeros if not given.
        digits: The least number of digits to work with. More are taken if the
            matrix is so ill-conditioned that these could not be enough.
    """
    num_nodes = len(log_weights) - 1
    edges = [
        (i, j)
        for i in range(num_nodes + 1)
        for j in range(1, num_nodes + 1)
        if i != j and log_weights[i, j] > -torch.inf
    ]
    u, v = directions or (torch.zeros_like(log_weights),) * 2
    with mp.workdps(digits):
        # 300 digits suffice here: a relative change of the weights changes every result as little.
        scaled = {e: mp.mpf(log_weights[e].item()) for e in edges}
        shift = _scale(scaled, num_nodes, root)
        w = {e: mp.exp(value) for e, value in scaled.items()}
    wu = {e: w[e] * mp.mpf(u[e].item()) for e in edges}
    wv = {e: w[e] * mp.mpf(v[e].item()) for e in edges}
    wuv = {e: wu[e] * mp.mpf(v[e].item()) for e in edges}

    inverse, digits = _inverse(w, num_nodes, root, digits)
    with mp.workdps(digits):
        log_partition = shift + mp.log(abs(mp.det(_matrix(w, num_nodes, root))))
        x, y, xy = (inverse * _matrix(tangent, num_nodes, root) for tangent in (wu, wv, wuv))
        along_u, along_v = x * inverse, y * inverse  # minus the derivative of the inverse
        along_uv = x * along_v + y * along_u - xy * inverse
        marginals, first, second = {}, {}, {}
        for e in edges:
            g, g_u, g_v, g_uv = (_entry(m, e, root) for m in (inverse, along_u, along_v, along_uv))
            marginals[e] = w[e] * g
            first[e] = wu[e] * g - w[e] * g_u
            second[e] = wuv[e] * g - wu[e] * g_v - wv[e] * g_u + w[e] * g_uv
        scalar = torch.tensor(float(log_partition), dtype=torch.float64)
        return Exact(scalar, *(_dense(q, num_nodes) for q in (marginals, first, second)), digits)


def _scale(log_weights: EdgeValues, num_nodes: int, root: str) -> mpmath.mpf:
    """Divide columns, and the row of a single root, by their heaviest edges; return the logarithm.

    A tree has one edge of each, so this changes no probability. It saves thousands of digits.
    """
    columns = [[e for e in log_weights if e[1] == j] for j in range(1, num_nodes + 1)]
    lines = [[e for e in column if e[0] > 0 or root == "multi"] or column for column in columns]
    if root == "single":
        lines.append([e for e in log_weights if e[0] == 0])
        columns.append(lines[-1])
    total = mp.mpf(0)
    for judged, edges in zip(lines, columns, strict=True):
        heaviest = max(log_weights[e] for e in judged)
        total += heaviest
        for e in edges:
            log_weights[e] -= heaviest
    return total


def _inverse(w: EdgeValues, num_nodes: int, root: str, digits: int) -> tuple[mpmath.matrix, int]:
    """Invert A with so many digits that enough are left after the cancellation."""
    while True:
        with mp.workdps(digits):
            try:
                inverse = _matrix(w, num_nodes, root) ** -1
            except ZeroDivisionError:  # numerically singular, which A is not
                digits *= 2
                continue
            magnitude = max(mp.mag(entry) for entry in inverse if entry)
        # A's entries are at most n, so |δB| ≤ n³ |B|² 10^-digits, and J_2 multiplies two more B.
        needed = SMALLEST_OF_INTEREST + SPARE_DIGITS + int(4 * max(magnitude, 0) * 0.302)
        if digits >= needed:
            return inverse, digits
        digits = needed


def _places(edge: tuple[int, int], root: str) -> Iterator[tuple[int, int]]:
    """Where the edge stands in its dependent's column of A: rows (from 0) and signs."""
    head, dependent = edge
    if root == "single" and head == 0:
        yield 0, 1
        return
    for node, sign in ((dependent, 1), (head, -1)):
        if node > (1 if root == "single" else 0):
            yield node - 1, sign


def _matrix(x: EdgeValues, num_nodes: int, root: str) -> mpmath.matrix:
    matrix = mp.zeros(num_nodes)
    for edge, value in x.items():
        for row, sign in _places(edge, root):
            matrix[row, edge[1] - 1] += sign * value
    return matrix


def _entry(inverse: mpmath.matrix, edge: tuple[int, int], root: str) -> mpmath.mpf:
    return mp.fsum(sign * inverse[edge[1] - 1, row] for row, sign in _places(edge, root))


def _dense(x: EdgeValues, num_nodes: int) -> Tensor:
    dense = torch.zeros(num_nodes + 1, num_nodes + 1, dtype=torch.float64)
    for edge, value in x.items():
        dense[edge] = float(value)
    return dense
