"""The worked examples run as a user runs them: pictures in ``out``, a summary on the terminal."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
PICTURES = {
    "outbreak.py": ["outbreak.png", "outbreak_checks.png"],
    "clone_tree.py": ["clone_tree.png", "clone_tree_errors.png"],
}
WITHOUT_MATPLOTLIB = """
import runpy, sys
sys.modules["matplotlib"] = None
runpy.run_path(sys.argv[1])
"""


@pytest.mark.parametrize("script", PICTURES)
def test_script_draws_its_pictures_and_prints_a_summary(script, request):
    run = request.getfixturevalue(script.replace(".py", "_run"))
    assert re.search(r"^entropy +\d", run.printed, re.MULTILINE)
    assert max(map(len, run.printed.splitlines())) <= 100
    assert sorted(path.name for path in (run.folder / "out").iterdir()) == PICTURES[script]
    for picture in PICTURES[script]:
        assert (run.folder / "out" / picture).read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("script", PICTURES)
def test_script_says_that_matplotlib_is_missing(script, tmp_path):
    command = [sys.executable, "-c", WITHOUT_MATPLOTLIB, str(EXAMPLES / script)]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 1
    assert run.stderr.splitlines()[-1] == (
        "ImportError: matplotlib is needed to draw the pictures: pip install 'spantree[plot]'"
    )
    assert not (tmp_path / "out").exists()
