"""The pages of documentation as tests read them: commands, Python blocks and files of readers."""

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
AT_THE_TOP = (*sorted(path.name for path in ROOT.glob("*.md")), "llms.txt")
PAGES = {
    str(path.relative_to(ROOT)): path.read_text()
    for path in (*sorted(ROOT.glob("docs/**/*.md")), *(ROOT / name for name in AT_THE_TOP))
}
_BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.DOTALL | re.MULTILINE)

_COMMAND = re.compile(
    r"^ {4,}(?P<line>(?:dataenvgym|cd|python -m pytest) .+)$"
    r"|`(?:\.venv/bin/)?(?P<inline>dataenvgym [^`\n]+)`",
    re.MULTILINE,
)


class Block(NamedTuple):
    """A fenced block; one with a title is a file of the reader's folder."""

    language: str
    title: str
    text: str


def blocks(page: str) -> list[Block]:
    return [Block(*found) for found in _BLOCK.findall(PAGES[page])]


def files(page: str) -> dict[str, str]:
    """The files that a reader of the page writes, by name."""
    return {block.title: block.text for block in blocks(page) if block.title}


def commands(page: str) -> list[str]:
    """The lines with `dataenvgym`, of blocks and inside of sentences, without comments, in order.

    Lines of blocks that change the folder or run a test come with them. A line with `...` or
    COMMAND among its words, and an inline one without arguments, only name a command.
    """
    text = PAGES[page].replace("\\\n", " ")
    found = _COMMAND.finditer(text)
    lines = []
    for each in found:
        words = re.split(r"\s+#(?!#)", each["line"] or each["inline"])[0].split()
        is_name = len(words) == 2 or words[1:] == ["external", "install"]
        if not {"...", "COMMAND"} & set(words) and (each["line"] or not is_name):
            lines.append(" ".join(words))
    return lines
