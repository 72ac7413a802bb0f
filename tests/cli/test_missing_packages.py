"""Optional packages that are not there: one line with the command that installs them."""

import os
import sys
from pathlib import Path

import pytest

from tests.cli.command import failure, run

OPTIONAL = ("networkx", "scipy", "scipy.sparse", "pyarrow", "pyarrow.parquet", "pandas", "polars")


@pytest.fixture
def edges(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "edges.csv"
    path.write_text("source,target,weight\ns,a,3\ns,b,1\na,b,1\nb,a,2\n")
    return path


@pytest.fixture
def without(monkeypatch):
    """Makes modules as good as not installed."""

    def hide(*modules: str) -> None:
        for module in modules:
            monkeypatch.setitem(sys.modules, module, None)

    return hide


@pytest.mark.parametrize(
    ("file", "options", "message"),
    [
        ("g.graphml", [], "networkx is needed to read GraphML"),
        ("g.parquet", [], "pyarrow is needed to read Parquet"),
        ("edges.csv", ["--out", "o.parquet"], "pyarrow is needed to write Parquet"),
        ("edges.csv", ["--out", "o", "--format", "parquet"], "pyarrow is needed to write Parquet"),
    ],
)
def test_what_needs_one_says_so(edges, without, file, options, message):
    if file != "edges.csv":
        (edges.parent / file).write_text("something")
    before = sorted(os.listdir(edges.parent))
    without(*OPTIONAL)
    assert failure("infer", file, *options) == f"{message}: pip install 'spantree[graphs]'"
    assert sorted(os.listdir(edges.parent)) == before


def test_other_formats_need_none(edges, without):
    without(*OPTIONAL)
    for out in ("o.csv", "o.tsv", "o.json", "o.npz", "o.graphml"):
        assert run("infer", edges, "--out", out).exit_code == 0
    result = run("infer", "o.npz")
    assert result.exit_code == 0
    assert "2.07944154168" in result.stdout
