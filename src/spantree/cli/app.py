"""The subcommands, gathered."""

import signal
import sys

import typer

from spantree.cli.demo import demo
from spantree.cli.failures import OneLineFailures
from spantree.cli.infer import infer

__all__ = ["app", "run"]

app = typer.Typer(
    cls=OneLineFailures,
    name="spantree",
    help="Exact inference over the spanning trees of weighted graphs.",
    invoke_without_command=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)


@app.callback()
def _spantree(context: typer.Context) -> None:
    """Exact inference over the spanning trees of weighted graphs."""
    if context.invoked_subcommand is None:
        print(context.get_help())


app.command()(demo)
app.command()(infer)


def run() -> None:
    """Runs the command; see `failures` for how it fails."""
    # So that what is half done is cleaned away, as after an interrupt.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    app()
