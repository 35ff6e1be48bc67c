"""The pages of documentation: each is linked, lists are lists, tables name every option.

`make docs` tests that links lead somewhere and that the nav has each page; the files beside this
one test what the site generates, and that Python blocks and commands run.
"""

import os
import re
import tomllib
from pathlib import Path

import pytest

from dataenvgym.runs.config.groups import is_base, sources_by_group
from tests.docs.pages import PAGES, ROOT


def outside_of_code(text: str) -> str:
    return re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)


LINKS = [
    (page, link)
    for page, text in PAGES.items()
    for link in re.findall(r"\]\(([^)\s]+)\)", outside_of_code(text))
    if not link.startswith(("http://", "https://"))
]


def test_each_page_is_linked_from_another_one():
    linked = {(Path(page).parent / link.partition("#")[0]).as_posix() for page, link in LINKS}
    linked = {os.path.normpath(link) for link in linked}
    pages = {page for page in PAGES if page.startswith("docs/")}
    assert pages - {"docs/index.md", "docs/reference/index.md"} <= linked


def test_a_list_has_an_empty_line_above_it_or_the_site_shows_it_as_text():
    found = {}
    for page, text in PAGES.items():
        text = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
        # 1 alone: other numbers at the beginning of a line may belong to a sentence
        items = re.findall(r"^(?![-*] |\d+\. |#|\s).+\n((?:[-*]|1\.) .*)", text, re.MULTILINE)
        found |= {page: items} if items else {}
    assert found == {}


@pytest.mark.parametrize("group", ["agent", "agent/engine", "skills", "quality"])
def test_the_page_on_strategies_names_each_option(group):
    named = set(re.findall(r"`(?:[\w/]+=)?(\w+)`", PAGES["docs/strategies.md"]))
    options = {name for name in sources_by_group()[group] if not is_base(name)}
    assert options - named - {"custom"} == set()


def test_the_page_on_architecture_names_each_room():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    layers = contracts["contracts"][0]["layers"]
    parts = {part for layer in layers for part in layer.split(" : ")}
    named = set(re.findall(r"`(\w+)`", PAGES["docs/architecture.md"]))
    assert parts <= named
    drawn = set((ROOT / "docs/architecture.svg").read_text().replace("<", ">").split(">"))
    assert {part for part in parts if (ROOT / "dataenvgym" / part).is_dir()} - drawn == {"domains"}
