"""A sentence of five words: the probability of every edge, derivatives, and a test of strength."""

import torch
from torch import Tensor

import spantree as st

WORDS = ["ROOT", "she", "says", "birds", "sing", "well"]

# Made-up scores, [head, dependent]: row 2, column 4 is "says governs sing". In a parser a network
# would produce them. Column 0 and the diagonal are not edges; what they hold is ignored. Mind that
# "birds" and "sing" each like the other best as a head, which a tree cannot grant to both.
LOG_WEIGHTS = torch.tensor(
    [
        [0.0, -0.5, 2.0, 0.0, 0.5, -1.0],
        [0.0, 0.0, 0.5, -1.0, 0.0, -0.5],
        [0.0, 2.5, 0.0, 0.5, 2.0, 1.0],
        [0.0, -1.0, 0.0, 0.0, 4.5, 0.5],
        [0.0, 0.5, 1.0, 4.0, 0.0, 2.5],
        [0.0, -0.5, -1.0, -0.5, 0.5, 0.0],
    ],
    dtype=torch.float64,
)
ANNOTATED_HEADS = torch.tensor([2, 0, 4, 2, 4])  # of the five words; 0 is the root


def main() -> None:
    print(f"log Z = {st.log_partition(LOG_WEIGHTS).item():.6f}")

    print("\nThe probability of every edge, in percent (rows govern columns)\n")
    print_table(100 * st.edge_marginals(LOG_WEIGHTS), digits=2)

    print("\nThe gradient of a training loss, -log P(annotated tree), in the scores\n")
    print_table(loss_gradient(LOG_WEIGHTS), digits=3)

    print("\nThe rate at which every probability changes with the score of says -> sing\n")
    direction = torch.zeros_like(LOG_WEIGHTS)
    direction[2, 4] = 1.0
    print_table(st.hessian_vector_product(LOG_WEIGHTS, direction), digits=3)

    print("\nThe probability of says -> sing as the scores grow more confident (float64)\n")
    print("  scores times    textbook determinant    spantree")
    for factor in (1, 5, 10, 12, 15, 20, 40, 200):
        textbook = textbook_marginals(factor * LOG_WEIGHTS)[2, 4]
        exact = st.edge_marginals(factor * LOG_WEIGHTS)[2, 4]
        print(f"  {factor:12d}    {textbook:20.10g}    {exact:.10f}")


def print_table(table: Tensor, digits: int) -> None:
    print(" " * 8 + "".join(f"{word:>8}" for word in WORDS[1:]))
    for head, row in zip(WORDS, table[:, 1:].tolist(), strict=True):
        print(f"{head:>8}" + "".join(f"{x:z8.{digits}f}" for x in row))


def loss_gradient(scores: Tensor) -> Tensor:
    """The gradient of minus the log-probability of the annotated tree, ``(6, 6)``."""
    log_weights = scores.clone().requires_grad_()
    score = log_weights[ANNOTATED_HEADS, torch.arange(1, 6)].sum()
    (st.log_partition(log_weights) - score).backward()
    assert log_weights.grad is not None
    return log_weights.grad


def textbook_marginals(scores: Tensor) -> Tensor:
    """The marginals as a textbook has them: derivatives of the log-determinant of a Laplacian.

    The Laplacian's first row is replaced by the root's weights, for exactly one edge from the root
    (Koo et al., 2007); every column is scaled by its largest weight. All in float64.
    """
    log_weights = scores.clone().requires_grad_()
    real = 1.0 - torch.eye(6, dtype=scores.dtype)
    weights = (log_weights - scores.amax(dim=0)).exp() * real
    laplacian = torch.diag(weights[1:, 1:].sum(dim=0)) - weights[1:, 1:]
    matrix = torch.cat([weights[:1, 1:], laplacian[1:]])
    (marginals,) = torch.autograd.grad(torch.linalg.slogdet(matrix).logabsdet, log_weights)
    return marginals


if __name__ == "__main__":
    main()
