"""How many digits of the marginals are right: here and by a determinant, against 300 digits.

    python benchmarks/accuracy.py [--nodes 12] [--draws 4] [--output FILE.json]

For each of the hostile families that the tests use, with either root: the worst relative error of
the library (marginals above 1e-250), and the worst absolute error of the textbook's determinant in
float64 with scaled columns; 1 is as wrong as a probability should be able to get.
"""

import argparse
import json
import sys
from pathlib import Path

import torch
from torch import Tensor

import spantree as st

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tests.hostile import hostile_log_weights
from tests.reference import exact_inference
from tests.tolerances import SMALLEST_MARGINAL, spread

FAMILIES = (
    *(f"gaussian-{scale}" for scale in (1, 10, 30, 60, 100, 300)),
    *(f"root-{depth}-below" for depth in (40, 200)),
    *(f"2-cycle-bound-by-{strength}" for strength in (20, 40, 150, 600)),
    *(f"chain-of-3-cycles-bound-by-{strength}" for strength in (20, 40, 150)),
    *("half-at-1e4-below", "forbidden-0.7", "one-tree"),
)


def textbook_marginals(log_weights: Tensor, root: str) -> Tensor:
    """The gradient of the log-determinant of a Laplacian, for one graph; NaN where it has none."""
    eye = torch.eye(len(log_weights), dtype=torch.bool)
    scores = log_weights.masked_fill(eye, -torch.inf)[:, 1:]
    weights = (scores - scores.amax(0)).exp().requires_grad_()
    inner = weights[1:]
    if root == "multi":
        matrix = torch.diag(weights.sum(0)) - inner
    else:
        matrix = torch.cat([weights[:1], (torch.diag(inner.sum(0)) - inner)[1:]])
    marginals = torch.full_like(log_weights, torch.nan)
    try:
        (slope,) = torch.autograd.grad(torch.linalg.slogdet(matrix).logabsdet, weights)
        marginals[:, 1:] = (weights * slope).detach()
    except torch.linalg.LinAlgError:
        pass
    return marginals


def errors(family: str, nodes: int, draws: int, root: str) -> dict[str, float]:
    """The worst of some graphs."""
    ours, theirs, widest = 0.0, 0.0, 0.0
    for seed in range(draws):
        log_weights = hostile_log_weights(family, nodes, seed)
        exact = exact_inference(log_weights, root).marginals
        seen = exact > SMALLEST_MARGINAL
        found = st.edge_marginals(log_weights, root=root)
        ours = max(ours, ((found - exact).abs() / exact)[seen].max().item())
        off = (textbook_marginals(log_weights, root) - exact)[:, 1:].abs()
        theirs = max(theirs, off.nan_to_num(nan=torch.inf).max().item())
        widest = max(widest, spread(log_weights))
    return {"spread": widest, "spantree": ours, "textbook": theirs}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=12)
    parser.add_argument("--draws", type=int, default=4)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    print(f"N = {options.nodes}, the worst of {options.draws} graphs")
    print(f"{'':34s}{'spread':>8s}{'single root':>24s}{'several roots':>24s}")
    print(f"{'log-weights':34s}{'':8s}" + f"{'spantree':>12s}{'textbook':>12s}" * 2)
    table = {}
    for family in FAMILIES:
        table[family] = row = {
            root: errors(family, options.nodes, options.draws, root) for root in ("single", "multi")
        }
        cells = "".join(
            f"{row[root]['spantree']:12.0e}{row[root]['textbook']:12.0e}" for root in row
        )
        print(f"{family:34s}{row['single']['spread']:8.0f}{cells}", flush=True)
    if options.output:
        options.output.write_text(json.dumps(table, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
