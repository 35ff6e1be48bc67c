"""How much there is to read: pages, words, and the way to a first result of one's own.

`python -m tools.words` prints a table; `tests/docs/test_words.py` holds each line to its maximum.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
DOORS = ("compare_a_strategy", "improve_my_model", "add_a_domain")
"""Pages that the first screen leads to, each with a result of one's own at its end."""

_NOT_PROSE = re.compile(r"^(```.*?^```| {4,}.*?| *\|.*?| *!\[.*?)$", re.MULTILINE | re.DOTALL)


class Count(NamedTuple):
    """A count and its maximum."""

    name: str
    number: int
    most: int


def counts() -> list[Count]:
    """The pages and words of docs/ and of the README; words are those of `wc -w`."""
    pages = {str(path.relative_to(ROOT)): path.read_text() for path in ROOT.glob("docs/**/*.md")}
    readme = len(prose((ROOT / "README.md").read_text()).split())
    return [
        Count("pages under docs/", len(pages), 32),
        Count("words of these pages", sum(len(text.split()) for text in pages.values()), 35_000),
        Count("README, words beside code and tables", readme, 700),
        *(
            Count(
                f"README's words and those of {door}.md",
                readme + len(pages[f"docs/{door}.md"].split()),
                1500,
            )
            for door in DOORS
        ),
    ]


def prose(page: str) -> str:
    """A page without its code blocks, tables and pictures."""
    return _NOT_PROSE.sub("", page)


if __name__ == "__main__":
    for count in counts():
        print(f"{count.name:50} {count.number:6,} of at most {count.most:6,}")
