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

__all__ = ["Exact", "ExactGraph", "exact_inference"]

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
    graph = ExactGraph(log_weights, root, digits=digits)
    u, v = (graph.values(x) for x in directions or (torch.zeros_like(log_weights),) * 2)
    w = graph.weights
    with mp.workdps(graph.digits):
        wu, wv = ({e: w[e] * x[e] for e in w} for x in (u, v))
        wuv = {e: wu[e] * v[e] for e in w}
        x, y, xy = (graph.along(tangent) for tangent in (wu, wv, wuv))
        along_u, along_v = x * graph.inverse, y * graph.inverse
        along_uv = x * along_v + y * along_u - xy * graph.inverse
        g_u, g_v, g_uv = (graph.entries(matrix) for matrix in (along_u, along_v, along_uv))
        first = {e: wu[e] * graph.gradient[e] - w[e] * g_u[e] for e in w}
        second = {
            e: wuv[e] * graph.gradient[e] - wu[e] * g_v[e] - wv[e] * g_u[e] + w[e] * g_uv[e]
            for e in w
        }
    scalar = torch.tensor(float(graph.log_partition), dtype=torch.float64)
    marginals, first, second = (graph.rounded(x) for x in (graph.marginals, first, second))
    return Exact(scalar, marginals, first, second, graph.digits)


class ExactGraph:
    """A graph's log Z, marginals and Hessian products, in numbers of many digits.

    Weights are scaled, which changes no probability; values of edges are dictionaries.
    """

    def __init__(self, log_weights: Tensor, root: str, *, digits: int = LEAST_DIGITS) -> None:
        self.num_nodes, self.root = len(log_weights) - 1, root
        edges = [
            (i, j)
            for i in range(self.num_nodes + 1)
            for j in range(1, self.num_nodes + 1)
            if i != j and log_weights[i, j] > -torch.inf
        ]
        with mp.workdps(digits):
            # 300 digits suffice here: a relative change of the weights changes results as little.
            self.log_weights = {e: mp.mpf(log_weights[e].item()) for e in edges}
            scaled = dict(self.log_weights)
            shift = _scale(scaled, self.num_nodes, root)
            self.weights = {e: mp.exp(value) for e, value in scaled.items()}
        self.inverse, self.digits = _inverse(self.weights, self.num_nodes, root, digits)
        with mp.workdps(self.digits):
            matrix = _matrix(self.weights, self.num_nodes, root)
            self.log_partition = shift + mp.log(abs(mp.det(matrix)))
            self.gradient = self.entries(self.inverse)
            self.marginals = {e: self.weights[e] * self.gradient[e] for e in edges}

    def along(self, tangent: EdgeValues) -> mpmath.matrix:
        """B A(x); times B, it is minus the derivative of B."""
        return self.inverse * _matrix(tangent, self.num_nodes, self.root)

    def entries(self, matrix: mpmath.matrix) -> EdgeValues:
        """What stands in the place of B in ∂ log Z / ∂w_ij = e_jᵀ B c_ij, for every edge."""
        return {e: _entry(matrix, e, self.root) for e in self.weights}

    def hessian_product(self, direction: EdgeValues) -> EdgeValues:
        """J_1, the covariance of every edge with the sum of the direction along a tree."""
        with mp.workdps(self.digits):
            tangent = {e: w * direction[e] for e, w in self.weights.items()}
            change = self.entries(self.along(tangent) * self.inverse)
            return {
                e: tangent[e] * self.gradient[e] - w * change[e] for e, w in self.weights.items()
            }

    def expectation(self, values: EdgeValues) -> mpmath.mpf:
        """⟨μ, values⟩."""
        with mp.workdps(self.digits):
            return mp.fsum(probability * values[e] for e, probability in self.marginals.items())

    def values(self, tensor: Tensor) -> EdgeValues:
        """What a tensor holds on the edges."""
        return {e: mp.mpf(tensor[e].item()) for e in self.weights}

    def rounded(self, values: EdgeValues) -> Tensor:
        """As a tensor ``(n, n)``."""
        return _dense(values, self.num_nodes)


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
