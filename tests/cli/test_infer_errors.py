"""Whatever is wrong is said in one line, with exit code 2, and nothing is written."""

import os

import pytest

from tests.cli.command import EDGES, failure, run

HEAD = "source,target,weight\n"
CASES = {
    "missing column": (
        "source,target,rate\ns,a,1\n",
        (),
        "no column 'weight'; there are 'source', 'target', 'rate'; name the column with --weight "
        "COLUMN or --log-weight COLUMN, or give every edge weight 1 with --unweighted",
    ),
    "a column that is almost right": (
        EDGES,
        ("--source", "sorce"),
        "no column 'sorce'; did you mean 'source'? (there are source, target, weight); name the "
        "column with --source COLUMN",
    ),
    "duplicate edges": (
        EDGES + "s,a,1\n",
        (),
        "line 6: the edge 's' -> 'a' repeats that of line 2; merge duplicate edges with --merge "
        "sum or --merge max",
    ),
    "negative weight": (
        HEAD + "s,a,-2\n",
        (),
        "line 2: the weight of 's' -> 'a' must be a finite number >= 0, got -2",
    ),
    "NaN": (
        HEAD + "s,a,nan\n",
        (),
        "line 2: the weight of 's' -> 'a' must be a finite number >= 0, got nan",
    ),
    "no number": (
        HEAD + "s,a,1\ns,b,heavy\n",
        (),
        "line 3: the weight of 's' -> 'b' must be a number, got 'heavy'",
    ),
    "unknown root": (
        HEAD + "alice,bob,1\nalice,carol,1\n",
        ("--root", "alcie"),
        "no node is called 'alcie'; did you mean 'alice'?",
    ),
    "a root that is not clear": (
        HEAD + "p,a,1\nq,a,1\n",
        (),
        "the root is not clear: 2 nodes have no incoming edge, 'p', 'q'; name one with --root "
        "NODE, or add a root node with an edge to each",
    ),
    "unreachable nodes": (
        EDGES + "x,y,1\ny,x,1\n",
        ("--root", "s"),
        "no spanning tree exists: 2 of 4 nodes cannot be reached from the root 's': 'x', 'y'",
    ),
    "no tree with a single root": (
        HEAD + "s,a,1\ns,b,1\n",
        ("--single-root",),
        "no spanning tree with a single edge from the root 's' exists: without the root no node "
        "reaches all others; 'b', for one, does not reach 'a'; leave out --single-root to allow "
        "several",
    ),
    "empty file": ("", (), "the file is empty"),
    "not UTF-8": (
        b"source,target,weight\ncaf\xe9,a,1\n",
        (),
        "line 2: the file must be UTF-8, found byte 0xe9",
    ),
    "ragged line": (HEAD + "s,a\n", (), "line 2: 2 fields, where the first line has 3"),
    "self-loops only": (HEAD + "s,s,1\n", (), "a graph must have a root and another node, got 1 "
                                              "node(s)"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_malformed_tables(tmp_path, case):
    content, options, message = CASES[case]
    path = tmp_path / "edges.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    line = failure("infer", path, *options, "--out", tmp_path / "out")
    assert line == f"{path}: {message}"
    assert os.listdir(tmp_path) == ["edges.csv"]


@pytest.mark.parametrize("extension", ["parquet", "graphml", "npz"])
def test_unreadable_files(tmp_path, extension):
    path = tmp_path / f"graph.{extension}"
    path.write_bytes(b"\x00nonsense")
    assert f"{path}: the file is not readable as " in failure("infer", path)


def test_paths(tmp_path):
    assert failure("infer", tmp_path / "no.csv") == f"there is no file {tmp_path / 'no.csv'}"
    assert failure("infer", tmp_path).endswith("is a directory, not a graph")
    (tmp_path / "edges.xls").write_text(EDGES)
    assert "extension '.xls'; those that can are .csv, .tsv" in failure(
        "infer", tmp_path / "edges.xls"
    )
    (tmp_path / "edges").write_text(EDGES)
    assert "extension ''; those that can" in failure("infer", tmp_path / "edges")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--frobnicate",), "No such option: --frobnicate"),
        (("--merge", "min"), "Invalid value for '--merge'"),
        (("--format", "xls", "--out", "x"), "Invalid value for '--format'"),
        (("--topk", "-1"), "Invalid value for '--topk'"),
        (("--samples", "many"), "Invalid value for '--samples'"),
        (("--weight", "weight", "--log-weight", "weight"), "--weight excludes --log-weight"),
        (("--unweighted", "--log-weight", "weight"), "--log-weight excludes --unweighted"),
        (("--format", "csv"), "--format needs --out"),
        (("--out", "edges.csv", "--format", "json"), "edges.csv is not a json file"),
        (("--out", "no/such/folder"), "there is no folder no/such to write folder in"),
        (("--out", "best.csv", "--topk", "3"), "best.csv can hold the table of edges only"),
        (("--out", "best.graphml", "--samples", "3"), "k best trees and samples need a folder"),
    ],
)
def test_options(edges, monkeypatch, options, message):
    monkeypatch.chdir(edges.parent)
    assert message in failure("infer", edges, *options)
    assert os.listdir(edges.parent) == ["edges.csv"]


def test_a_file_in_the_place_of_the_folder(edges):
    (edges.parent / "taken").write_text("mine")
    assert "taken is a file, not a folder" in failure(
        "infer", edges, "--out", edges.parent / "taken"
    )
    assert (edges.parent / "taken").read_text() == "mine"


def test_usage():
    assert failure("infer") == "Missing argument 'GRAPH'. (see spantree infer --help)"
    assert failure("infre").startswith("No such command 'infre'.")


def test_a_failure_of_ours_is_no_message(edges, monkeypatch):
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr("spantree.cli.infer.find", fail)
    result = run("infer", edges)
    assert isinstance(result.exception, RuntimeError)
    monkeypatch.setattr("spantree.cli.infer.find", _out_of_memory)
    assert failure("infer", edges).startswith("not enough memory")


def _out_of_memory(*_: object, **__: object) -> None:
    raise RuntimeError("DefaultCPUAllocator: can't allocate memory: not enough memory")
