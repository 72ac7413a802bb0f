"""How every subcommand fails: one line on standard error, exit code 2."""

import os
import sys
from typing import Any

import typer
from typer.core import TyperGroup

__all__ = ["OneLineFailures"]

# Typer keeps a copy of click of its own, since some version; this is the one it raises.
_ClickException = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException")


class OneLineFailures(TyperGroup):
    """A group of commands that says what is wrong in one line, without a traceback."""

    def main(self, *args: Any, standalone_mode: bool = True, **extra: Any) -> Any:
        """Runs a command and, unless ``standalone_mode`` is False, exits with its code."""
        if not standalone_mode:
            return super().main(*args, standalone_mode=False, **extra)
        try:
            code = super().main(*args, standalone_mode=False, **extra)
            sys.stdout.flush()  # here, and not when it is too late to say what goes wrong
        except BrokenPipeError:  # the reader of a pipe has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(0)
        except (typer.Abort, KeyboardInterrupt):
            code = 130
        except Exception as error:
            message = _message(error)
            if message is None:
                raise
            print(f"spantree: {message}", file=sys.stderr)
            sys.exit(2)
        if code == 130:
            print("spantree: interrupted", file=sys.stderr)
        sys.exit(code if isinstance(code, int) else 0)


def _message(error: Exception) -> str | None:
    """What is wrong with the input, or None for an error of ours."""
    if isinstance(error, _ClickException):
        context = getattr(error, "ctx", None)
        more = f" (see {context.command_path} --help)" if context is not None else ""
        return " ".join(error.format_message().split()) + more  # pyright: ignore
    if hasattr(error, "for_command"):
        message = error.for_command  # pyright: ignore[reportAttributeAccessIssue]
    elif isinstance(error, OSError) and error.strerror is not None:
        message = error.strerror + (f": {error.filename}" if error.filename else "")
    elif isinstance(error, MemoryError) or "not enough memory" in str(error):
        message = f"not enough memory: {error}"
    elif isinstance(error, (ImportError, OSError, TypeError, ValueError)):
        message = str(error)
    else:
        return None
    return " ".join(message.split())
