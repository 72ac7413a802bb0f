"""The examples, each run once in a folder of its own."""

import os
import runpy
import warnings
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib.pyplot
import pytest
import torch

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture(autouse=True)
def double_precision() -> Iterator[None]:
    """The examples work in float64 throughout, and so do the tests that call their functions."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


class Run(NamedTuple):
    """What an example leaves behind: its global names, what it printed, and a folder."""

    names: dict[str, Any]
    printed: str
    folder: Path


def run(script: str, folder: Path) -> Run:
    """Run an example in a folder; a warning is an error."""
    before, dtype = Path.cwd(), torch.get_default_dtype()
    matplotlib.use("Agg")
    os.chdir(folder)
    try:
        with redirect_stdout(StringIO()) as printed, warnings.catch_warnings():
            warnings.simplefilter("error")
            names = runpy.run_path(str(EXAMPLES / script), run_name="__main__")
    finally:
        os.chdir(before)
        torch.set_default_dtype(dtype)
        matplotlib.pyplot.close("all")
    return Run(names, printed.getvalue(), folder)


@pytest.fixture(scope="session")
def outbreak_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return run("outbreak.py", tmp_path_factory.mktemp("outbreak"))


@pytest.fixture(scope="session")
def clone_tree_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return run("clone_tree.py", tmp_path_factory.mktemp("clone_tree"))


@pytest.fixture
def outbreak(outbreak_run: Run) -> dict[str, Any]:
    return outbreak_run.names


@pytest.fixture
def clone_tree(clone_tree_run: Run) -> dict[str, Any]:
    return clone_tree_run.names
