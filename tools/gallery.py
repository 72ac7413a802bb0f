"""Draw every kind of picture into out/gallery, to be looked at: `make gallery`, then index.html.

Small and large graphs, unsure and sure, light and dark, by SVG and by matplotlib.
"""

from html import escape
from itertools import product
from pathlib import Path

import matplotlib
import torch

import spantree as st
from spantree.pictures import curve_svg

matplotlib.use("Agg")
from matplotlib import pyplot as plt

PLACE = Path("out/gallery")
TEXT = """
they saw her duck yesterday while the committee that had been asked to examine the
internationalization of river transport reported after long deliberation and several postponements
which nobody among its members could quite explain that such a plan would need money time patience
and above all people who know what to touch when they must repair some old running system
"""
SIZES = (5, 20, 60)
SCALES = {"unsure": 0.8, "sure": 4.0}


def distribution(n: int, scale: float) -> st.SpanningTree:
    """Random weights that favour near heads, as sentences do."""
    generator = torch.Generator().manual_seed(n)
    noise = torch.randn(n + 1, n + 1, generator=generator, dtype=torch.float64)
    node = torch.arange(n + 1)
    distance = (node[:, None] - node).abs().clamp(max=8)
    return st.SpanningTree(scale * (noise - distance / 4))


def main() -> None:
    PLACE.mkdir(parents=True, exist_ok=True)
    files = []
    for n, (sure, scale), kind in product(SIZES, SCALES.items(), ("arcs", "heatmap")):
        d, names = distribution(n, scale), TEXT.split()[:n]
        for theme, style in (("light", "default"), ("dark", "dark_background")):
            stem, title = f"{kind}-{n}-{sure}-{theme}", f"{n} nodes, {sure}"
            svg = d.svg(kind, names=names, title=title, theme=theme)
            (PLACE / f"{stem}.svg").write_text(svg, encoding="utf-8")
            with plt.style.context(style):
                ax = d.plot(kind, names=names, title=title)
                ax.figure.savefig(PLACE / f"{stem}.png", dpi=96)
                plt.close(ax.figure)
            files += [f"{stem}.svg", f"{stem}.png"]
    sizes = [10, 20, 40, 80]
    powers = {f"a cost of N^{p}": (sizes, [1e-9 * n**p for n in sizes]) for p in (2, 3, 4)}
    for theme in ("light", "dark"):
        svg = curve_svg(powers, title="Costs", x_label="N", y_label="seconds", theme=theme)
        (PLACE / f"curve-{theme}.svg").write_text(svg, encoding="utf-8")
        files.append(f"curve-{theme}.svg")
    pictures = "\n".join(f'<p>{escape(f)}<br><img src="{escape(f)}"></p>' for f in files)
    page = PLACE / "index.html"
    page.write_text(f'<!doctype html><meta charset="utf-8">\n{pictures}\n', encoding="utf-8")
    print(page)


if __name__ == "__main__":
    main()
