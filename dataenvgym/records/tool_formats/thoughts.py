"""Thoughts in a reply, and its text without them.

A thought is the text between `<think>` and the next `</think>` (or `thinking`, `thought`,
`reasoning`). Chat templates may end a prompt with `<think>`, so all text before a closing tag that
nothing opened is a thought as well. A thought without an end lasts to the end of the reply. A tag
in a string of JSON or code on one line (`: "..."`, `("...")`), such as an argument of a call, or
next to ' or ` is only quoted; quotation marks of prose quote nothing. Tags in a block of code
(between lines of ``` or ~~~) are quoted as well, unless the block begins with a thought, or its
first tag ends one at the beginning of a line.

Only the student reads its thoughts: users, partners, judges, scorers and tools get `said_in`.
Transcripts and training records keep them.
"""

from __future__ import annotations

import re

_NAMES = "(?P<name>think|thinking|thought|reasoning)"
TAG = re.compile(f"<(?P<closes>/?){_NAMES}>")
_STRING = r'"(?:[^"\\\n]|\\.)*+"'
# The next line that begins like a fence closes a block, or there is none: no line is read twice.
_BLOCK = (
    r"(?:(?<=[\n>])|\A)[ \t]*+(?P<fence>`{3,}+|~{3,}+)[^`~<\n]*+\n"
    r"(?P<code>(?:(?!(?:.*>)?[ \t]*+(?:`{3}|~{3})).*+\n)*+)"
    r"[ \t]*+(?P=fence)(?=[ \t]*+(?:[\n<]|\Z))"
)
# An unclosed quotation mark fails once per line: there is no other one behind it, and escaped ones
# are skipped. So the time is linear. Calls of the format `pocket` (##name ...) have their strings
# behind spaces; a ## without a string is skipped up to where the next token could begin.
_TOKEN = re.compile(
    rf"""{_BLOCK}|\\.|[{{\[:,(=][ \t\n]*+{_STRING}(?=[ \t]*+(?:[}}\]:,)\n]|\Z))"""
    rf"""|##(?:[^\n"<\\]*+{_STRING})++|##[^\n"<\\]*+"""
    rf"""|(?:(?<!['`])<|(?P<closes></)){_NAMES}>(?!'|`(?!``))"""
)


def said_in(text: str) -> str:
    """The text without its thoughts; unchanged if there are none."""
    if not (thoughts := _thoughts(text)):
        return text
    starts = [0, *(end for _, end, _ in thoughts)]
    ends = [*(start for start, _, _ in thoughts), len(text)]
    pieces = (text[start:end] for start, end in zip(starts, ends, strict=True))
    return "\n".join(piece for piece in pieces if piece.strip()).lstrip("\r\n")


def blanked(text: str) -> tuple[str, str]:
    """The text with a space for each character of a thought, except line breaks.

    Also the tag that closes a thought at the end of the text; "" if none is open there.
    """
    at, pieces, missing = 0, [], ""
    for start, end, tag in _thoughts(text):
        pieces += [text[at:start], re.sub(r"[^\n]", " ", text[start:end])]
        at, missing = end, tag
    return "".join([*pieces, text[at:]]), missing


def _thoughts(text: str) -> list[tuple[int, int, str]]:
    """Start and end of each thought, and its closing tag if that is missing; in order."""
    found: list[tuple[int, int, str]] = []
    at = 0
    if not TAG.search(text):
        return found
    while token := _TOKEN.search(text, at):
        at = token.end()
        if (code := token["code"]) and (tag := TAG.search(code)):
            before = code[: tag.start()]
            if not (before.rpartition("\n")[2] if tag["closes"] else before).strip():
                at = token.start("code")
        elif token["closes"]:
            found = [(0, at, "")]
        elif token["name"]:
            closing = f"</{token['name']}>"
            end = text.find(closing, at)
            at = len(text) if end < 0 else end + len(closing)
            found.append((token.start(), at, closing if end < 0 else ""))
    return found
