"""The notebooks are their scripts, executed; nothing of the machine is in them."""

import tempfile
from pathlib import Path

import nbformat
import pytest

from tools.notebooks import EXAMPLES, LARGEST, ROOT, build, execute, sources, text_of

SCRIPTS = sources()
each = pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)


def stored(script: Path) -> nbformat.NotebookNode:
    return nbformat.reads(script.with_suffix(".ipynb").read_text("utf-8"), as_version=4)


def contents(notebook: nbformat.NotebookNode) -> list[tuple[str, str, str]]:
    return [(cell.id, cell.cell_type, cell.source) for cell in notebook.cells]


def outputs(notebook: nbformat.NotebookNode) -> list[str]:
    return [
        output.output_type
        for cell in notebook.cells
        if cell.cell_type == "code"
        for output in cell.outputs
    ]


def test_every_notebook_has_a_script():
    assert {path.stem for path in EXAMPLES.glob("*.ipynb")} == {path.stem for path in SCRIPTS}
    assert {"outbreak", "clone_tree"} <= {path.stem for path in SCRIPTS}


@each
def test_notebook_has_the_cells_of_its_script(script):
    assert contents(stored(script)) == contents(build(script)), "run `make notebooks`"


@each
def test_notebook_was_executed_without_errors(script):
    notebook = stored(script)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    assert set(outputs(notebook)) == {"stream", "display_data"}
    assert all(o.get("name") != "stderr" for cell in code for o in cell.outputs)
    pictures = [o for cell in code for o in cell.outputs if "image/png" in o.get("data", {})]
    assert len(pictures) == 2


@each
def test_notebook_is_small_and_tells_nothing_of_the_machine(script):
    notebook = stored(script)
    assert script.with_suffix(".ipynb").stat().st_size < LARGEST
    assert set(notebook.metadata) == {"kernelspec", "language_info"}
    assert set(notebook.metadata.language_info) == {"name"}
    text = text_of(notebook)
    places = (str(ROOT), str(Path.home()), tempfile.gettempdir(), "/home/", "/Users/")
    assert not [place for place in places if place in text]
    assert all(not cell.metadata for cell in notebook.cells)


@pytest.mark.slow
@each
def test_notebook_can_be_executed_anew(script, tmp_path):
    notebook = build(script)
    execute(notebook, tmp_path)
    assert outputs(notebook) == outputs(stored(script))
    assert list((tmp_path / "out").glob("*.png"))


def test_a_script_with_other_cells_is_refused(tmp_path):
    script = tmp_path / "wrong.py"
    script.write_text("# %% [raw]\n# text\n")
    with pytest.raises(ValueError, match=r"wrong\.py: a cell must begin '# %%'"):
        build(script)
    script.write_text("# %% [markdown]\n# text\nx = 1\n")
    with pytest.raises(ValueError, match=r"wrong\.py: a markdown cell must hold comments alone"):
        build(script)


def test_a_notebook_that_names_the_machine_or_is_large_is_refused(tmp_path):
    script = tmp_path / "large.py"
    script.write_text(f"# %%\nx = {str(EXAMPLES)!r}\n")
    with pytest.raises(ValueError, match="the notebook names "):
        text_of(build(script))
    script.write_text(f"# %%\nx = {'1' * LARGEST}\n")
    with pytest.raises(ValueError, match="bytes, more than 400000"):
        text_of(build(script))
