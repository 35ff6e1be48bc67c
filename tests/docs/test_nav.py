"""The nav: patterns, and every page in it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.utils.yaml import yaml_load

from docs.generate.nav import expanded
from docs.generate.pages import generated_pages

ROOT = Path(__file__).parents[2]


def test_a_pattern_takes_the_pages_that_no_entry_names():
    nav = [{"A": ["a.md", "a_*.md"]}, {"B": "b*.md"}, {"None": ["c*.md"]}, "a_2.md"]
    assert expanded(nav, ["a.md", "a_3.md", "a_1.md", "a_2.md", "b.md"]) == [
        {"A": ["a.md", "a_1.md", "a_3.md"]},
        {"B": "b.md"},
        "a_2.md",
    ]


def test_the_first_pattern_takes_a_page():
    assert expanded(["a*.md", "*.md"], ["ab.md", "b.md"]) == ["ab.md", "b.md"]


def test_each_page_is_in_the_nav_once():
    with (ROOT / "mkdocs.yml").open() as file:
        nav = yaml_load(file)["nav"]
    written = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    pages = written | set(generated_pages())
    assert sorted(paths(expanded(nav, pages))) == sorted(pages)


def paths(nav: Any) -> Iterator[str]:
    if isinstance(nav, str):
        yield nav
    else:
        for part in nav.values() if isinstance(nav, dict) else nav:
            yield from paths(part)
