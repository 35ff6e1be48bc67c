"""Code in a transcript of an interactive session, behind `>>>` and `...`."""

from __future__ import annotations

import re
from collections.abc import Iterator

_LINE = re.compile(r"^[ \t]*(>>>|\.\.\.)(?: (.*)|)$")


def code_of_transcript(text: str, *, with_shown: bool) -> str | None:
    """The statements of a session; None if there are none.

    Args:
        with_shown: whether to include statements followed by output: they show what the others
            do, and may raise.
    """
    statements = [
        "\n".join(lines) for lines, is_shown in _statements(text) if with_shown or not is_shown
    ]
    return "\n".join(statements) + "\n" if statements else None


def _statements(text: str) -> Iterator[tuple[list[str], bool]]:
    """The lines of each statement, and whether output follows."""
    lines: list[str] = []
    for line in text.split("\n"):
        found = _LINE.match(line)
        if found is None:
            if lines:
                yield lines, bool(line.strip())
            lines = []
        elif found[1] == ">>>":
            if lines:
                yield lines, False
            lines = [found[2] or ""]
        elif lines:
            lines.append(found[2] or "")
    if lines:
        yield lines, False
