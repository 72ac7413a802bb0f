"""What the tests of pictures share: graphs, names, and how to read SVG."""

import xml.etree.ElementTree as ET
from itertools import combinations

import torch

import spantree as st
from spantree.pictures.inputs import Graph, gather
from spantree.pictures.shapes import Drawing, Text, corners

SVG = "{http://www.w3.org/2000/svg}"

SHORT = ["they", "saw", "her", "duck", "yesterday", "when", "it", "was", "far", "too", "late"]
LONG = ["internationalization", "Donaudampfschifffahrtsgesellschaft", "MMWWMMWW", 4 * "国際化"]


def words(n: int, kind: str) -> list[str]:
    """So many names: of everyday length, or all of them long."""
    pool = {"short": SHORT, "long": LONG, "mixed": SHORT + LONG}[kind]
    return [pool[i % len(pool)] for i in range(n)]


def distribution(n: int, scale: float = 2.0) -> st.SpanningTree:
    """Of n nodes beside the root; the larger the scale the surer."""
    generator = torch.Generator().manual_seed(n)
    weights = torch.randn(n + 1, n + 1, generator=generator, dtype=torch.float64)
    return st.SpanningTree(weights * scale)


def graph(n: int, names: list[str] | None = None, scale: float = 2.0) -> Graph:
    d = distribution(n, scale)
    return gather(d.marginals, d.mode, names)


def parsed(svg: str) -> ET.Element:
    root = ET.fromstring(svg)
    assert root.tag == SVG + "svg"
    return root


def tip(element: ET.Element) -> str:
    found = element.find(SVG + "title")
    return "" if found is None else found.text or ""


def texts(drawing: Drawing) -> list[Text]:
    return [shape for shape in drawing.shapes if isinstance(shape, Text)]


def overlapping(drawing: Drawing) -> list[tuple[str, str]]:
    """The pairs of texts whose boxes, turned or not, have a point in common."""
    boxes = [(text.text, corners(text)) for text in texts(drawing)]
    return [(a, b) for (a, one), (b, two) in combinations(boxes, 2) if _meet(one, two)]


def outside(drawing: Drawing) -> list[str]:
    """The texts that are not within the picture."""
    return [
        text.text
        for text in texts(drawing)
        if not all(0 <= x <= drawing.width and 0 <= y <= drawing.height for x, y in corners(text))
    ]


def _meet(one: list[tuple[float, float]], two: list[tuple[float, float]]) -> bool:
    """Two convex shapes meet unless a side of one has all of the other beyond it."""
    for shape in (one, two):
        for (x, y), (next_x, next_y) in zip(shape, shape[1:] + shape[:1], strict=True):
            across = (next_y - y, x - next_x)
            first, second = (
                [across[0] * px + across[1] * py for px, py in points] for points in (one, two)
            )
            if max(first) <= min(second) + 1e-9 or max(second) <= min(first) + 1e-9:
                return False
    return True
