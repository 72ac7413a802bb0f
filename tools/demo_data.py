"""Write the outbreak of the demonstration anew, with the simulator of ``examples/outbreak.py``.

A dozen cases. The seed is one that gives several introductions, pairs who may each have infected
the other, and infectors both certain and uncertain. The truth is not stored: the table is what an
investigator would hold.
"""

import csv
import runpy
from pathlib import Path
from typing import Any

from torch import Generator

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "src" / "spantree" / "demo" / "data"
SEED = 4
CASES = ["Ana", "Ben", "Chloe", "Dev", "Elif", "Femi", "Gus", "Hana", "Ivo", "Jun", "Kofi", "Lea"]
NAMES = ["outside", *CASES]


def outbreak_rows(example: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Source, target and log-weight of every possible transmission, by the example's simulator."""
    setting = example["Setting"]()
    generator = Generator().manual_seed(SEED)
    outbreak = example["simulate"](setting, generator, len(CASES), len(CASES))
    log_weights = example["edge_log_weights"](outbreak.onset, outbreak.contact, setting).tolist()
    return [
        (source, target, f"{log_weights[i][j]:.3f}")
        for i, source in enumerate(NAMES)
        for j, target in enumerate(NAMES)
        if j > 0 and i != j and log_weights[i][j] > float("-inf")
    ]


def main() -> None:
    example = runpy.run_path(str(ROOT / "examples" / "outbreak.py"))
    with (DATA / "outbreak.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("source", "target", "log_weight"))
        writer.writerows(outbreak_rows(example))


if __name__ == "__main__":
    main()
