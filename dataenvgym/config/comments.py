"""Reads the comments of a YAML file, by key.

It supports the style of our own files: block mappings, comment lines above a key, and comments
after a value, which may continue in the same column of the next lines.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

_KEY = re.compile(r"(?P<indent> *)(?P<key>[^\s#'\"{\[-][^\s:]*):(?=\s|$)(?P<rest>.*)")


@dataclass
class Comments:
    """The comments of one file.

    Attributes:
        head: lines before the first key, without Hydra's `# @package`.
        package: of `# @package`, or None.
        above: by dotted key, the lines above it.
        behind: by dotted key, the text after its value.
        included: names in the file's `defaults` list; they are files in the same folder.
    """

    head: list[str] = field(default_factory=list)
    package: str | None = None
    above: dict[str, list[str]] = field(default_factory=dict)
    behind: dict[str, str] = field(default_factory=dict)
    included: list[str] = field(default_factory=list)


def read_comments(file: Path) -> Comments:
    """The comments in a YAML file."""
    reader = _Reader()
    for line in file.read_text(encoding="utf-8").splitlines():
        reader.read(line)
    return reader.comments


class _Reader:
    def __init__(self) -> None:
        self.comments = Comments()
        self._open: list[tuple[int, str]] = []  # indents and names of the open keys
        self._pending: list[str] = []
        self._last: tuple[str, int] | None = None  # a key, and the column of its comment
        self._text_in: int | None = None  # the indent of the key of the open text block

    def read(self, line: str) -> None:
        stripped = line.strip()
        indent = len(line) - len(line.lstrip(" "))
        if self._text_in is not None and (not stripped or indent > self._text_in):
            return
        self._text_in = None
        if not stripped:
            self._end_head()
            self._last = None
        elif stripped.startswith("#"):
            self._comment(stripped.lstrip("#").strip(), stripped, indent)
        elif match := _KEY.fullmatch(line):
            self._end_head()
            self._key(match["key"], match["rest"], indent, len(line) - len(match["rest"]))
        elif stripped.startswith("- ") and self._path() == "defaults":
            self._default(stripped[2:])

    def _comment(self, text: str, stripped: str, indent: int) -> None:
        if match := re.match(r"# @package (\S+)", stripped):
            self.comments.package = match[1]
        elif self._last is not None and indent == self._last[1]:
            self.comments.behind[self._last[0]] += f" {text}"
        else:
            self._pending.append(text)

    def _key(self, key: str, rest: str, indent: int, offset: int) -> None:
        self._open = [(i, name) for i, name in self._open if i < indent] + [(indent, key)]
        path = self._path()
        if self._pending:
            self.comments.above[path] = self._pending
            self._pending = []
        place = _comment_in(rest)
        value = rest if place is None else rest[:place]
        self._last = None
        if place is not None:
            self.comments.behind[path] = rest[place:].lstrip("#").strip()
            self._last = (path, offset + place)
        if value.strip()[:1] in ("|", ">"):
            self._text_in = indent

    def _end_head(self) -> None:
        """End the head: the comment lines up to the first empty line or key."""
        if not self._open and not self.comments.head:
            self.comments.head, self._pending = self._pending, []

    def _default(self, text: str) -> None:
        name = text.partition("#")[0].strip()
        if ":" not in name and name != "_self_":
            self.comments.included.append(name)

    def _path(self) -> str:
        return ".".join(name for _, name in self._open)


def _comment_in(text: str) -> int | None:
    """The position of a comment in the text after a key; None without one."""
    quote = ""
    for i, c in enumerate(text):
        if quote:
            quote = "" if c == quote else quote
        elif c in "'\"":
            quote = c
        elif c == "#" and text[i - 1 : i].isspace():
            return i
    return None
