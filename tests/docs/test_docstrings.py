"""Docstrings in the generated reference."""

import re
from pathlib import Path

import griffe
import pytest

from docs.generate.docstrings import (
    ReadableDocstrings,
    with_columns,
    with_links,
)

SOURCE = '''
"""A module.

alpha      the first part
beta       the second part, whose text
           takes two lines
"""

from dataclasses import dataclass


@dataclass
class Point:
    """A point.

    Attributes:
        x: how far right.
    """

    x: float
    y: float = 0.5
    _hidden: int = 0

    def __call__(self):
        """Call it."""

    def __repr__(self):
        """As text."""


def move(point, *, x, y, **options):
    """Move it.

    Args:
        point: a point.
        x, y: how far,
            in meters.
        options: more.

    Raises:
        ValueError: if it is too far.
    """
'''


@pytest.fixture(scope="module")
def module(tmp_path_factory):
    folder = tmp_path_factory.mktemp("docstrings")
    package = folder / "sample"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "points.py").write_text(SOURCE)
    extensions = griffe.load_extensions(ReadableDocstrings())
    return griffe.load("sample", search_paths=[folder], extensions=extensions)["points"]


def test_an_entry_for_several_parameters_counts_for_each(module):
    lines = module["move"].docstring.value.splitlines()
    begin = lines.index("Args:")
    assert lines[begin + 1 : begin + 7] == [
        "    point: a point.",
        "    x: how far,",
        "        in meters.",
        "    y: how far,",
        "        in meters.",
        "    **options: more.",
    ]
    assert lines[begin + 7 : begin + 10] == ["", "Raises:", "    ValueError: if it is too far."]


def test_fields_that_a_docstring_leaves_out_are_listed_with_their_defaults(module):
    assert module["Point.__repr__"].docstring is None
    assert module["Point.__call__"].docstring is not None
    text = module["Point"].docstring.value
    assert text.splitlines()[-2:] == ["    x: how far right.", "    y: default `0.5`."]


def test_aligned_columns_become_a_literal_block(module):
    assert "\n    alpha      the first part\n    beta  " in module.docstring.value
    assert with_columns("Two  words, and\nanother line.") == "Two  words, and\nanother line."


def test_a_page_that_a_docstring_names_exists_and_is_linked():
    assert with_links("See docs/social.md.") == "See [docs/social.md](../../social.md)."
    root = Path(__file__).parents[2]
    code = "\n".join(file.read_text() for file in (root / "dataenvgym").rglob("*.py"))
    pages = set(re.findall(r"\bdocs/[\w/]+\.md", code))
    assert len(pages) > 3
    assert [page for page in pages if not (root / page).exists()] == []
