"""Documents: what a command shows, as plain data, and how it is written for people.

A document is a list of lines, tables, quotes and files. `show` writes it to a terminal, `markdown`
as Markdown, `html` for a notebook, and `as_json` as JSON. Any text in it may come from a model:
only the renderers spell out control characters, show brackets literally and escape Markdown, so it
holds everywhere.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import Any, Literal, NamedTuple

from rich import box
from rich import table as rich_table
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from dataenvgym.errors import shorten

Row = Mapping[Any, object]
"""The cells of a row by the names of their columns."""
Style = Literal["text", "title", "section", "note", "warning", "good", "bad"]
_LOOKS = {"title": "bold", "section": "bold cyan", "note": "dim", "warning": "yellow",
          "good": "green", "bad": "red"}  # fmt: skip
_MARKS = {"title": "# ", "section": "## ", "warning": "- **Warning**: "}
_HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_WIDEST = 28
"""Columns of a terminal that a column of texts may take beside columns of numbers."""


class Line(NamedTuple):
    """A sentence, or a heading; a text alone is a `Line` too."""

    text: str
    style: Style = "text"


class Table(NamedTuple):
    """Columns of texts, then columns of numbers.

    In a cell, None is shown as a dash, and a float with three digits.

    Attributes:
        texts: the number of columns of texts.
        total: True if the last row sums up the others.
        brief: True if a terminal cuts the last column, so that each row is one line.
    """

    names: Sequence[str]
    rows: Sequence[Sequence[object]]
    title: str = ""
    texts: int = 1
    total: bool = False
    brief: bool = False


def table(rows: Iterable[Row], title: str = "", *, texts: int = 1, total: bool = False) -> Table:
    """A table of rows by the names of their columns; a column without any value is left out.

    A name may be a tuple, whose last part is shown: so a user's name never meets another one.
    """
    rows = list(rows)
    known = dict.fromkeys(name for row in rows for name in row)
    names = [name for name in known if any(row.get(name) is not None for row in rows)]
    cells = [[row.get(name) for name in names] for row in rows]
    heads = [n if isinstance(n, str) else shorten(" ".join(n[-1].split()), 40) for n in names]
    return Table(heads, cells, title, texts, total)


class Quote(NamedTuple):
    """A text with line ends, such as a conversation, below its title."""

    title: str
    text: str
    style: Style = "text"


class File(NamedTuple):
    """A file, and what is in it; an image is shown in Markdown."""

    path: Path
    what: str = ""


Document = Iterable[str | Line | Table | Quote | File]


def plain(text: str) -> str:
    """`text` with control characters and text-direction overrides spelled out, as `\\x1b`.

    Line ends and tabs stay; nothing in the result can move a cursor or change a color.
    """
    return _HIDDEN.sub(lambda found: ascii(found[0])[1:-1], text.replace("\r\n", "\n"))


def show(document: Document, console: Console) -> None:
    """Write a document to a terminal.

    A table that is too wide is continued below, as that of a data frame. Elsewhere than on a
    terminal, lines are not wrapped, and tables not split.
    """
    before: object = None
    for part in document:
        part = Line(part) if isinstance(part, str) else part
        is_block = isinstance(part, Table | Quote) or part[1] == "section"
        if before is not None and (is_block or isinstance(before, Table | Quote)):
            console.print()
        before = part
        match part:
            case Line(text, style):
                words = plain(f"warning: {text}" if style == "warning" else text)
                whole = not console.is_terminal
                console.print(Text(words, style=_LOOKS.get(style, "")), soft_wrap=whole)
            case File(path, what):
                console.print(Text(plain(f"{path}  {what}".rstrip())), soft_wrap=True)
            case Quote(title, text, style):
                console.print(Text(plain(title), _LOOKS.get(style, "bold")), soft_wrap=True)
                for line in Text(plain(text).rstrip()).wrap(console, max(20, console.width - 2)):
                    line.rstrip()
                    console.print(Text("  ").append_text(line) if line.plain else Text())
            case Table():
                if part.title:
                    console.print(Text(plain(part.title), style="bold"), soft_wrap=True)
                is_whole = not console.is_terminal and part.texts < len(part.names)
                width = None if is_whole else console.width
                for i, each in enumerate(_fitting(part, width)):
                    if i:
                        console.print()
                    console.print(each, crop=width is not None)


def _fitting(table: Table, width: int | None) -> Iterator[rich_table.Table]:
    """The table in as many parts as this width needs, each with the columns of texts.

    Without a width, all of it, each cell on one line.
    """
    cells = [[plain(_cell(cell)) for cell in row] for row in (table.names, *table.rows)]
    widths = [2 + max(map(cell_len, column)) for column in zip(*cells, strict=True)]
    room = math.inf
    if width is not None:
        room = width - sum(min(one, _WIDEST) for one in widths[: table.texts])
    if table.brief and width is not None:
        most = max(20, width - sum(widths[:-1]))
        cells = [[*row[:-1], shorten(row[-1], most)] for row in cells]
    parts: list[list[int]] = [[]]
    for i in range(table.texts, len(widths)):
        if parts[-1] and sum(widths[j] for j in parts[-1]) + widths[i] > room:
            parts.append([])
        parts[-1].append(i)
    for numbers in parts:
        # the box puts one blank between columns
        made = rich_table.Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False,
                                padding=(0, 1, 0, 0), show_header=any(cells[0]))  # fmt: skip
        for i in (*range(table.texts), *numbers):
            is_text = i < table.texts
            made.add_column(
                Text(cells[0][i]),
                justify="left" if is_text else "right",
                overflow="fold",
                min_width=widths[i] - 2 if width is None else None,
                max_width=_WIDEST if is_text and numbers and width is not None else None,
            )
        if width is None:
            made.width = sum(widths)
        for row in cells[1:]:
            style = "bold" if table.total and row is cells[-1] else None
            made.add_row(*(Text(row[i]) for i in (*range(table.texts), *numbers)), style=style)
        yield made


def markdown(document: Document) -> str:
    """The document in Markdown."""
    return "\n\n".join(map(_block, document)) + "\n"


def _block(part: str | Line | Table | Quote | File) -> str:
    match part:
        case Line(text, style):
            return f"{_MARKS.get(style, '')}{inline(text)}"
        case File(path, what):
            is_image = path.suffix == ".png"
            return f"{'!' * is_image}[{inline(what or path.name)}]({path.name})"
        case Quote(title, text):
            text = plain(text)
            longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
            fence = "`" * max(3, longest + 1)
            return f"{inline(title)}\n\n{fence}text\n{text}\n{fence}"
        case Table():
            lines = [f"**{inline(part.title)}**\n"] if part.title else []
            marks = ["---"] * part.texts + ["---:"] * (len(part.names) - part.texts)
            rows = [map(inline, part.names), marks, *(map(inline, row) for row in part.rows)]
            return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])
    return inline(part)


def inline(text: object) -> str:
    """A text on one line of Markdown, or in a cell of a table."""
    line = " ".join(plain(_cell(text)).split())
    return re.sub(r"([\\`*_{}\[\]<|#])", r"\\\1", line)


def as_json(document: Document) -> str:
    """The parts of the document as JSON, each with its `kind` and its fields."""
    parts = (Line(part) if isinstance(part, str) else part for part in document)
    found = [{"kind": type(part).__name__.lower(), **part._asdict()} for part in parts]
    return json.dumps(found, indent=1, default=str)


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def html(document: Document) -> str:
    """The document as a terminal shows it, in self-contained HTML."""
    console = Console(record=True, file=StringIO(), width=100, highlight=False)
    show(document, console)
    return console.export_html(inline_styles=True, code_format="<pre>{code}</pre>")
