"""Optional dependencies: loaded when they are first needed, and named when they are missing."""

from importlib import import_module
from typing import Any

__all__ = ["load"]


def load(module: str, *, extra: str, purpose: str) -> Any:
    """The module of this name, which the extra ``extra`` installs.

    Args:
        module: what to import, such as ``"matplotlib.pyplot"``.
        extra: the extra of this package that brings it.
        purpose: what it is needed for, to be read behind "is needed".

    Raises:
        ImportError: if it is not there; the message names the command that installs it.

    Example:
        >>> load("no_such_module", extra="plot", purpose="to draw")
        Traceback (most recent call last):
        ImportError: no_such_module is needed to draw: pip install 'spantree[plot]'
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        if error.name is None or error.name.partition(".")[0] != package:
            raise  # it is there, and something that it needs itself is not
        message = f"{package} is needed {purpose}: pip install 'spantree[{extra}]'"
        raise ImportError(message) from None
