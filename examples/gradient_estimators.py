"""Learn a latent tree with three estimators of the same gradient, and see how they fare.

Every node of a hidden tree adds what its head does: y_j = x_j + x_head(j) + noise. We see x and y
and learn a distribution over trees, one score for every edge, that minimises the expected squared
error of this. The error of a tree is a sum over its edges, so its expectation and the gradient of
that are known exactly; the other estimators draw trees.

    python examples/gradient_estimators.py [--steps 150] [--nodes 10] [--samples 8] [--seed 0]
"""

import argparse
from collections.abc import Callable

import torch
from torch import Generator, Tensor

import spantree as st

Estimator = Callable[[Tensor, Tensor, Generator], Tensor]


def exact(log_weights: Tensor, errors: Tensor, generator: Generator) -> Tensor:
    """E[error]: its gradient is one Hessian product, and has no variance."""
    return st.SpanningTree(log_weights).expectation(errors)


def score_function(samples: int) -> Estimator:
    """Errors of sampled trees times grad log p, each compared with the mean of the others."""

    def surrogate(log_weights: Tensor, errors: Tensor, generator: Generator) -> Tensor:
        distribution = st.SpanningTree(log_weights)
        trees = distribution.sample((samples,), generator)
        error = (distribution.edge_indicator(trees) * errors).sum((-2, -1))
        others = (error.sum() - error) / (samples - 1)
        return ((error - others) * distribution.log_prob(trees)).mean()

    return surrogate


def perturb_and_map(samples: int, step: float = 1.0) -> Estimator:
    """How the best tree under noise moves when the scores step downhill (Niepert et al. 2021).

    Biased: the best tree under noise is not distributed as the model's trees are, and a step is no
    derivative.
    """

    def surrogate(log_weights: Tensor, errors: Tensor, generator: Generator) -> Tensor:
        same_noise = generator.clone_state()
        here = st.SpanningTree(log_weights)
        there = st.SpanningTree(log_weights.detach() - step * errors)
        edges = [
            d.edge_indicator(d.perturb_and_map(1.0, (samples,), noise)).double().mean(0)
            for d, noise in ((here, generator), (there, same_noise))
        ]
        return ((edges[0] - edges[1]) / step * log_weights).sum()

    return surrogate


def hidden_tree(nodes: int, generator: Generator) -> Tensor:
    """A tree drawn from all trees alike."""
    return st.sample_trees(torch.zeros(nodes + 1, nodes + 1), generator=generator)


def squared_errors(tree: Tensor, generator: Generator, sentences: int = 4) -> Tensor:
    """How badly every head would explain every node, on a few fresh data; 0 off edges."""
    n = len(tree)
    x = torch.randn(sentences, n, generator=generator, dtype=torch.float64)
    noise = torch.randn(sentences, n, generator=generator, dtype=torch.float64)
    y = x + x[:, tree.clamp_min(0)] + noise
    errors = (y[:, None, :] - x[:, None, :] - x[:, :, None]).square().mean(0)
    errors[:, 0] = 0.0
    return errors.fill_diagonal_(0.0)


def train(
    estimator: Estimator, tree: Tensor, steps: int, generator: Generator
) -> tuple[Tensor, Tensor]:
    """Expected attachment after every step, and the cosine with the exact gradient at it."""
    log_weights = torch.zeros(len(tree), len(tree), dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.Adam([log_weights], lr=0.1)
    attachment, cosines = torch.zeros(steps), torch.zeros(steps)
    for step in range(steps):
        errors = squared_errors(tree, generator)
        (wanted,) = torch.autograd.grad(exact(log_weights, errors, generator), log_weights)
        (got,) = torch.autograd.grad(estimator(log_weights, errors, generator), log_weights)
        cosines[step] = torch.cosine_similarity(wanted.flatten(), got.flatten(), dim=0)
        log_weights.grad = got
        optimiser.step()
        with torch.no_grad():
            distribution = st.SpanningTree(log_weights)
            attachment[step] = st.objectives.expected_attachment(distribution, tree)
    return attachment, cosines


def main() -> None:
    """Trains with each estimator on the same problem and prints how far each has come."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=10)
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--samples", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    tree = hidden_tree(options.nodes, Generator().manual_seed(options.seed))
    estimators = {
        "exact expectation": exact,
        f"score function, {options.samples} samples": score_function(options.samples),
        f"perturb-and-MAP, {options.samples} samples": perturb_and_map(options.samples),
    }
    marks = [options.steps // 4, options.steps // 2, options.steps]
    print(f"expected share of right heads after {', '.join(map(str, marks))} steps")
    for name, estimator in estimators.items():
        generator = Generator().manual_seed(options.seed + 1)
        attachment, cosines = train(estimator, tree, options.steps, generator)
        shares = "  ".join(f"{attachment[mark - 1]:.3f}" for mark in marks)
        print(f"  {name:28s}  {shares}   cosine with the exact gradient {cosines.mean():.2f}")


if __name__ == "__main__":
    main()
