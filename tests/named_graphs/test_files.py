"""Graphs in files: what is written reads back; what is malformed is said where."""

import gzip
import os

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
import scipy.sparse
import torch

import spantree.graphs.writing as writing
from spantree.graphs import (
    GraphError,
    NamedGraph,
    from_table,
    read_graph,
    write_graph,
    write_table,
)
from spantree.graphs.staging import staged, staged_folder
from tests.graphs import random_graphs

NAMES = ("root", "ä, b", 'say "x"', "new\nline", "tab\there", "'=1")
READABLE = ("csv", "tsv", "parquet", "graphml", "npz")


@pytest.mark.parametrize("extension", READABLE)
def test_what_is_written_reads_back(tmp_path, extension):
    graph = NamedGraph(random_graphs((), 5, forbidden=0.4, scale=300.0), NAMES)
    d = graph.distribution()
    path = tmp_path / f"graph.{extension}"
    write_graph(path, graph, marginals=d.marginals, heads=d.mode)
    back = read_graph(path, log_weight="log_weight", root="root")
    assert set(back.names) == set(NAMES)
    assert back.edges(back.log_weights) == graph.edges(graph.log_weights)
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize("extension", READABLE)
def test_undirected_graphs_read_back(tmp_path, extension):
    table = {"source": "abcd", "target": "bcda", "weight": [1.0, 2.0, 3.0, 4.0]}
    graph = from_table(table, undirected=True)
    path = tmp_path / f"graph.{extension}"
    write_graph(path, graph)
    says_itself = extension in ("graphml", "npz")
    back = read_graph(path, undirected=None if says_itself else True)
    assert back.undirected
    assert back.edge_table() == graph.edge_table()


@pytest.mark.parametrize("extension", ["parquet", "npz"])
def test_names_that_are_numbers_stay_numbers(tmp_path, extension):
    graph = NamedGraph(random_graphs((), 3), (10, 11, 12, 13))
    path = tmp_path / f"graph.{extension}"
    write_graph(path, graph)
    assert read_graph(path, root="10").names == graph.names
    assert read_graph(path, root=10).names == graph.names


def test_names_of_several_types_become_text(tmp_path):
    graph = NamedGraph(random_graphs((), 2), ("r", 1, (2, 3)))
    for extension in READABLE:
        path = tmp_path / f"graph.{extension}"
        write_graph(path, graph)
        assert set(read_graph(path, root="r").names) == {"r", "1", "(2, 3)"}


def test_sparse_and_plain_matrices(tmp_path):
    matrix = np.array([[0, 3.0, 1], [0, 0, 1], [0, 2, 0]])
    scipy.sparse.save_npz(tmp_path / "sparse.npz", scipy.sparse.csr_array(matrix))
    np.savez(tmp_path / "plain.npz", weights=matrix, names=["s", "a", "b"])
    assert read_graph(tmp_path / "sparse.npz").names == (0, 1, 2)
    plain = read_graph(tmp_path / "plain.npz")
    assert plain.names == ("s", "a", "b")
    np.testing.assert_allclose(plain.log_weights.exp().numpy(), matrix)
    assert read_graph(tmp_path / "plain.npz", root="b").root == "b"


GRAPHML = """<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="d0" for="edge" attr.name="{name}" attr.type="double"/>
  <graph edgedefault="directed">
    <node id="r"/><node id="a"/><node id="b"/>
    <edge id="e0" source="r" target="a">{value}</edge>
    <edge id="e1" source="a" target="b">{value}</edge>
    {more}
  </graph>
</graphml>
"""


def test_graphml_of_other_programs(tmp_path):
    path = tmp_path / "graph.graphml"
    path.write_text(GRAPHML.format(name="weight", value='<data key="d0">2.5</data>', more=""))
    assert read_graph(path).edge_table()["weight"] == pytest.approx([2.5, 2.5])
    path.write_text(GRAPHML.format(name="Weight", value='<data key="d0">2.5</data>', more=""))
    with pytest.raises(GraphError, match="has no attribute 'weight'; edges have 'Weight'; name"):
        read_graph(path)
    path.write_text(GRAPHML.format(name="weight", value="", more=""))
    assert read_graph(path).edge_table()["weight"] == [1.0, 1.0]
    path.write_text(GRAPHML.format(name="weight", value="", more='<edge source="r" target="a"/>'))
    with pytest.raises(GraphError, match="edge 2: the edge 'r' -> 'a' repeats that of edge 1"):
        read_graph(path)
    assert read_graph(path, merge="sum").edge_table()["weight"] == pytest.approx([2.0, 1.0])
    assert read_graph(path, merge="max", undirected=True).undirected


