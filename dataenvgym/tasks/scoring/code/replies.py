"""The texts of a reply that may contain its code, the most likely one first.

    the text before a mark that ends the student's turn
    the same without the marks of a quotation (`> `)
    the whole reply, for models that write such marks into their code

Thoughts do not count (see `said_in`). The time is proportional to the length of the reply.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from dataenvgym.records.tool_formats import said_in

PYTHON = ("", "python", "python3", "py", "py3", "pycon", "code")
NEWLINE = re.compile(r"\r\n|\r|\n")  # Python's; str.splitlines has more

_FENCE = re.compile(r"^(?P<margin>[ \t]*+)(?P<marks>`{3,}+|~{3,}+)(?P<info>[^`\n]*)$")
_QUOTES = re.compile("'''|\"\"\"")
_DOCSTRING = re.compile("[ \t]*[rRuU]?(?:'''|\"\"\")")
_WRAPPERS = ("markdown", "md")  # of a whole reply: the blocks inside are the ones that count


@dataclass(frozen=True)
class Fence:
    """A fenced block.

    Attributes:
        language: the first word behind the opening marks, in lower case; may be empty.
        code: its lines, each ended by a newline, without the margin of the opening marks.
        is_complete: whether it was closed.
    """

    language: str
    code: str
    is_complete: bool


def fences_in(text: str) -> tuple[list[Fence], str]:
    """The fenced blocks, in order, and the text around them.

    They follow CommonMark, but a fence inside a docstring belongs to the code, marks behind the
    last line of code also close the fence, and marks that name Python, inside an unclosed fence,
    begin a new one.
    """
    found: list[Fence] = []
    around: list[str] = []
    opening: re.Match[str] | None = None
    inside: list[str] = []
    string: str | None = None  # the marks of the triple-quoted string that the line is in
    for line in NEWLINE.split(text):
        fence = _FENCE.match(line)
        if fence and string and len(fence["margin"]) > (len(opening["margin"]) if opening else 0):
            fence = None
        if fence:
            string = None
        elif opening or string or _DOCSTRING.match(line):  # elsewhere, prose may contain quotes
            string = _string_behind(line, string)
        if opening is None:
            if fence is not None:
                opening, inside = fence, []
            else:
                around.append(line)
        elif fence and fence["marks"].startswith(opening["marks"]) and not fence["info"].strip():
            found.append(_fence(opening, inside, is_complete=True))
            opening = None
        elif fence is not None and _begins_anew(fence, opening):
            found.append(_fence(opening, inside, is_complete=False))
            opening, inside = fence, []
        elif (
            fence is None
            and string is None
            and line.rstrip().endswith(opening["marks"])
            and line.count(opening["marks"]) == 1
        ):
            inside.append(line.rstrip().removesuffix(opening["marks"]))
            found.append(_fence(opening, inside, is_complete=True))
            opening = None
        else:
            inside.append(line)
    if opening is not None:
        found.append(_fence(opening, inside, is_complete=False))
    return [fence for fence in found if fence.is_complete or fence.code.strip()], "\n".join(around)


def _string_behind(line: str, string: str | None) -> str | None:
    """The marks of the triple-quoted string that is open behind a line, given those before it."""
    for marks in _QUOTES.findall(line):
        if string is None:
            string = marks
        elif string == marks:
            string = None
    return string


def _begins_anew(fence: re.Match[str], opening: re.Match[str]) -> bool:
    return (
        _language(fence) in PYTHON[1:]
        and (fence["marks"] == opening["marks"] or _language(opening) in _WRAPPERS)
        and len(fence["margin"]) <= len(opening["margin"])
    )


def _language(opening: re.Match[str]) -> str:
    return re.split(r"[\s{:,]", opening["info"].strip().casefold(), maxsplit=1)[0]


def _fence(opening: re.Match[str], inside: list[str], *, is_complete: bool) -> Fence:
    return Fence(
        language=_language(opening),
        code="".join(line.removeprefix(opening["margin"]) + "\n" for line in inside),
        is_complete=is_complete,
    )


_LINE = re.compile(r"^[ \t]*(>>>|\.\.\.)(?: (.*)|)$")


def code_of_transcript(text: str, *, with_shown: bool) -> str | None:
    """The statements of a session; None if there are none.

    Args:
        with_shown: whether to include statements followed by output: they show what the others
            do, and may raise.
    """
    statements: list[str] = []
    lines: list[str] = []
    for line in [*text.split("\n"), ""]:
        found = _LINE.match(line)
        if lines and (found is None or found[1] == ">>>"):  # the statement ends
            is_shown = found is None and bool(line.strip())
            if with_shown or not is_shown:
                statements.append("\n".join(lines))
            lines = []
        if found is not None and (lines or found[1] == ">>>"):
            lines.append(found[2] or "")
    return "\n".join(statements) + "\n" if statements else None


# ruff: noqa: RUF001 (some marks are written with a wide sign)


_ENDS = "im_end|end|eot_id|eom_id|endoftext|end_of_text|end▁of▁sentence"
_TURN_ENDS = re.compile(
    rf"(?<![\"'])<[|｜](?:{_ENDS})[|｜]>(?![\"'])"
    r"|(?:<[|｜](?:im_start|start_header_id|start)[|｜]>|<start_of_turn>)\s{0,8}"
    r"(?:user|human|system)\b"
    r"|<[|｜](?:user|User|human)[|｜]>|<end_of_turn>"
    r"|^(?!.*<s>).*?(?P<mark></s>|<eos>)[ \t]*$",
    re.MULTILINE,
)
_QUOTED = re.compile(r"^[ \t]{0,3}>(?!>>)(?: ?>(?!>>))? ?", re.MULTILINE)
_INVISIBLE = dict.fromkeys(map(ord, "\ufeff\u200b\u200c\u200d\u2060"), None) | {0xA0: " "}


def texts_of(reply: str) -> Iterator[str]:
    """The texts that may contain the code, without repeats."""
    said = said_in(reply)
    seen = set()
    end = _TURN_ENDS.search(said)  # the first mark that ends the turn, or begins another one
    turn = said[: end.start("mark") if end["mark"] else end.start()] if end else said
    for text in (turn, said):
        for found in (text, _QUOTED.sub("", text)):
            if found not in seen:
                seen.add(found)
                yield found


def visible(reply: str) -> str:
    """The reply without invisible characters: byte-order marks, zero-width spaces.

    Non-breaking spaces, which Python does not accept, become spaces.
    """
    return reply.translate(_INVISIBLE)
