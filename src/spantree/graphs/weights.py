"""From what a source says of weights to log-weights."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spantree.graphs.problems import GraphError

__all__ = ["to_log_weights"]


def to_log_weights(
    values: Sequence[Any],
    name: str,
    *,
    log: bool,
    where: Callable[[int], str],
    edge: Callable[[int], str],
) -> NDArray[np.float64]:
    """Log-weights ``(E,)``, or GraphError for the first value that is none.

    Args:
        values: numbers, or text that reads as numbers: weights >= 0, or log-weights if ``log``, of
            which -inf stands for no edge.
        name: what to call them.
        log: whether they are log-weights.
        where: tells the place of the i-th.
        edge: tells its edge.
    """
    numbers = _numbers(values, name, where, edge)
    wrong = ~(numbers < np.inf) if log else ~((numbers >= 0) & (numbers < np.inf))
    if wrong.any():
        i = int(wrong.argmax())
        ask = "a number below inf" if log else "a finite number >= 0"
        found = "nothing" if values[i] is None else f"{numbers[i]:g}"
        raise GraphError(f"{where(i)}: the {name} of {edge(i)} must be {ask}, got {found}")
    if log:
        return numbers
    with np.errstate(divide="ignore"):
        return np.log(numbers)


def _numbers(
    values: Sequence[Any], name: str, where: Callable[[int], str], edge: Callable[[int], str]
) -> NDArray[np.float64]:
    try:
        return np.fromiter(map(_number, values), dtype=np.float64, count=len(values))
    except (TypeError, ValueError, OverflowError):
        for i, value in enumerate(values):
            try:
                _number(value)
            except (TypeError, ValueError, OverflowError):
                raise GraphError(
                    f"{where(i)}: the {name} of {edge(i)} must be a number, got {value!r}"
                ) from None
        raise


def _number(value: Any) -> float:
    return float("nan") if value is None or type(value).__name__ == "NAType" else float(value)
