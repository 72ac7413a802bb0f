"""What the tests of the command share."""

from pathlib import Path

import pytest

from tests.cli.command import EDGES


@pytest.fixture
def edges(tmp_path: Path) -> Path:
    """A small table of edges."""
    path = tmp_path / "edges.csv"
    path.write_text(EDGES)
    return path
