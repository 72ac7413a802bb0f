"""What `spantree infer` prints and writes."""

import csv
import json
import math
import os

import networkx as nx
import numpy as np
import pyarrow.parquet
import pytest
import torch

from spantree.graphs import from_networkx, read_graph, write_graph
from tests.cli.command import EDGES, failure, run


def summary(*arguments) -> dict:
    result = run("infer", *arguments, "--json")
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    assert result.stdout.count("\n") == 1
    return json.loads(result.stdout)


def rows(path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t" if path.suffix == ".tsv" else ","))


def test_the_report_for_people(edges):
    result = run("infer", edges, "--topk", "2", "--samples", "1")
    assert result.exit_code == 0
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    for line in (
        "nodes 3, with the root",
        "edges 4, directed",
        "root s, with any number of edges from it",
        "log Z 2.07944154168",
        "trees 3, if every edge had weight 1",
        "entropy 1.08219553004 nats",
        "s a 0.75",
        "a b 0.375",
        "Best tree (probability 0.375)",
        "1. probability 0.375: s → a, s → b",
    ):
        assert line in lines
    assert lines.index("s a 0.75") < lines.index("a b 0.375")
    assert result.stderr == ""
    assert os.listdir(edges.parent) == ["edges.csv"]


def test_the_summary_for_programs(edges):
    found = summary(edges, "--topk", "5", "--samples", "4", "--seed", "7", "--show", "1")
    trees = {frozenset(["sa", "sb"]): 3, frozenset(["sa", "ab"]): 3, frozenset(["ba", "sb"]): 2}
    entropy = -sum(w / 8 * math.log(w / 8) for w in trees.values())
    assert found["nodes"] == 3
    assert found["edges"] == 4
    assert found["root"] == "s"
    assert found["log_partition"] == pytest.approx(math.log(8))
    assert found["entropy"] == pytest.approx(entropy)
    assert found["tree_count"] == 3
    assert found["log_tree_count"] == pytest.approx(math.log(3))
    assert found["most_certain"] == [{"source": "s", "target": "a", "probability": 0.75}]
    assert found["least_certain"][0]["probability"] == pytest.approx(0.375)
    best = {tuple(edge) for edge in found["best_tree"]["edges"]}
    assert best in ({("s", "a"), ("s", "b")}, {("s", "a"), ("a", "b")})
    assert found["best_tree"]["log_probability"] == pytest.approx(math.log(3 / 8))
    assert len(found["topk"]) == 3  # there are no more
    for tree in found["topk"]:
        key = frozenset("".join(edge) for edge in tree["edges"])
        assert tree["log_probability"] == pytest.approx(math.log(trees[key] / 8))
    graph = read_graph(edges)
    generator = torch.Generator().manual_seed(7)
    drawn = graph.distribution().sample((4,), generator)
    wanted = [{tuple(reversed(pair)) for pair in graph.name_tree(tree).items()} for tree in drawn]
    assert [set(map(tuple, sample)) for sample in found["samples"]] == wanted
    assert found["written"] == []


def test_single_root(edges):
    found = summary(edges, "--single-root")
    assert found["root_rule"] == "single"
    assert found["log_partition"] == pytest.approx(math.log(3 + 2))
    assert found["tree_count"] == 2


def test_undirected_agrees_with_networkx(tmp_path):
    network = nx.karate_club_graph()
    write_graph(tmp_path / "karate.graphml", from_networkx(network))
    found = summary(tmp_path / "karate.graphml")
    assert found["undirected"]
    assert found["edges"] == network.number_of_edges()
    count = nx.number_of_spanning_trees(network)
    assert found["tree_count"] == pytest.approx(count)
    weighted = nx.number_of_spanning_trees(network, weight="weight")
    assert found["log_partition"] == pytest.approx(math.log(weighted))
    edge = found["least_certain"][0]
    u, v = int(edge["source"]), int(edge["target"])
    resistance = nx.resistance_distance(network, u, v, "weight", invert_weight=False)
    assert edge["probability"] == pytest.approx(network.edges[u, v]["weight"] * resistance)
    other = summary(tmp_path / "karate.graphml", "--root", "33")
    assert other["root"] == "33"
    assert other["entropy"] == pytest.approx(found["entropy"])


def test_the_option_undirected(edges):
    edges.write_text("source,target,weight\na,b,1\nb,c,2\nc,a,3\n")
    found = summary(edges, "--undirected")
    assert found["log_partition"] == pytest.approx(math.log(2 + 6 + 3))
    assert summary(edges, "--undirected", "--root", "c")["tree_count"] == 3
    assert "depend on which node that is: name it with --root" in failure(
        "infer", edges, "--undirected", "--single-root"
    )
    assert summary(edges, "--undirected", "--single-root", "--root", "a")["tree_count"] == 2


def test_columns_weights_and_merging(tmp_path):
    path = tmp_path / "edges.tsv"
    path.write_text("from\tto\tscore\ns\ta\t0\ns\ta\t0\na\tb\t1\n")
    columns = (path, "--source", "from", "--target", "to")
    assert summary(*columns, "--log-weight", "score", "--merge", "sum")[
        "log_partition"
    ] == pytest.approx(math.log(2) + 1)
    assert summary(*columns, "--log-weight", "score", "--merge", "max")[
        "log_partition"
    ] == pytest.approx(1)
    assert summary(*columns, "--unweighted", "--merge", "max")["log_partition"] == 0
    assert "no column 'weight'" in failure("infer", *columns)


def test_what_is_left_out_is_noted(edges):
    edges.write_text(EDGES + "a,a,1\na,s,1\nb,s,1\nz,z,0\ns,z,1\nz,a,0\n")
    result = run("infer", edges, "--root", "s")
    assert result.exit_code == 0
    assert result.stderr == (
        "note: 2 self-loops, 2 edges into the root, 1 edge of weight 0 ignored, which no tree has\n"
    )
    assert run("infer", edges, "--root", "s", "--quiet").stderr == ""
    assert summary(edges, "--root", "s")["ignored"] == {
        "self_loops": 2,
        "into_root": 2,
        "zero_weight": 1,
    }


@pytest.mark.parametrize("extension", ["csv", "tsv", "parquet", "graphml", "json", "npz"])
def test_a_file_has_the_edges(edges, extension):
    out = edges.parent / f"out.{extension}"
    result = run("infer", edges, "--out", out)
    assert result.exit_code == 0, result.output
    assert f"wrote {out}" in result.stdout
    assert sorted(os.listdir(edges.parent)) == sorted(["edges.csv", out.name])
    if extension in ("csv", "tsv"):
        found = {(r["source"], r["target"]): float(r["probability"]) for r in rows(out)}
        assert [r["in_best_tree"] for r in rows(out)].count("True") == 2
    elif extension == "parquet":
        table = pyarrow.parquet.read_table(out).to_pylist()
        found = {(r["source"], r["target"]): r["probability"] for r in table}
    elif extension == "graphml":
        network = nx.read_graphml(out)
        found = {(u, v): p for u, v, p in network.edges(data="probability")}
        assert sum(inside for _, _, inside in network.edges(data="in_best_tree")) == 2
    elif extension == "json":
        table = json.loads(out.read_text())["marginals"]
        found = dict(
            zip(zip(table["source"], table["target"], strict=True), table["probability"],
                strict=True)
        )  # fmt: skip
    else:
        arrays = np.load(out)
        names = arrays["names"]
        found = {
            (names[i], names[j]): arrays["marginals"][i, j]
            for i, j in zip(*arrays["marginals"].nonzero(), strict=True)
        }
    graph = read_graph(edges)
    assert found == pytest.approx(graph.edges(graph.distribution().marginals))


@pytest.mark.parametrize("extension", ["csv", "tsv", "parquet", "json"])
def test_a_folder_has_a_table_for_each_question(edges, extension):
    out = edges.parent / "out"
    options = ("--topk", "2", "--samples", "3", "--format", extension)
    assert run("infer", edges, "--out", out, *options).exit_code == 0
    tables = ("best_tree", "marginals", "samples", "topk")
    assert sorted(os.listdir(out)) == sorted(
        {*(f"{name}.{extension}" for name in tables), "summary.json"}
    )
    assert sorted(os.listdir(edges.parent)) == ["edges.csv", "out"]

    def column(table: str, name: str) -> list:
        path = out / f"{table}.{extension}"
        if extension == "json":
            return json.loads(path.read_text())[name]
        if extension == "parquet":
            return pyarrow.parquet.read_table(path)[name].to_pylist()
        return [row[name] for row in rows(path)]

    found = json.loads((out / "summary.json").read_text())
    pairs = list(zip(column("best_tree", "source"), column("best_tree", "target"), strict=True))
    assert pairs == [tuple(edge) for edge in found["best_tree"]["edges"]]
    graph = read_graph(edges)
    probability = graph.edges(graph.distribution().marginals)
    assert list(map(float, column("best_tree", "probability"))) == pytest.approx(
        [probability[pair] for pair in pairs]
    )
    assert list(map(int, column("topk", "rank"))) == [1, 1, 2, 2]
    top = [tree["log_probability"] for tree in found["topk"]]
    assert list(map(float, column("topk", "log_probability"))) == [top[0]] * 2 + [top[1]] * 2
    assert list(map(int, column("samples", "sample"))) == [1, 1, 2, 2, 3, 3]
    drawn = list(zip(column("samples", "source"), column("samples", "target"), strict=True))
    assert drawn == [tuple(edge) for tree in found["samples"] for edge in tree]


def test_a_folder_of_graphml_has_a_file_for_each_tree(edges):
    out = edges.parent / "out"
    options = ("--topk", "2", "--samples", "10", "--format", "graphml")
    assert run("infer", edges, "--out", out, *options).exit_code == 0
    assert {"marginals.graphml", "best_tree.graphml", "topk-2.graphml", "samples-01.graphml"} < set(
        os.listdir(out)
    )
    assert nx.is_arborescence(nx.read_graphml(out / "samples-10.graphml"))


def test_a_folder_of_npz_has_everything_in_one(edges):
    out = edges.parent / "out"
    options = ("--topk", "2", "--samples", "3", "--format", "npz")
    assert run("infer", edges, "--out", out, *options).exit_code == 0
    assert sorted(os.listdir(out)) == ["findings.npz", "summary.json"]
    arrays = np.load(out / "findings.npz")
    assert arrays["topk"].shape == (2, 3)
    assert arrays["samples"].shape == (3, 3)
    assert arrays["entropy"] == pytest.approx(1.08219553)
    assert read_graph(out / "findings.npz").edge_count == 4


def test_undirected_probabilities_in_a_table(edges):
    edges.write_text("source,target,weight\na,b,1\nb,c,2\nc,a,3\n")
    out = edges.parent / "out"
    assert run("infer", edges, "--undirected", "--out", out).exit_code == 0
    found = {frozenset((r["source"], r["target"])): r for r in rows(out / "marginals.csv")}
    assert float(found[frozenset("ab")]["probability"]) == pytest.approx((2 + 3) / 11)
    assert float(found[frozenset("bc")]["probability"]) == pytest.approx((2 + 6) / 11)
    best = {frozenset((r["source"], r["target"])): r for r in rows(out / "best_tree.csv")}
    assert set(best) == {frozenset("bc"), frozenset("ac")}
    assert float(best[frozenset("bc")]["probability"]) == pytest.approx((2 + 6) / 11)


def test_a_large_tree_is_not_printed(tmp_path):
    network = nx.path_graph(100)
    path = tmp_path / "path.graphml"
    write_graph(path, from_networkx(network))
    result = run("infer", path, "--samples", "1")
    assert "99 edges; --out or --json has them" in result.stdout


def test_many_trees_are_counted_in_words(tmp_path):
    write_graph(tmp_path / "k.graphml", from_networkx(nx.complete_graph(40)))
    assert "≈ 7.5558·10^60, if every edge" in run("infer", tmp_path / "k.graphml").stdout
    assert summary(tmp_path / "k.graphml")["tree_count"] == 40**38


def test_names_are_no_markup(edges):
    edges.write_text("source,target,weight\n[red]s,[bold]a[/bold],1\n")
    result = run("infer", edges)
    assert result.exit_code == 0
    assert "[red]s → [bold]a[/bold]" in result.stdout


def test_help_teaches(edges):
    result = run("infer", "--help")
    assert result.exit_code == 0
    assert "spantree infer contacts.csv --source from --target to --weight rate" in result.stdout
    for option in ("--out", "--format", "--topk", "--samples", "--seed", "--root", "--single-root",
                   "--undirected", "--json", "--merge", "--log-weight", "--quiet"):  # fmt: skip
        assert option in result.stdout
    assert "infer" in run().stdout
