"""Write requirements/dev.lock: the exact versions that development uses.

Asks pip what it would install for all that pyproject.toml names but the extras in LEFT_OUT, on the
first release of the oldest Python that the package supports: some packages ask for a later patch
release, which not every machine has. torch alone is chosen by hand, in TORCH: a looser request may
fetch gigabytes of GPU libraries, and changing it deserves a commit of its own. Run this where pip
finds a CPU build of it, or those libraries end up in the lock.
"""

import json
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

TORCH = "2.13.0"
LEFT_OUT = {"real-scores"}  # for one benchmark, and partly without wheels

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "requirements" / "dev.lock"
HEADER = """\
# The exact versions that development uses, build tools included; `make` installs them into .venv.
# Written by `make lock` from pyproject.toml. torch is chosen in tools/lock.py.
"""


def wanted(settings: dict) -> list[str]:
    """Everything pyproject.toml names, but for the package itself."""
    project = settings["project"]
    groups = [settings["build-system"]["requires"], project["dependencies"]]
    groups += [
        extra for name, extra in project["optional-dependencies"].items() if name not in LEFT_OUT
    ]
    own = re.compile(rf"{project['name']}\b")
    return sorted({line for group in groups for line in group if not own.match(line)})


def resolve(requirements: list[str], python: str) -> list[str]:
    """The lines ``name==version`` that meet the requirements, in the order of their names."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [sys.executable, "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
        command += ["--dry-run", "--ignore-installed", "--report", str(report)]
        command += ["--python-version", python, "--only-binary", ":all:", "--target", folder]
        subprocess.run([*command, *requirements], check=True)
        chosen = [item["metadata"] for item in json.loads(report.read_text())["install"]]
    # A local suffix such as +cpu names one build of a version; the lock is for all of them.
    pins = [(item["name"].lower(), item["version"].partition("+")[0]) for item in chosen]
    return [f"{name}=={version}" for name, version in sorted(pins)]


if __name__ == "__main__":
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    oldest = settings["project"]["requires-python"].removeprefix(">=")
    lines = resolve([*wanted(settings), f"torch=={TORCH}"], oldest)
    LOCK.write_text(HEADER + "\n".join(lines) + "\n")
