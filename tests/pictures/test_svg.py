"""The SVG pictures: what is drawn is what is probable, and any reader can read it."""

import re
from itertools import pairwise

import pytest
import torch

from spantree.pictures import arcs_svg, curve_svg, heatmap_svg
from spantree.pictures.heatmap import BLANK, cell_role
from spantree.pictures.svg import THEMES
from tests.pictures.drawn import SVG, distribution, parsed, tip, words

DRAW = {"arcs": arcs_svg, "heatmap": heatmap_svg}
CURVES = {"ours": ([10, 20, 80], [1e-6, 3e-6, 1e-4]), "theirs": ([10, 20], [1e-5, 1e-3])}


def drawn_edges(svg: str) -> dict[tuple[str, str], float]:
    """The opacity of every edge that is there, by the names in its tip."""
    root, edges = parsed(svg), {}
    arcs = [(g, g.get("opacity")) for g in root.iter(SVG + "g") if g.get("class") == "arc"]
    cells = [(r, r.get("fill-opacity", "1")) for r in root.iter(SVG + "rect") if "→" in tip(r)]
    for element, opacity in arcs + cells:
        head, dependent = tip(element).rpartition(":")[0].split(" → ")
        edges[head, dependent] = float(opacity)
    return edges


@pytest.mark.parametrize("scale", [0.5, 5.0], ids=["gentle", "confident"])
@pytest.mark.parametrize("n", [2, 5, 20])
@pytest.mark.parametrize(("draw", "least"), [(arcs_svg, 0.02), (heatmap_svg, BLANK)])
def test_opacity_is_the_probability(draw, least, n, scale):
    d = distribution(n, scale)
    heads = d.mode.tolist()
    expected = {}
    for head in range(n + 1):
        for node in range(1, n + 1):
            p = float(d.marginals[head, node])
            if p >= least or (draw is arcs_svg and heads[node] == head):
                expected["ROOT" if head == 0 else str(head), str(node)] = p
    edges = drawn_edges(draw(d.marginals, heads))
    assert edges.keys() == expected.keys()
    assert edges == pytest.approx(expected, rel=1e-11)


def test_the_tip_tells_names_and_the_exact_probability():
    d = distribution(3)
    tips = [tip(g) for g in parsed(arcs_svg(d.marginals, names=["a", "b", "c"])).iter(SVG + "g")]
    p = float(d.marginals[2, 3])
    assert f"b → c: {100 * p:.1f} % ({p:.12g})" in tips


@pytest.mark.parametrize("draw", DRAW.values(), ids=DRAW)
def test_the_best_tree_is_highlighted(draw):
    d = distribution(6)
    tree = parsed(draw(d.marginals, d.mode, theme="light"))
    plain = parsed(draw(d.marginals, theme="light"))
    orange = THEMES["light"]["tree"]

    def highlights(root):
        tag = "g" if draw is arcs_svg else "rect"
        return [
            element
            for element in root.iter(SVG + tag)
            if element.get("stroke") == orange or any(x.get("stroke") == orange for x in element)
        ]

    assert len(highlights(tree)) == 6
    assert not highlights(plain)


def test_how_many_edges_are_left_out_is_said():
    d = distribution(20)
    root = parsed(arcs_svg(d.marginals, faintest=0.1))
    missing = int(((d.marginals > 0) & (d.marginals < 0.1)).sum())
    said = [text.text or "" for text in root.iter(SVG + "text")]
    assert any(f"{missing} edges below 10 % left out." in line for line in said)
    everything = parsed(arcs_svg(d.marginals, faintest=0.0))
    assert len(everything.findall(SVG + "g")) == int((d.marginals > 0).sum())
    assert not any("left out" in (text.text or "") for text in everything.iter(SVG + "text"))


@pytest.mark.parametrize("draw", DRAW.values(), ids=DRAW)
def test_any_name_leaves_the_svg_well_formed(draw):
    names = ["<b>&amp;", "\"quoted\" 'twice'", "]]>", "\x00\x1b[1m", "שלום", "e\u0301", "\ud800"]
    d = distribution(len(names))
    root = parsed(draw(d.marginals, d.mode, names, title="<&>\x07"))
    everything = "".join(root.itertext())
    assert all(name in everything for name in names[:3])
    assert root.find(SVG + "title").text == root.get("aria-label") == "<&>\ufffd"


@pytest.mark.parametrize("draw", DRAW.values(), ids=DRAW)
def test_long_names_are_abridged_and_told_in_full(draw):
    names = [3 * name for name in words(4, "long")]
    root = parsed(draw(distribution(4).marginals, names=names))
    texts = {tip(text): text for text in root.iter(SVG + "text")}
    for name in names:
        shown = "".join(texts[name].itertext()).removeprefix(name)
        assert shown.endswith("…")
        assert name.startswith(shown[:-1])


@pytest.mark.parametrize("theme", ["auto", "light", "dark"])
@pytest.mark.parametrize("name", ["arcs", "heatmap", "curve"])
def test_themes(name, theme):
    d = distribution(4)
    draw = DRAW.get(name, lambda *_, theme: curve_svg(CURVES, theme=theme))
    svg = draw(d.marginals, d.mode, theme=theme)
    root = parsed(svg)
    paper = root.find(SVG + "rect")
    assert paper.get("fill") == THEMES["dark" if theme == "dark" else "light"]["paper"]
    assert ("prefers-color-scheme:dark" in svg) == (theme == "auto")
    used = set(re.findall(r'(?:fill|stroke)="(#\w+)"', svg))
    assert used <= set(THEMES["dark" if theme == "dark" else "light"].values())
    if theme == "auto":  # every coloured element has a class that the dark repaints
        for element in root.iter():
            for attribute, letter in (("fill", "f"), ("stroke", "s")):
                if element.get(attribute, "none").startswith("#"):
                    assert f".spantree-auto .{element.get('class')}{{{attribute}:#" in svg
                    assert element.get("class").startswith(f"{letter}-")


