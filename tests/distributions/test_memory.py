"""Labels cost what they must: memory O(N² Y), a few copies of the log-weights."""

import json
import os
import subprocess
import sys
from functools import lru_cache
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="reads the peak memory of a process from /proc"
)

SCRIPT = """
import json
import torch
import spantree as st

torch.set_num_threads(1)

def leaf(x):
    return st.LabeledSpanningTree(x.clone().requires_grad_())

def log_probs(d):
    return d.log_prob(d.sample((100,))).sum()

CALLS = {
    "entropy": lambda x: st.LabeledSpanningTree(x).entropy(),
    "gradient of the entropy": lambda x: leaf(x).entropy().sum().backward(),
    "gradient of a divergence": lambda x: leaf(x).kl_divergence(leaf(x)).sum().backward(),
    "gradient of log-probabilities": lambda x: log_probs(leaf(x)).backward(),
    "covariance": lambda x: st.LabeledSpanningTree(x).covariance(x),
}

def memory(field):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith(field))

log_weights = torch.randn(8, 41, 41, 30, dtype=torch.float64)
held, copies = [], {}
for name, call in CALLS.items():
    call(torch.randn(2, 9, 9, 3, dtype=torch.float64))  # loads all that is loaded once
    # Hold so much that the process is as large as it ever was; from here on, more is a new peak.
    held.append(torch.ones((memory("VmHWM") - memory("VmRSS")) // 8 + 2**20, dtype=torch.float64))
    before = memory("VmHWM")
    call(log_weights)
    copies[name] = (memory("VmHWM") - before) / (8 * log_weights.numel())
print(json.dumps(copies))
"""

# Somewhat more than is needed today. One more factor of N or Y would be 30 copies at least.
MOST = {
    "entropy": 8,
    "gradient of the entropy": 16,
    "gradient of a divergence": 24,
    "gradient of log-probabilities": 16,
    "covariance": 8,
}


@lru_cache
def copies() -> dict[str, float]:
    # Large blocks go back to the system at once, so that no call lives on what another has left.
    environment = os.environ | {"MALLOC_MMAP_THRESHOLD_": "65536"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize("call", MOST)
def test_peak_is_a_few_copies_of_the_log_weights(call):
    assert copies()[call] <= MOST[call]
