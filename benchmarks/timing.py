"""Interleaved timing: what is compared is measured in turns, in one process."""

import statistics
import time
from collections.abc import Callable, Mapping, Sequence

import torch

__all__ = ["fitted_exponent", "interleaved_medians", "matrix_product_speed"]


def interleaved_medians(
    contenders: Mapping[str, Callable[[], object]],
    *,
    threads: Mapping[str, int] | None = None,
    seconds: float = 1.0,
) -> dict[str, float]:
    """Median seconds of one call of each contender, measured in turns.

    Goes round for ``seconds``, at least three times. Within a round a quick contender is called
    several times, so that every reading spans a fifth of a millisecond at least. ``threads`` gives
    contenders more than one thread of torch's.
    """
    calls: dict[str, int] = {}
    readings: dict[str, list[float]] = {name: [] for name in contenders}
    start, done = time.perf_counter(), -2
    while done < 3 or time.perf_counter() - start < seconds:
        for name, run in contenders.items():
            torch.set_num_threads((threads or {}).get(name, 1))
            run()  # whatever the one before has left in the caches or made sleep
            began = time.perf_counter()
            for _ in range(calls.get(name, 1)):
                run()
            spent = (time.perf_counter() - began) / calls.get(name, 1)
            calls[name] = max(1, int(2e-4 / spent))
            if done >= 0:
                readings[name].append(spent)
        done += 1
    torch.set_num_threads(1)
    return {name: statistics.median(times) for name, times in readings.items()}


def matrix_product_speed(size: int = 1500) -> float:
    """Flops a second of a large float64 matrix product on one thread."""
    a = torch.randn(size, size, dtype=torch.float64)
    return 2 * size**3 / interleaved_medians({"product": lambda: a @ a})["product"]


def fitted_exponent(sizes: Sequence[float], seconds: Sequence[float]) -> float:
    """The exponent e of seconds ~ sizes^e, by least squares of the logarithms."""
    x, y = torch.tensor(sizes).double().log(), torch.tensor(seconds).double().log()
    x, y = x - x.mean(), y - y.mean()
    return float((x * y).sum() / (x * x).sum())
