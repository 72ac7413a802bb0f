"""Progress bars on standard error, on a terminal only."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

__all__ = ["Stages"]


class Stages:
    """The stages of a job, each with a bar; the bars vanish when the job is done.

    Args:
        quiet: whether to show nothing.

    Example:
        >>> with Stages(quiet=True) as stages, stages.stage("reading") as report:
        ...     report(0.5)
    """

    def __init__(self, *, quiet: bool) -> None:
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            transient=True,
            disable=quiet or not sys.stderr.isatty(),
        )

    def __enter__(self) -> "Stages":
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    @contextmanager
    def stage(self, title: str) -> Iterator[Callable[[float], None]]:
        """A stage; its bar pulses until the share that is done is reported."""
        task = self._progress.add_task(title, total=None)
        yield lambda share: self._progress.update(task, completed=share, total=1.0)
        self._progress.update(task, completed=1.0, total=1.0)
