"""The graphs of the demonstration: made as documented, and of interest."""

import csv
from importlib.resources import files

import pytest
import torch

import spantree as st
from tools.demo_data import outbreak_rows


def rows_of(name):
    text = (files("spantree.demo") / "data" / f"{name}.csv").read_text("utf-8")
    return list(csv.DictReader(text.splitlines()))


def distribution_of(name, root_name, root):
    rows = rows_of(name)
    names = [root_name, *dict.fromkeys(row["target"] for row in rows)]
    log_weights = torch.full((len(names), len(names)), -torch.inf)
    for row in rows:
        edge = names.index(row["source"]), names.index(row["target"])
        assert log_weights[edge] == -torch.inf, f"{row} stands there twice"
        log_weights[edge] = float(row["log_weight"])
    return names, st.SpanningTree(log_weights, root=root)


def test_outbreak_is_what_the_simulator_gives(outbreak):
    rows = outbreak_rows(outbreak)
    stored = rows_of("outbreak")
    assert [(r["source"], r["target"]) for r in stored] == [row[:2] for row in rows]
    weights = [float(r["log_weight"]) for r in stored]
    assert weights == pytest.approx([float(row[2]) for row in rows], abs=0.0011)


def test_outbreak_has_certain_and_uncertain_infectors_introductions_and_cycles():
    names, posterior = distribution_of("outbreak", "outside", "multi")
    probability = posterior.marginals
    assert len(names) == 13
    assert probability[0].sum() > 1.5
    assert (probability[:, 1:].amax(0) > 0.9).sum() >= 3
    assert (probability[:, 1:].amax(0) < 0.6).sum() >= 3
    either = torch.minimum(probability, probability.T)
    assert (either > 0.3).any()  # two who may each have infected the other


def test_sentence_has_an_ambiguous_attachment():
    names, parse = distribution_of("sentence", "ROOT", "single")
    assert len(names) == 10
    assert len(rows_of("sentence")) == 81
    probability = parse.marginals[:, names.index("camera")]
    for head in ("photographed", "hikers", "with"):
        assert probability[names.index(head)] > 0.2
    best = parse.mode
    assert names[int(best[names.index("photographed")])] == "ROOT"
    # The two like each other best, which no tree can grant: there a determinant loses its digits.
    favourite = parse.log_weights[:, 1:].argmax(0)
    assert names[int(favourite[names.index("camera") - 1])] == "with"
    assert names[int(favourite[names.index("with") - 1])] == "camera"
