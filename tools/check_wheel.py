"""Build a wheel, install it into an empty environment and use it there.

The environment first gets the locked numpy and torch; the wheel must then bring nothing but itself.
Arguments are passed on to ``pip wheel``.
"""

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
        print(f"{wheel.name} ({wheel.stat().st_size / 1e6:.1f} MB) works in an empty environment")


def run(*command: str, cwd: Path) -> str:
    """The output of a command, which must succeed."""
    return subprocess.run(command, cwd=cwd, check=True, stdout=subprocess.PIPE, text=True).stdout


if __name__ == "__main__":
    main(sys.argv[1:])
