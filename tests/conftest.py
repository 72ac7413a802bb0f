"""Options and fixtures that every test shares."""

from collections.abc import Iterator

import hypothesis
import pytest
import torch
from torch.distributions import Distribution

# The same examples on every run, so that a change is judged by what it changed;
# `pytest --hypothesis-profile=explore` looks further.
hypothesis.settings.register_profile(
    "repeatable", deadline=None, derandomize=True, max_examples=100
)
hypothesis.settings.register_profile("explore", deadline=None, max_examples=1000)
hypothesis.settings.load_profile("repeatable")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--device", default="cpu", help="device of the tensors, e.g. cuda")
    parser.addoption(
        "--dtype",
        default="float64",
        choices=["float64", "float32", "bfloat16", "float16"],
        help="dtype of the tensors, where a test does not choose its own",
    )


@pytest.fixture(autouse=True)
def validation() -> Iterator[None]:
    """Validate by default: the first use of torch.compile in a process switches that off."""
    Distribution.set_default_validate_args(__debug__)
    yield
    Distribution.set_default_validate_args(__debug__)


@pytest.fixture(scope="session")
def device(request: pytest.FixtureRequest) -> torch.device:
    return torch.device(request.config.getoption("--device"))


@pytest.fixture(scope="session")
def dtype(request: pytest.FixtureRequest) -> torch.dtype:
    return getattr(torch, request.config.getoption("--dtype"))


@pytest.fixture(scope="session", params=["single", "multi"])
def root(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="session", params=["native", "torch"])
def backend(request: pytest.FixtureRequest, device: torch.device) -> str:
    if request.param == "native" and device.type != "cpu":
        pytest.skip("the native kernel runs on the CPU")
    return request.param


@pytest.fixture(params=[1, 2], ids=["1-thread", "2-threads"])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)
