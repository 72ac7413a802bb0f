"""The example on gradient estimators: each of them is what it says, and the exact one wins."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch
from torch import Generator, Tensor

import spantree as st
from tests.graphs import random_graphs
from tests.tolerances import assert_close

PATH = Path(__file__).resolve().parents[1] / "examples" / "gradient_estimators.py"


@pytest.fixture(scope="module")
def example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("gradient_estimators", PATH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def gradient(estimator, log_weights: Tensor, errors: Tensor, generator: Generator) -> Tensor:
    theta = log_weights.clone().requires_grad_()
    return torch.autograd.grad(estimator(theta, errors, generator), theta)[0]


@pytest.fixture(scope="module")
def problem() -> tuple[Tensor, Tensor]:
    log_weights = random_graphs((), 4, scale=0.5)
    return log_weights, random_graphs((), 4, scale=0.5, seed=1).square()


def test_the_score_function_is_unbiased(example, problem):
    """The mean of many estimates, against the exact gradient, within five standard errors."""
    log_weights, errors = problem
    estimator, generator = example.score_function(8), Generator().manual_seed(0)
    estimates = torch.stack(
        [gradient(estimator, log_weights, errors, generator) for _ in range(2000)]
    )
    exact = gradient(example.exact, log_weights, errors, generator)
    allowed = 5 * estimates.std(0) / len(estimates) ** 0.5
    assert ((estimates.mean(0) - exact).abs() <= allowed).all()
    assert estimates.std(0)[1:, 1:].max() > 0.01


def test_the_exact_gradient_is_that_of_the_expected_error(example, problem):
    log_weights, errors = problem
    theta = log_weights.clone().requires_grad_()
    d = st.SpanningTree(theta)
    trees = d.enumerate_support()
    expected = (d.log_prob(trees).exp() * errors[trees[:, 1:], torch.arange(1, 5)].sum(-1)).sum()
    (wanted,) = torch.autograd.grad(expected, theta)
    assert_close(gradient(example.exact, log_weights, errors, Generator()), wanted)


def test_perturb_and_map_goes_downhill(example, problem):
    """Biased, but not blind: in the mean it points the way of the exact gradient."""
    log_weights, errors = problem
    generator = Generator().manual_seed(0)
    mean = gradient(example.perturb_and_map(5000), log_weights, errors, generator)
    exact = gradient(example.exact, log_weights, errors, generator)
    assert torch.cosine_similarity(mean.flatten(), exact.flatten(), dim=0) > 0.8
    assert (mean - exact).abs().max() > 0.01


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_exact_gradient_wins(example, seed):
    tree = example.hidden_tree(8, Generator().manual_seed(seed))
    steps, generator = 40, lambda: Generator().manual_seed(seed + 1)
    exact, cosines = example.train(example.exact, tree, steps, generator())
    assert exact[-1] > 0.85
    assert_close(cosines.double(), torch.ones(steps, dtype=torch.float64), factor=1e6)
    for estimator in (example.score_function(8), example.perturb_and_map(8)):
        other, cosines = example.train(estimator, tree, steps, generator())
        assert exact[-1] > other[-1]
        assert exact.mean() > other.mean()
        assert cosines.mean() < 0.8


def test_the_script_runs():
    command = [sys.executable, str(PATH), "--steps", "8", "--nodes", "5", "--samples", "4"]
    out = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout
    assert out.startswith("expected share of right heads after 2, 4, 8 steps")
    for name in ("exact expectation", "score function, 4 samples", "perturb-and-MAP, 4 samples"):
        assert name in out
