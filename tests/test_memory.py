"""A call needs O(B·N²) memory: so many copies of its input, whatever N is."""

import json
import subprocess
import sys
from functools import lru_cache
from pathlib import Path

import pytest

from benchmarks.expectations import large

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="reads the peak memory of a process from /proc"
)

SCRIPT = """
import json, sys
import torch
import spantree as st

count, n, backend = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
torch.set_num_threads(2)

def backward(log_weights):
    theta = log_weights.clone().requires_grad_()
    st.log_partition(theta, backend=backend).sum().backward()

CALLS = {
    "log_partition": lambda x: st.log_partition(x, backend=backend),
    "edge_marginals": lambda x: st.edge_marginals(x, backend=backend),
    "backward": backward,
    "hessian_vector_product": lambda x: st.hessian_vector_product(x, x, backend=backend),
}

def memory(field):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith(field))

log_weights = torch.randn(count, n, n, dtype=torch.float64)
held, peaks = [], {}
for name, call in CALLS.items():
    call(torch.randn(2, 9, 9, dtype=torch.float64))  # loads all that is loaded once
    # Hold so much that the process is as large as it ever was; from here on, more is a new peak.
    held.append(torch.ones((memory("VmHWM") - memory("VmRSS")) // 8 + 2**20, dtype=torch.float64))
    before = memory("VmHWM")
    call(log_weights)
    peaks[name] = memory("VmHWM") - before
print(json.dumps(peaks))
"""

# Copies of the input at the peak, results included, and somewhat more than is needed today.
# To remember something of size N² for every node would take N copies: at least 80 here.
COPIES = {
    "native": {
        "log_partition": 4,
        "edge_marginals": 8,
        "backward": 10,
        "hessian_vector_product": 12,
    },
    "torch": {
        "log_partition": 30,
        "edge_marginals": 30,
        "backward": 30,
        "hessian_vector_product": 60,
    },
}
SLACK = 8 * 2**20  # stacks of threads, what each works in, the allocator's habits


@lru_cache
def peaks(count: int, n: int, backend: str) -> dict[str, int]:
    command = [sys.executable, "-c", SCRIPT, str(count), str(n), backend]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.mark.parametrize("call", COPIES["native"])
@pytest.mark.parametrize("backend", COPIES)
@pytest.mark.parametrize(
    ("count", "n"),
    [
        (25, 161),
        pytest.param(200, 81, marks=pytest.mark.slow),
        pytest.param(20, 321, marks=pytest.mark.slow),
        pytest.param(2, 801, marks=pytest.mark.slow),
    ],
)
def test_peak_is_a_few_copies_of_the_input(count, n, backend, call):
    size = count * n * n * 8
    peak = peaks(count, n, backend)[call]
    assert peak <= COPIES[backend][call] * size + SLACK, f"{peak / size:.1f} copies"


@pytest.mark.parametrize(("count", "per_edge"), [(100_000, 10), (1_000, 50)])
def test_second_order_totals_need_the_non_zeros_and_the_result(count, per_edge):
    """T2 between many sparse features and five dense ones: dense, the many would take 1.3 GB."""
    (found,) = large(((count, per_edge),))
    needed = 12 * 8 * found["non-zeros"] + 4 * found["result"] + SLACK
    assert found["bytes"] <= needed, f"{found['bytes'] / 1e6:.1f} MB"
