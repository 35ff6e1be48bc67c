import io
from pathlib import Path

import pytest
from rich.console import Console

from dataenvgym.runs.documents import (
    File,
    Line,
    Quote,
    Table,
    as_json,
    html,
    inline,
    markdown,
    show,
)

EVIL = "[red]a[/red] \x1b[2J\u202e | `b` <script>\n# c"
DOCUMENT = [
    Line("A title", "title"),
    f"A sentence: {EVIL}",
    Line(f"A warning: {EVIL}", "warning"),
    Line("Figures", "section"),
    Table(("name", "n", "score"), [(EVIL, 1, "0.500"), ("all", 12, "-")], "A table", total=True),
    Table(("", ""), [("task", "a long text with many words " * 3)], texts=2),
    Line("A note", "note"),
    Quote("A record", f"user: x\n  {EVIL}\n````"),
    File(Path("run/curve.png"), "the curve"),
    File(Path("run/summary.json"), "figures"),
]


@pytest.fixture
def on():
    """Shows a document in a console of this width."""

    def write(document, width=80, **options):
        kind = {"force_terminal": True, "color_system": None, "legacy_windows": False}
        console = Console(file=io.StringIO(), width=width, **(kind | options))
        show(document, console)
        return console.file.getvalue()

    return write


def test_a_document_on_a_terminal(on, shown):
    shown("document.txt", on(DOCUMENT))


def test_a_document_in_markdown(shown):
    shown("document_md.txt", markdown(DOCUMENT))


def test_a_document_in_json(shown):
    shown("document.json", as_json(DOCUMENT))


@pytest.mark.parametrize("write", [markdown, html])
def test_nothing_moves_the_cursor_or_the_direction_of_the_text(write):
    assert not {"\x1b", "\u202e"} & {*write(DOCUMENT)}


def test_html_of_a_text_is_shown_and_not_run():
    assert "<script>" not in html(DOCUMENT)


def test_nothing_but_the_renderer_writes_escapes_to_a_terminal(on):
    text = on(DOCUMENT, color_system="standard")
    assert "\x1b[2J" not in text
    assert "\u202e" not in text
    assert "\x1b[1mA title" in text


def test_a_text_cannot_break_its_line_or_table():
    assert inline("a | b\n[c](d) <e>") == r"a \| b \[c\](d) \<e>"


def test_a_fence_is_longer_than_the_backticks_within():
    assert "\n`````text\n" in markdown([Quote("t", "a ```` b")])


def test_a_wide_table_is_continued_below_with_its_names(on):
    names = ("strategy", *(f"measure {i}" for i in range(8)))
    lines = on([Table(names, [("random", *[0.125] * 8)])], width=60).splitlines()
    assert max(map(len, lines)) <= 60
    heads = [line.split() for line in lines if line.startswith("strategy")]
    assert len(heads) == 2
    assert sum(line.count("0.125") for line in lines) == 8
    assert " ".join(heads[0][1:] + heads[1][1:]) == " ".join(names[1:])


def test_only_a_terminal_wraps_lines_and_splits_tables(on):
    document = ["word " * 30, Table(["name" * 20, *"abcdefgh"], [["x", *["0.125"] * 8]])]
    assert len(on(document, force_terminal=False).splitlines()) == 5
    assert len(on(document).splitlines()) > 5
