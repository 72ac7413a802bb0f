"""Everything in README and docs that can be run is run.

Python blocks are doctests, run by ``make doctest``; here it is held that none escapes. Commands are
run here, in an empty folder with the files that their page shows (blocks with a title). Those that
would change the machine, ``make`` and ``pip``, are compared with what the project defines instead.
"""

import doctest
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.docs.blocks import PAGES, ROOT, Command, blocks_of, commands_of, files_of

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
LIMIT = 600  # seconds for one command

# What is taken for granted, or described by the page itself.
SETTING_UP = {"cd"}


def _name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def _takes_long(commands: list[Command]) -> bool:
    return any(
        command.words[0] == "python" or command.words[:2] == ["spantree", "demo"]
        for command in commands
    )


COMMANDS = [
    pytest.param(page, id=_name(page), marks=[pytest.mark.slow] if _takes_long(found) else [])
    for page in PAGES
    if (found := commands_of(blocks_of(page)))
]


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_python_blocks_are_doctests(page):
    for block in blocks_of(page):
        if block.language in {"python", "py", "pycon"} and not block.title:
            where = f"{_name(page)}, line {block.line}"
            assert block.text.lstrip().startswith(">>>"), f"{where}: Python without a prompt"
            assert doctest.DocTestParser().get_examples(block.text), f"{where}: no example"
            skipped = re.search(r"doctest: *\+SKIP", block.text)
            assert skipped is None, f"{where}: an example is skipped"


def test_doctests_are_run_by_the_check():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (recipe,) = re.findall(r"^doctest:.*\n\t(.*)$", makefile, flags=re.MULTILINE)
    assert "--doctest-glob='*.md'" in recipe
    assert {"README.md", "docs"} <= set(recipe.split())
    (everything,) = re.findall(r"^check: ([^#]*)", makefile, flags=re.MULTILINE)
    assert {"doctest", "slow", "test"} <= set(everything.split())


@pytest.mark.parametrize("page", COMMANDS)
def test_commands(page, tmp_path):
    """In order and in one folder, so that a command finds what the one before has written."""
    blocks = blocks_of(page)
    for name, text in files_of(blocks).items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    for name in ("benchmarks", "examples"):
        (tmp_path / name).symlink_to(ROOT / name)
    for command in commands_of(blocks):
        where = f"{_name(page)}, line {command.line}"
        program = command.words[0]
        if program == "make":
            _check_make(command.words[1:], where)
        elif command.words[:2] == ["pip", "install"]:
            _check_pip(command.words[2:], where)
        elif program in {"spantree", "python"}:
            printed = _run(command.words, tmp_path, where)
            if command.output is not None:
                fits = doctest.OutputChecker().check_output(command.output, printed, FLAGS)
                assert fits, f"{where}: expected\n{command.output}\ngot\n{printed}"
        else:
            assert program in SETTING_UP, f"{where}: nothing is known about {program!r}"


def _run(words: list[str], folder: Path, where: str) -> str:
    program = [sys.executable] if words[0] == "python" else [sys.executable, "-m", "spantree"]
    environment = os.environ | {"COLUMNS": "100", "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(
        [*program, *words[1:]],
        cwd=folder,
        env=environment,
        capture_output=True,
        encoding="utf-8",
        timeout=LIMIT,
        check=False,
    )
    assert done.returncode == 0, f"{where}: {' '.join(words)} failed\n{done.stdout}{done.stderr}"
    return done.stdout


def _check_make(arguments: list[str], where: str) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, flags=re.MULTILINE))
    for argument in arguments:
        if "=" not in argument:
            assert argument in targets, f"{where}: the Makefile has no target {argument!r}"


def _check_pip(arguments: list[str], where: str) -> None:
    """This package, by name, folder or wheel, with extras that it has."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for argument in arguments:
        form = re.fullmatch(r"(spantree|\.|dist/spantree-\*\.whl)(?:\[([a-z,-]+)\])?", argument)
        assert form is not None, f"{where}: nothing is known about {argument!r}"
        extras = set(form[2].split(",")) if form[2] else set()
        missing = extras - set(project["optional-dependencies"])
        assert not missing, f"{where}: pyproject.toml has no extra {missing}"
