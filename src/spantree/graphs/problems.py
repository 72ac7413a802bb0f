"""What is wrong with a graph, said by the names of its nodes."""

from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice
from typing import Any

__all__ = ["GraphError", "close_matches", "count_of", "listed"]


class GraphError(ValueError):
    """A graph that cannot be read, or has no tree.

    Args:
        problem: what is wrong.
        fix: what to do about it in Python, to be read behind the problem.
        command_fix: the same for a user of the command line; as ``fix`` if None.
    """

    def __init__(self, problem: str, fix: str = "", command_fix: str | None = None) -> None:
        self.problem, self.fix = problem, fix
        self.command_fix = fix if command_fix is None else command_fix
        super().__init__(f"{problem}; {fix}" if fix else problem)

    def at(self, place: str) -> "GraphError":
        """The same problem, with the file that has it named."""
        return GraphError(f"{place}: {self.problem}", self.fix, self.command_fix)

    @property
    def for_command(self) -> str:
        """The message for a user of the command line."""
        return f"{self.problem}; {self.command_fix}" if self.command_fix else self.problem


def listed(names: Iterable[Any], most: int = 10) -> str:
    """Names side by side; of many the first.

    Example:
        >>> listed(["a", "b", "c", 4], most=3)
        "'a', 'b', 'c' and 1 more"
    """
    names = list(names)
    shown = ", ".join(repr(name) for name in islice(names, most))
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def close_matches(name: Any, names: Iterable[Any]) -> str:
    """What may have been meant, as the end of a message; or what there is at all.

    Example:
        >>> close_matches("wieght", ["source", "target", "weight"])
        "did you mean 'weight'?"
        >>> close_matches("x", ["source", "target"])
        "there are 'source', 'target'"
    """
    names = list(names)
    by_text = {str(known): known for known in reversed(names)}
    close = get_close_matches(str(name), by_text, n=3, cutoff=0.6)
    if close:
        return f"did you mean {' or '.join(repr(by_text[text]) for text in close)}?"
    return f"there are {listed(names)}" if names else "there are none"


def count_of(count: int, one: str, several: str | None = None) -> str:
    """A number of things; nothing for none of them.

    Example:
        >>> count_of(1, "self-loop"), count_of(2000, "self-loop"), count_of(0, "self-loop")
        ('1 self-loop', '2,000 self-loops', '')
    """
    if not count:
        return ""
    return f"{count:,} {one if count == 1 else several or one + 's'}"
