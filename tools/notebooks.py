"""Build the notebooks of ``examples`` from their scripts, and execute them.

A script with ``# %%`` cells is the only source: ``NAME.ipynb`` is written anew from ``NAME.py``,
with the outputs of a run. Nothing of the machine is kept.

    python tools/notebooks.py [NAME ...]
"""

import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from traitlets.config import Config

__all__ = ["build", "execute", "sources"]

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples"
LARGEST = 400_000  # bytes of a notebook
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


def sources() -> list[Path]:
    """The scripts that are written in cells."""
    return [p for p in sorted(EXAMPLES.glob("*.py")) if p.read_text("utf-8").startswith("# %%")]


def build(script: Path) -> NotebookNode:
    """The notebook of a script, without outputs."""
    cells = []
    for block in ("\n" + script.read_text("utf-8")).split("\n# %%")[1:]:
        kind, _, body = block.partition("\n")
        if kind.strip() not in ("", "[markdown]"):
            raise ValueError(f"{script.name}: a cell must begin '# %%' or '# %% [markdown]'")
        if kind:
            lines = body.strip("\n").splitlines()
            if not all(line == "#" or line.startswith("# ") for line in lines):
                raise ValueError(f"{script.name}: a markdown cell must hold comments alone")
            cell = new_markdown_cell("\n".join(line[2:] for line in lines))
        else:
            cell = new_code_cell(body.strip("\n"))
        cell.id = f"cell-{len(cells)}"
        cells.append(cell)
    notebook = new_notebook(cells=cells, metadata={"kernelspec": KERNEL})
    nbformat.validate(notebook)
    return notebook


def execute(notebook: NotebookNode, folder: Path) -> None:
    """Run a notebook in a folder, and keep its outputs without traces of the machine."""
    client = NotebookClient(
        notebook,
        timeout=600,
        kernel_name=KERNEL["name"],
        coalesce_streams=True,
        config=Config({"ConnectionFileMixin": {"transport": "ipc"}}),  # no open port
        resources={"metadata": {"path": str(folder)}},
        record_timing=False,
    )
    client.execute()
    notebook.metadata = NotebookNode(kernelspec=KERNEL, language_info={"name": "python"})
    for cell in notebook.cells:
        cell.metadata = NotebookNode()


def text_of(notebook: NotebookNode) -> str:
    """The notebook as a file, which must be small and name no place on this machine."""
    text = nbformat.writes(notebook) + "\n"
    for place in {str(ROOT), str(Path.home()), sys.prefix}:
        if place in text:
            raise ValueError(f"the notebook names {place}")
    if len(text) > LARGEST:
        raise ValueError(f"the notebook has {len(text)} bytes, more than {LARGEST}")
    return text


def main(names: list[str]) -> None:
    scripts = [EXAMPLES / f"{name}.py" for name in names] or sources()
    for script in scripts:
        notebook = build(script)
        execute(notebook, ROOT)
        target = script.with_suffix(".ipynb")
        target.write_text(text_of(notebook), "utf-8")
        print(f"{target.relative_to(ROOT)}: {target.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main(sys.argv[1:])
