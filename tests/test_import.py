"""Importing spantree costs little more than importing torch, and brings in nothing else."""

import json
import subprocess
import sys
from functools import lru_cache

SCRIPT = """
import json, sys, time
import torch, numpy
before = set(sys.modules)
start = time.process_time()  # not what other processes take meanwhile
import spantree
seconds = time.process_time() - start
print(json.dumps({"seconds": seconds, "new": sorted(set(sys.modules) - before)}))
"""


@lru_cache(maxsize=1)
def imports() -> list[dict]:
    """What an import does in each of several fresh processes; the first may fill caches."""
    command = [sys.executable, "-c", SCRIPT]
    runs = [subprocess.run(command, capture_output=True, text=True, check=True) for _ in range(5)]
    return [json.loads(run.stdout) for run in runs[1:]]


def test_import_takes_at_most_50_ms_beyond_torch():
    assert min(run["seconds"] for run in imports()) <= 0.050


def test_import_leaves_optional_packages_alone():
    optional = ["matplotlib", "typer", "rich", "networkx", "scipy", "pandas", "polars", "pyarrow"]
    loaded = {name.partition(".")[0] for name in imports()[0]["new"]}
    assert not loaded.intersection(optional)


def test_import_brings_in_torch_and_numpy_alone():
    packages = {name.partition(".")[0] for name in imports()[0]["new"]}
    assert packages - sys.stdlib_module_names <= {"spantree", "torch", "numpy"}
