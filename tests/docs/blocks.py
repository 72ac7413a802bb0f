"""The fenced blocks of the documentation, and what a reader would do with them."""

import re
import shlex
from pathlib import Path
from typing import NamedTuple

__all__ = ["PAGES", "ROOT", "Block", "Command", "blocks_of", "commands_of", "files_of"]

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]

_FENCE = re.compile(r"^( *)(```+)(.*)$")


class Block(NamedTuple):
    """A fenced block.

    Attributes:
        language: the first word behind the fence.
        title: the name of the file that the block shows, or "".
        line: where its text begins.
        text: what it says.
    """

    language: str
    title: str
    line: int
    text: str


class Command(NamedTuple):
    """A line for the shell, and what it should print if the page shows that."""

    line: int
    words: list[str]
    output: str | None


def blocks_of(page: Path) -> list[Block]:
    """The fenced blocks of a page, in order."""
    blocks: list[Block] = []
    lines = page.read_text(encoding="utf-8").splitlines()
    opened: tuple[str, str, int] | None = None
    for number, line in enumerate(lines):
        fence = _FENCE.match(line)
        if fence is None:
            continue
        if opened is None:
            opened = (fence[2], fence[3].strip(), number + 1)
        elif fence[2] == opened[0] and not fence[3].strip():
            _, info, first = opened
            title = re.search(r'title="([^"]*)"', info)
            text = "\n".join(lines[first:number]) + "\n"
            language = info.split()[0] if info else ""
            blocks.append(Block(language, title[1] if title else "", first + 1, text))
            opened = None
    assert opened is None, f"{page}: the fence opened at line {opened[2]} is never closed"
    return blocks


def files_of(blocks: list[Block]) -> dict[str, str]:
    """The files that a page shows: blocks with a title, by name."""
    return {block.title: block.text for block in blocks if block.title}


def commands_of(blocks: list[Block]) -> list[Command]:
    """The commands of a page.

    Every line of an ``sh`` block is one, but for comments; a backslash joins lines. In a
    ``console`` block lines with a prompt ``$`` are, and what follows is what they print.
    """
    found: list[Command] = []
    for block in blocks:
        if block.language == "sh":
            text = block.text.replace("\\\n", " \n")
            lines = text.replace(" \n", " ").splitlines()
            for offset, line in enumerate(lines):
                if words := shlex.split(line, comments=True):
                    found.append(Command(block.line + offset, words, None))
        elif block.language == "console":
            found.extend(_console(block))
    return found


def _console(block: Block) -> list[Command]:
    parts = re.split(r"^\$ ", block.text, flags=re.MULTILINE)
    assert not parts[0].strip(), f"line {block.line}: output before the first prompt"
    commands, line = [], block.line
    for part in parts[1:]:
        command, _, output = part.partition("\n")
        commands.append(Command(line, shlex.split(command, comments=True), output))
        line += part.count("\n")
    return commands
