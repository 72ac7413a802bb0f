"""A large table goes through in bounded time and memory; see benchmarks/large_graph.py."""

import pytest

from benchmarks.large_graph import TREES, make_table, measure


@pytest.mark.slow
@pytest.mark.parametrize("extension", ["parquet", "csv"])
def test_a_hundred_thousand_edges(tmp_path, extension):
    make_table(tmp_path / f"edges.{extension}", nodes=600, edges=100_000)
    options = ("--out", "out", "--format", extension, *TREES)
    seconds, gigabytes = measure(tmp_path, f"edges.{extension}", options)
    assert seconds < 60
    assert gigabytes < 1
    assert (tmp_path / "out" / f"marginals.{extension}").exists()