@pytest.mark.parametrize("name", ["arcs", "heatmap", "curve"])
def test_svg_is_accessible_and_stands_alone(name):
    d = distribution(4)
    svg = curve_svg(CURVES) if name == "curve" else DRAW[name](d.marginals, d.mode)
    root = parsed(svg)
    assert root.get("role") == "img"
    assert root.get("aria-label")
    assert [child.tag for child in root][:2] == [SVG + "title", SVG + "desc"]
    assert root.find(SVG + "desc").text
    assert "href" not in svg
    assert "url(" not in svg
    assert " id=" not in svg  # several in one page must not meet


@pytest.mark.parametrize("draw", DRAW.values(), ids=DRAW)
def test_the_description_tells_the_best_tree(draw):
    marginals = torch.zeros(3, 3)
    marginals[0, 2], marginals[2, 1] = 1.0, 0.25
    description = parsed(draw(marginals, [-1, 2, 0], ["a", "b"])).find(SVG + "desc").text
    assert description.endswith("The best tree: b → a 25.0 %, ROOT → b 100.0 %.")
    assert "best tree" not in parsed(draw(marginals)).find(SVG + "desc").text


def test_pictures_are_reproducible():
    d = distribution(20)
    assert arcs_svg(d.marginals, d.mode) == arcs_svg(d.marginals.numpy(), d.mode.tolist())


def colour(theme: str, role: str) -> list[float]:
    return [int(THEMES[theme][role][i : i + 2], 16) / 255 for i in (1, 3, 5)]


def blended(theme: str, share: float) -> list[float]:
    ends = zip(colour(theme, "paper"), colour(theme, "edge"), strict=True)
    return [a + (b - a) * share for a, b in ends]


def luminance(colour: list[float]) -> float:
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour]
    return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def lightness(colour: list[float]) -> float:
    y = luminance(colour)
    return 116 * y ** (1 / 3) - 16 if y > 0.008856 else 903.3 * y


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_equal_steps_of_probability_look_equal(theme):
    scale = [lightness(blended(theme, i / 20)) for i in range(21)]
    steps = [abs(b - a) for a, b in pairwise(scale)]
    assert max(steps) <= 1.5 * min(steps)
    assert abs(scale[-1] - scale[0]) >= 60


def contrast(one: list[float], two: list[float]) -> float:
    low, high = sorted((luminance(one), luminance(two)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_letters_stand_out(theme):
    for role in ("text", "muted", "tree"):
        assert contrast(colour(theme, role), colour(theme, "paper")) >= 4.5, role
    for percent in range(101):
        on_cell = colour(theme, cell_role(percent / 100))
        assert contrast(on_cell, blended(theme, percent / 100)) >= 4.5, percent


@pytest.mark.parametrize("draw", DRAW.values(), ids=DRAW)
@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((torch.zeros(3, 4),), ValueError, r"marginals must have shape \(n, n\) .* got \(3, 4\)"),
        ((torch.zeros(2, 3, 3),), ValueError, r"marginals must have shape .* got \(2, 3, 3\)"),
        (([[0, 1.5], [0, 0]],), ValueError, r"in 0\.\.1, found 1\.5 at edge 0 -> 1"),
        (([[0, float("nan")], [0, 0]],), ValueError, r"found nan at edge 0 -> 1"),
        ((torch.zeros(3, 3), [-1, 0]), ValueError, r"heads must have shape \(3,\) .* got \(2,\)"),
        ((torch.zeros(3, 3), [-1, 0, 3]), ValueError, r"in 0\.\.2, .* got 3 for node 2"),
        ((torch.zeros(3, 3), [-1, 0, 2]), ValueError, r"other nodes .* got 2 for node 2"),
        ((torch.zeros(3, 3), [-1, 0.0, 1.0]), TypeError, "heads must hold integers, got dtype"),
        ((torch.zeros(3, 3), [[0]]), ValueError, r"heads must have shape \(n,\) .* got \(1, 1\)"),
        ((torch.zeros(3, 3), None, ["a"]), ValueError, "names must hold 3 names, .*2 of .* got 1"),
        ((torch.zeros(3, 3), None, "ab"), TypeError, "a sequence of names, got the string 'ab'"),
    ],
)  # fmt: skip
def test_errors(draw, arguments, error, message):
    with pytest.raises(error, match=message):
        draw(*arguments)


@pytest.mark.parametrize("draw", [*DRAW.values(), lambda _, theme: curve_svg(CURVES, theme=theme)])
def test_unknown_theme(draw):
    with pytest.raises(ValueError, match=r"theme must be one of 'auto', 'light', 'dark', got 'x'"):
        draw(distribution(3).marginals, theme="x")


def test_faintest_is_a_probability():
    with pytest.raises(ValueError, match=r"faintest must be a probability in 0\.\.1, got 2"):
        arcs_svg(distribution(3).marginals, faintest=2)


def test_garbage_off_the_edges_is_ignored():
    marginals = distribution(3).marginals.clone()
    expected = arcs_svg(marginals)
    marginals[:, 0] = torch.nan
    marginals.fill_diagonal_(7.0)
    assert arcs_svg(marginals) == expected
