"""Build a wheel, install it into an empty environment and use it there, as a newcomer would.

The environment first gets the locked numpy and torch; the wheel must then bring nothing but itself,
and say what the command line lacks. With its extras it must answer for graphs in files.
Arguments are passed on to ``pip wheel``.
"""

import json
import math
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Cayley: four words have 4³ trees with one edge from the root, and 5³ without that rule.
PROGRAM = """
import pathlib, sys
import torch
import spantree as st

assert pathlib.Path(st.__file__).is_relative_to(sys.prefix), st.__file__
log_weights = torch.zeros(5, 5, dtype=torch.float64, requires_grad=True)
for root, count in (("single", 64), ("multi", 125)):
    log_partition = st.log_partition(log_weights, root=root)
    torch.testing.assert_close(log_partition.exp().item(), float(count))
    (gradient,) = torch.autograd.grad(log_partition, log_weights)
    torch.testing.assert_close(gradient, st.edge_marginals(log_weights, root=root).detach())
"""

README = """
import doctest, sys

flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
failed, tried = doctest.testfile(sys.argv[1], module_relative=False, optionflags=flags)
sys.exit(bool(failed) or not tried)
"""

# Three trees: from s to both (3 · 1), along s, a, b (3 · 1), and along s, b, a (1 · 2).
CONTACTS = """\
source,target,weight
s,a,3
s,b,1
a,b,1
b,a,2
"""


def main(settings: list[str]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run(sys.executable, "-m", "pip", "wheel", str(ROOT), "-qq", "--no-deps",
            "--no-build-isolation", "--wheel-dir", name, *settings, cwd=ROOT)  # fmt: skip
        (wheel,) = folder.glob("spantree-*.whl")
        names = zipfile.ZipFile(wheel).namelist()
        for file in ("py.typed", "demo/data/outbreak.csv", "demo/data/sentence.csv"):
            assert f"spantree/{file}" in names, f"the wheel lacks {file}"
        assert not [n for n in names if n.endswith((".cpp", ".hpp"))], "the wheel holds C++ sources"

        python = str(folder / "env" / "bin" / "python")
        run(sys.executable, "-m", "venv", str(folder / "env"), cwd=folder)
        pip = [python, "-m", "pip", "--disable-pip-version-check"]
        lock = str(ROOT / "requirements" / "dev.lock")
        run(*pip, "install", "-qq", "--constraint", lock, "numpy", "torch", cwd=folder)
        before = run(*pip, "list", "--format=freeze", cwd=folder).split()
        run(*pip, "install", "-qq", str(wheel), cwd=folder)
        after = run(*pip, "list", "--format=freeze", cwd=folder).split()
        added = sorted(line.split("==")[0] for line in set(after) - set(before))
        assert added == ["spantree"], f"the wheel also installed or changed {added}"

        run(python, "-W", "error", "-c", PROGRAM, cwd=folder)
        run(python, "-c", README, str(ROOT / "README.md"), cwd=folder)
        command = str(folder / "env" / "bin" / "spantree")
        refused = subprocess.run([command], cwd=folder, capture_output=True, text=True)
        assert refused.returncode == 2, refused
        assert "pip install 'spantree[cli]'" in refused.stderr, refused

        run(*pip, "install", "-qq", "--constraint", lock, f"{wheel}[cli,graphs]", cwd=folder)
        (folder / "contacts.csv").write_text(CONTACTS)
        run(command, "infer", "contacts.csv", "--out", "contacts.graphml", cwd=folder)
        for graph in ("contacts.csv", "contacts.graphml"):
            answer = json.loads(run(command, "infer", graph, "--json", cwd=folder))
            assert answer["tree_count"] == 3, answer
            assert abs(answer["log_partition"] - math.log(8.0)) < 1e-12, answer
        pictures = run(command, "demo", cwd=folder).splitlines()[-5:]
        assert all((folder / line.strip()).is_file() for line in pictures), pictures
        print(f"{wheel.name} ({wheel.stat().st_size / 1e6:.1f} MB) works in an empty environment")


def run(*command: str, cwd: Path) -> str:
    """The output of a command, which must succeed."""
    return subprocess.run(command, cwd=cwd, check=True, stdout=subprocess.PIPE, text=True).stdout


if __name__ == "__main__":
    main(sys.argv[1:])
