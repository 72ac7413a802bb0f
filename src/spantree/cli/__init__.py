"""The command ``spantree``: it parses arguments and prints; one file per subcommand."""

import sys

__all__ = ["main"]


def main() -> None:
    """Runs the command line; without its extra, says in one line what is missing."""
    try:
        from spantree.cli.app import run
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in ("typer", "rich"):
            raise
        print(
            f"spantree: {package} is needed for the command line: pip install 'spantree[cli]'",
            file=sys.stderr,
        )
        sys.exit(2)
    run()
