"""The reference has every public name, and what the pages point at is there."""

import importlib
import re

import pytest

from tests.docs.blocks import PAGES, ROOT

REFERENCE = ROOT / "docs" / "reference"
MODULES = [
    "spantree",
    "spantree.objectives",
    "spantree.totals",
    "spantree.graphs",
    "spantree.pictures",
]


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_is_in_the_reference(module):
    pages = "\n".join(page.read_text(encoding="utf-8") for page in REFERENCE.glob("*.md"))
    shown = set(re.findall(r"^::: (\S+)", pages, flags=re.MULTILINE))
    if module in shown:
        return  # with all that it exports
    names = {f"{module}.{name}" for name in importlib.import_module(module).__all__}
    assert names <= shown, f"not in docs/reference: {sorted(names - shown)}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_that_are_named_exist(page):
    text = page.read_text(encoding="utf-8")
    named = re.findall(r"\b((?:benchmarks|examples|tests|tools)/[\w/.-]*\w)", text)
    missing = [name for name in named if not (ROOT / name).exists()]
    assert not missing, f"there is no {missing}"


def test_links_of_the_readme():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.findall(r"\]\(([^)]+)\)|src=\"([^\"]+)\"", text)
    links = [(link or image).partition("#")[0] for link, image in found]
    missing = [x for x in links if x and "://" not in x and not (ROOT / x).exists()]
    assert not missing, f"there is no {missing}"


def test_every_part_of_the_package_has_a_place_in_the_architecture():
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    parts = {path.stem for path in (ROOT / "src" / "spantree").iterdir() if path.stem[0] != "_"}
    missing = sorted(part for part in parts - {"py"} if f"`spantree.{part}`" not in text)
    assert not missing, f"docs/architecture.md says nothing of {missing}"
