"""The demonstration runs from what is embedded, says what it should, and leaves its pictures."""

import re
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from spantree.cli import demo
from spantree.cli.app import app
from spantree.demo.race import Lap


@pytest.fixture
def quick(monkeypatch):
    """The race is measured, but for tiny graphs only."""
    monkeypatch.setattr(demo, "SIZES", (3, 4))


@pytest.fixture
def shown(quick, tmp_path):
    result = CliRunner().invoke(app, ["demo", "--out", str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    return result.output, tmp_path / "out"


def test_it_tells_of_both_graphs(shown):
    text, _ = shown
    assert len(re.findall(r"^log Z +-?\d", text, re.MULTILINE)) == 2
    assert text.count("Best tree 1, probability") == text.count("Best tree 3, probability") == 2
    assert text.count("exact samples") == 2
    assert "└─ photographed" in text


def test_the_determinant_breaks_and_the_library_does_not(shown):
    text, _ = shown
    section = text.split("ever more confidently")[1].split("random sentences")[0]
    rows = [line for line in section.splitlines() if re.match(r"\s*\d+ ", line)]
    ours = [re.findall(r"\S+ to \S+", row)[1] for row in rows]
    assert re.search(r"-\d\S*e\+\d+ to", section)  # a hugely negative "probability"
    assert "nan to nan" in section
    assert {low for low, _, _ in (x.partition(" to ") for x in ours)} == {"0"}
    assert all(float(high) <= 1 for _, _, high in (x.partition(" to ") for x in ours))


def test_the_pictures_are_there_and_named_last(shown):
    text, out = shown
    pictures = sorted(out.iterdir())
    assert len(pictures) == 5
    last = text.strip().splitlines()[-5:]
    assert sorted(line.strip() for line in last) == [str(path) for path in pictures]
    for path in pictures:
        assert ElementTree.parse(path).getroot().tag.endswith("svg")


def test_samples_follow_the_seed(quick, tmp_path):
    def samples(seed: int) -> str:
        arguments = ["demo", "--out", str(tmp_path), "--seed", str(seed)]
        text = CliRunner().invoke(app, arguments).output
        return text.split("exact samples")[1].split("outbreak")[0]

    assert samples(1) == samples(1) != samples(2)


def test_the_speed_curve_has_all_contenders():
    picture = demo._speed_picture([Lap(10, 1e-5, 2e-5, 9e-5), Lap(20, 2e-5, 8e-5, 2e-3)])
    for name in ("spantree", "textbook", "past, O(N⁴)"):
        assert name in picture
