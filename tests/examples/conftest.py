"""The examples, each run once in a folder of its own."""

import os
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib
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


def names_of(script: str, folder: Path) -> dict[str, Any]:
    """The global names of an example after it has run in a folder."""
    before, dtype = Path.cwd(), torch.get_default_dtype()
    matplotlib.use("Agg")
    os.chdir(folder)
    try:
        return runpy.run_path(str(EXAMPLES / script))
    finally:
        os.chdir(before)
        torch.set_default_dtype(dtype)
        matplotlib.pyplot.close("all")


@pytest.fixture(scope="session")
def outbreak(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return names_of("outbreak.py", tmp_path_factory.mktemp("outbreak"))


@pytest.fixture(scope="session")
def clone_tree(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return names_of("clone_tree.py", tmp_path_factory.mktemp("clone_tree"))