def test_csv_as_people_write_it(tmp_path):
    path = tmp_path / "edges.csv"
    path.write_bytes(b'\xef\xbb\xbfsource, target, note, weight\r\n\r\nr, "a, b", x, 2\r\n'
                     b'"a, b", c, "two\nlines", 1e-3\r\n\r\n')  # fmt: skip
    graph = read_graph(path)
    assert graph.names == ("r", "a, b", "c")
    assert graph.edge_table()["weight"] == pytest.approx([2.0, 1e-3])


def test_reading_and_writing_report_their_progress(tmp_path):
    n = 200
    log_weights = random_graphs((), n - 1)
    graph = NamedGraph(log_weights, tuple(f"n{i}" for i in range(n)))
    table = graph.edge_table()
    for extension in ("csv", "parquet"):
        path = tmp_path / f"edges.{extension}"
        shares: list[float] = []
        write_table(path, table, progress=shares.append)
        if extension == "csv":
            assert shares == sorted(shares)
            assert shares[-1] == 1.0
            assert len(shares) > 1
        shares.clear()
        read_graph(path, progress=shares.append)
        assert shares
        assert shares == sorted(shares)
        assert 0 < shares[-1] <= 1


HEAD = b"source,target,weight\n"
MALFORMED = {
    "empty file": (b"", "the file is empty"),
    "blank lines": (b"\n\n", "the file is empty"),
    "no rows": (HEAD, "the table has no edges"),
    "no weight": (b"source,target,wait\ns,a,1\n", r"no column 'weight'; .*source, target, wait"),
    "semicolons": (b"source;target;weight\ns;a;1\n", "no column 'source'; there are 'source;tar"),
    "ragged": (HEAD + b"s,a,1\ns,b\n", "line 3: 2 fields, where the first line has 3"),
    "too many": (HEAD + b"s,a,1\ns,b,1,2\n", "line 3: 4 fields, where the first line has 3"),
    "text": (HEAD + b"s,a,1\ns,b,x\n", "line 3: .* weight of 's' -> 'b' must be a number, got 'x'"),
    "no number": (HEAD + b"s,a,\n", "line 2: the weight of 's' -> 'a' must be a number, got ''"),
    "negative": (HEAD + b"s,a,-1\n", "line 2: .* must be a finite number >= 0, got -1"),
    "nan": (HEAD + b"s,a,nan\n", "line 2: .* must be a finite number >= 0, got nan"),
    "duplicate": (
        HEAD + b"s,a,1\n\ns,b,1\ns,a,1\n",
        "line 5: the edge 's' -> 'a' repeats that of line 2",
    ),
    "no source": (HEAD + b"s,a,1\n,b,2\n", "line 3: the source is missing"),
    "not UTF-8": (HEAD + b"s,a,1\ns,b\xe9,1\n", "line 3: the file must be UTF-8, found byte 0xe9"),
    "UTF-16": ("source,target\n".encode("utf-16"), "line 1: the file must be UTF-8, found byte 0x"),
    "quotes": (HEAD + b's,a,1\ns,"b,1\n', "line 3: unexpected end of data"),
    "a large field": (HEAD + b"s,a,1\ns," + b"b" * 200_000 + b",1\n", "line 3: field larger than"),
    "compressed": (gzip.compress(HEAD), "line 1: the file must be UTF-8"),
}  # fmt: skip


@pytest.mark.parametrize("case", MALFORMED)
def test_malformed_csv(tmp_path, case):
    content, message = MALFORMED[case]
    path = tmp_path / "edges.csv"
    path.write_bytes(content)
    with pytest.raises(GraphError, match=message) as caught:
        read_graph(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("extension", ["parquet", "graphml", "npz"])
@pytest.mark.parametrize("content", [b"nonsense", b"PAR1nonsensePAR1", b"<graphml><graph>", b"PK"])
def test_unreadable_files(tmp_path, extension, content):
    path = tmp_path / f"graph.{extension}"
    path.write_bytes(content)
    kind = {"parquet": "Parquet", "graphml": "GraphML", "npz": "NPZ"}[extension]
    with pytest.raises(GraphError, match=f"the file is not readable as {kind}: ") as caught:
        read_graph(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("extension", READABLE)
def test_truncated_files(tmp_path, extension):
    graph = NamedGraph(random_graphs((), 30), tuple(f"n{i}" for i in range(31)))
    path = tmp_path / f"graph.{extension}"
    write_graph(path, graph)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2 - 2])
    with pytest.raises(GraphError):
        read_graph(path)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"w": np.eye(2)}, "must hold 'weights', 'log_weights' or a sparse matrix .* found 'w'"),
        ({"weights": np.ones((2, 3))}, r"weights must be a square matrix, got shape \(2, 3\)"),
        ({"weights": np.ones((2, 2)), "names": ["a"]}, r"names must have shape \(2,\) like"),
        ({"weights": np.array([[0, "x"], [0, 0]], dtype=object)}, "not readable as NPZ: Object"),
        ({"weights": np.array([["a", "b"], ["a", "b"]])}, "weights must hold numbers"),
    ],
)
def test_npz_files_that_hold_something_else(tmp_path, arrays, message):
    np.savez(tmp_path / "graph.npz", **arrays)
    with pytest.raises(ValueError, match=message):
        read_graph(tmp_path / "graph.npz")


