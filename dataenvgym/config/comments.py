"""Reads the comments of a YAML file, by key.

It supports the style of our own files: comment lines above a key, and comments after a value, which
may continue in the same column of the next lines.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

_PACKAGE = "# @package "


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
    text = file.read_text(encoding="utf-8")
    lines, comments = text.splitlines(), Comments()
    root = yaml.compose(text, yaml.SafeLoader)
    entries = list(_entries(root, ""))
    taken: set[int] = set()  # lines that are no comment of a key: in a text, or after a value
    for path, _, value, (row, column) in entries:
        if value.value and isinstance(value.value, str) and value.style in ("|", ">"):
            taken.update(range(value.start_mark.line + 1, value.end_mark.line))
            row, column = value.start_mark.line, value.start_mark.column
        behind = lines[row][column:].lstrip("|>+-0123456789 ")
        if behind.startswith("#"):
            place = " " * (len(lines[row]) - len(behind)) + "#"
            comments.behind[path] = behind.lstrip("#").strip()
            while row + 1 < len(lines) and lines[row + 1].startswith(place):
                row += 1
                taken.add(row)
                comments.behind[path] += f" {lines[row].strip().lstrip('#').strip()}"
    row = 0
    if lines and lines[0].startswith(_PACKAGE):
        comments.package, row = lines[0].removeprefix(_PACKAGE).split()[0], 1
    while row < len(lines) and lines[row].startswith("#"):
        comments.head.append(lines[row].lstrip("#").strip())
        row += 1
    for path, key_row, _, _ in entries:
        between = [line.strip() for n, line in enumerate(lines[row:key_row], row) if n not in taken]
        if above := [line.lstrip("#").strip() for line in between if line.startswith("#")]:
            comments.above[path] = above
        row = key_row + 1
    for key, value in root.value if isinstance(root, yaml.MappingNode) else ():
        if key.value == "defaults":
            names = [each.value for each in value.value if isinstance(each, yaml.ScalarNode)]
            comments.included = [name for name in names if name != "_self_"]
    return comments


def _entries(node: Any, prefix: str) -> Iterator[tuple[str, int, Any, tuple[int, int]]]:
    """Each key of block mappings: its path, its line, its value, and where the value ends.

    The value of a key with a block below it "ends" behind the colon.
    """
    if not isinstance(node, yaml.MappingNode) or node.flow_style:
        return
    for key, value in node.value:
        path = f"{prefix}{key.value}"
        is_block = not isinstance(value, yaml.ScalarNode) and not value.flow_style
        end, after = (key.end_mark, 1) if is_block else (value.end_mark, 0)
        yield path, key.start_mark.line, value, (end.line, end.column + after)
        yield from _entries(value, f"{path}.")
