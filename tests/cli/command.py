"""The command line, run inside the process of the tests."""

from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from spantree.cli.app import app

__all__ = ["EDGES", "failure", "run"]

EDGES = "source,target,weight\ns,a,3\ns,b,1\na,b,1\nb,a,2\n"  # three trees


def run(*arguments: str | Path) -> Any:
    """Run ``spantree`` with these arguments."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def failure(*arguments: str | Path) -> str:
    """The one line on standard error of a command that must fail, without its beginning."""
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("spantree: ")
    assert result.stderr.count("\n") == 1
    return result.stderr.removeprefix("spantree: ").removesuffix("\n")