def test_a_single_array_is_no_archive(tmp_path):
    with (tmp_path / "graph.npz").open("wb") as file:
        np.save(file, np.eye(2))
    with pytest.raises(GraphError, match="it holds a single array"):
        read_graph(tmp_path / "graph.npz")


def test_parquet_without_the_column_or_with_gaps(tmp_path):
    path = tmp_path / "edges.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"source": ["s"], "target": ["a"], "w": [1]}), path)
    with pytest.raises(GraphError, match=r"no column 'weight'.* source, target, w|there are"):
        read_graph(path)
    rows = {"source": ["s", None], "target": ["a", "b"], "weight": [1, 2]}
    pyarrow.parquet.write_table(pyarrow.table(rows), path)
    with pytest.raises(GraphError, match="row 2: the source is missing"):
        read_graph(path)
    pyarrow.parquet.write_table(pyarrow.table({"source": ["s"]}).slice(0, 0), path)
    with pytest.raises(GraphError, match="no column 'target'"):
        read_graph(path)


def test_paths_that_lead_nowhere(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no file .*nothing\.csv"):
        read_graph(tmp_path / "nothing.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(IsADirectoryError, match=r"folder\.csv is a directory, not a graph"):
        read_graph(tmp_path / "folder.csv")
    with pytest.raises(
        GraphError,
        match=r"extension '.xlsx'; those that can are .csv, .tsv, .parquet, .graphml, .npz",
    ):
        read_graph(tmp_path / "edges.xlsx")
    with pytest.raises(GraphError, match=r"a table cannot be written .* extension '.txt'"):
        write_table(tmp_path / "edges.txt", {"a": [1]})
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*deep to write a\.csv to"):
        write_table(tmp_path / "deep" / "a.csv", {"a": [1]})
    with pytest.raises(IsADirectoryError, match=r"folder\.csv is a directory, not a file to be"):
        write_table(tmp_path / "folder.csv", {"a": [1]})
    (tmp_path / "file").touch()
    with pytest.raises(FileExistsError, match="file is a file, not a folder"), staged_folder(
        tmp_path / "file"
    ):  # fmt: skip
        pass


def test_names_that_graphml_cannot_hold(tmp_path):
    for names, message in (
        ("ra\0", "the name '.x00' has a character that GraphML cannot hold"),
        (("r", 1, "1"), "names must be different as text"),
    ):
        graph = NamedGraph(random_graphs((), 2), tuple(names))
        with pytest.raises(GraphError, match=message):
            write_graph(tmp_path / "graph.graphml", graph)
    assert os.listdir(tmp_path) == []


def test_an_infinite_weight_is_null_in_json(tmp_path):
    graph = from_table({"source": "ra", "target": "ab", "score": [1e4, 0.0]}, log_weight="score")
    write_graph(tmp_path / "graph.json", graph)
    assert (tmp_path / "graph.json").read_text().count("null") == 1


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_nothing_is_left_of_a_file_that_fails(tmp_path, error):
    path = tmp_path / "out.csv"
    path.write_text("before")

    def fail() -> None:
        with staged(path) as partial:
            partial.write_text("half")
            raise error

    with pytest.raises(error):
        fail()
    assert os.listdir(tmp_path) == ["out.csv"]
    assert path.read_text() == "before"


@pytest.mark.parametrize("exists", [True, False])
def test_nothing_is_left_of_a_folder_that_fails(tmp_path, exists):
    folder = tmp_path / "out"
    if exists:
        folder.mkdir()
        (folder / "a").write_text("before")

    def fail() -> None:
        with staged_folder(folder) as partial:
            (partial / "a").write_text("after")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert os.listdir(tmp_path) == (["out"] if exists else [])
    assert not exists or (folder / "a").read_text() == "before"


def test_a_folder_that_is_there_keeps_its_other_files(tmp_path):
    (tmp_path / "a").write_text("before")
    (tmp_path / "b").write_text("mine")
    with staged_folder(tmp_path) as partial:
        (partial / "a").write_text("after")
    assert (tmp_path / "a").read_text() == "after"
    assert (tmp_path / "b").read_text() == "mine"


def test_a_writer_that_fails_leaves_nothing(tmp_path, monkeypatch):
    def fail(*_: object, **__: object) -> None:
        raise OSError("no space left")

    graph = NamedGraph(random_graphs((), 2), ("r", "a", "b"))
    monkeypatch.setattr(writing.np, "savez_compressed", fail)
    with pytest.raises(OSError, match="no space left"):
        write_graph(tmp_path / "graph.npz", graph, heads=torch.tensor([-1, 0, 0]))
    assert os.listdir(tmp_path) == []
