"""Draw the pictures of the documentation while it is built, so that none is out of date.

A hook of mkdocs: the pages name ``assets/NAME-light.svg`` and ``assets/NAME-dark.svg``.
"""

from collections.abc import Iterator
from typing import Any

import torch
from mkdocs.structure.files import File, Files

import spantree as st

WORDS = ["she", "says", "birds", "sing"]

# The scores of docs/quickstart.md.
LOG_WEIGHTS = torch.tensor(
    [
        [0.0, -0.5, 2.0, 0.0, 0.5],
        [0.0, 0.0, 0.5, -1.0, 0.0],
        [0.0, 2.5, 0.0, 0.5, 2.0],
        [0.0, -1.0, 0.0, 0.0, 4.5],
        [0.0, 0.5, 1.0, 4.0, 0.0],
    ]
)


def figures() -> Iterator[tuple[str, str]]:
    """Names and pictures."""
    d = st.SpanningTree(LOG_WEIGHTS)
    for theme in ("light", "dark"):
        for kind in ("arcs", "heatmap"):
            yield f"{kind}-{theme}", d.svg(kind, names=WORDS, theme=theme)


def on_files(files: Files, config: Any) -> Files:
    """Adds the pictures to the files of the site."""
    for name, svg in figures():
        files.append(File.generated(config, f"assets/{name}.svg", content=svg))
    return files
