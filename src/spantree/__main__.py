"""``python -m spantree`` is the command ``spantree``."""

from spantree.cli import main

main()
