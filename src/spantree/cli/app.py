"""The subcommands, gathered, and how all of them fail: one line, exit code 2."""

import sys

import typer

__all__ = ["app", "run"]

app = typer.Typer(
    name="spantree",
    help="Exact inference over the spanning trees of weighted graphs.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)


@app.callback()
def _spantree() -> None:
    """Exact inference over the spanning trees of weighted graphs."""


def run() -> None:
    """Runs the command; what is wrong with an input is said in one line, without a traceback."""
    try:
        app()
    except (ImportError, OSError, TypeError, ValueError) as error:
        print(f"spantree: {error}", file=sys.stderr)
        sys.exit(2)
