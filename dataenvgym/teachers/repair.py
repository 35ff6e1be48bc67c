r"""Reads JSON as language models write it, and repairs it where its meaning is clear.

Tolerated: prose and fences around it, trailing or missing commas, line breaks and LaTeX (`\(`,
`\sum`) within strings, single quotes, Python's `True`, `False` and `None`, and a missing end. If
the end is missing, complete members are kept and the incomplete one is dropped: half a string is
never taken for a whole one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from string import ascii_letters
from typing import Any

from dataenvgym.records.tool_formats import said_in

_FENCE = re.compile(r"```[A-Za-z]*[ \t]*\n?(.*?)(?:```|\Z)", re.DOTALL)
_SPACE = re.compile(r"\s*")
_PLAIN = {'"': re.compile(r'[^"\\]*'), "'": re.compile(r"[^'\\]*")}
_WORD = re.compile(r"-?[A-Za-z0-9_.+]+(?:(?<=[eE])-[0-9]+)?")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
_UNICODE = re.compile(r"u[0-9a-fA-F]{4}")
_LATEX = re.compile(  # commands that begin like an escape: `\times` is not a tab and "imes"
    r"(?:t(?:imes|ext[a-z]*|heta|frac|riangle|an)|n(?:eq|abla)|r(?:ight|ho|angle|floor|ceil))"
    r"(?![A-Za-z])"
)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "'": "'", "\\": "\\", "/": "/"}
_WORDS = {"true": True, "false": False, "null": None, "True": True, "False": False, "None": None}
_DEEPEST = 50
_MOST_STARTS = 50
_LONGEST_NUMBER = 300
_MOST_IN_VAIN = 1_000_000  # characters of one reply that may be read and found not to be JSON


def json_alone(text: str) -> Any:
    """The JSON object or array that is the whole text, perhaps in one code fence; repaired.

    JSON within prose may be a quotation, so it is refused.

    Raises:
        ValueError: if there is other text, if the end is missing, or if an object has a field
            twice.
    """
    text = said_in(text).strip()
    if len(text) > 6 and text.startswith("```") and text.endswith("```"):
        text = text[3:-3].lstrip(ascii_letters).strip()
    reader = _Reader(text, 0)
    try:
        value = reader.value(0) if text[:1] in ("{", "[") else None
    except _BrokenError:
        value = None
    if not isinstance(value, dict | list) or reader.is_cut_off or text[reader.at :].strip():
        raise ValueError("it is not one whole JSON object and nothing else")
    if reader.repeated is not None:
        raise ValueError(f"it has the field {reader.repeated!r} twice in one object")
    return value


def json_in(text: str) -> Iterator[Any]:
    """The JSON objects and arrays in `text` that are not empty, repaired, in order.

    Fenced text comes first.
    """
    text = said_in(text)
    in_vain = 0
    for candidate in (*(m[1] for m in _FENCE.finditer(text)), text):
        end = tries = 0
        for start in re.finditer(r"[{\[]", candidate):
            if start.start() < end:
                continue
            if (tries := tries + 1) > _MOST_STARTS or in_vain > _MOST_IN_VAIN:
                break
            reader = _Reader(candidate, start.start())
            try:
                value = reader.value(0)
            except _BrokenError:
                in_vain += reader.at - start.start()
                continue
            end = reader.at
            if value:
                yield value


class _BrokenError(Exception):
    """The text is not JSON, and cannot be repaired."""


class _CutOffError(Exception):
    """The text ends within a value."""


class _Reader:
    """A recursive-descent reader at position `at`.

    Attributes:
        is_cut_off: whether an end was missing.
        repeated: a field that an object had twice; its last value counts.
    """

    def __init__(self, text: str, at: int) -> None:
        self.text = text
        self.at = at
        self.is_cut_off = False
        self.repeated: str | None = None

    def value(self, depth: int) -> Any:
        if depth > _DEEPEST:
            raise _BrokenError
        sign = self.peek()
        if sign == "{":
            return self.object(depth)
        if sign == "[":
            return self.array(depth)
        return self.string() if sign in _PLAIN else self.word()

    def object(self, depth: int) -> dict[str, Any]:
        self.at += 1
        found: dict[str, Any] = {}
        while True:
            try:
                self.skip_commas()
                if self.peek() == "}":
                    self.at += 1
                    return found
                if self.peek() not in _PLAIN:
                    raise _BrokenError
                name = self.string()
                if self.peek() != ":":
                    raise _BrokenError
                self.at += 1
                if name in found:
                    self.repeated = name
                found[name] = self.value(depth + 1)
            except _CutOffError:
                self.is_cut_off = True
                return found

    def array(self, depth: int) -> list[Any]:
        self.at += 1
        found: list[Any] = []
        while True:
            try:
                self.skip_commas()
                if self.peek() == "]":
                    self.at += 1
                    return found
                found.append(self.value(depth + 1))
            except _CutOffError:
                self.is_cut_off = True
                return found

    def string(self) -> str:
        quote = self.text[self.at]
        parts = []
        self.at += 1
        while True:
            plain = _PLAIN[quote].match(self.text, self.at)
            assert plain is not None  # the pattern also matches nothing
            parts.append(plain[0])
            self.at = plain.end()
            if self.at >= len(self.text) - (self.text[self.at : self.at + 1] == "\\"):
                self.at = len(self.text)
                raise _CutOffError
            if self.text[self.at] == quote:
                self.at += 1
                # pairs of surrogates become characters
                return "".join(parts).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
            parts.append(self.escape())

    def escape(self) -> str:
        r"""The character for an escape; a LaTeX command is returned unchanged.

        JSON's `\b` and `\f` are not supported: models write `\beta` and `\frac`, never a backspace.
        """
        sign = self.text[self.at + 1]
        if code := _UNICODE.match(self.text, self.at + 1):
            self.at = code.end()
            return chr(int(code[0][1:], 16))
        self.at += 2
        if _LATEX.match(self.text, self.at - 1):
            return "\\" + sign
        return _ESCAPES.get(sign, "\\" + sign)

    def word(self) -> Any:
        """A number, or a name such as true."""
        match = _WORD.match(self.text, self.at)
        if match is None or match.end() - match.start() > _LONGEST_NUMBER:
            raise _BrokenError
        self.at = match.end()
        if self.at == len(self.text):  # the rest of it may have been cut off
            raise _CutOffError
        if match[0] in _WORDS:
            return _WORDS[match[0]]
        if not _NUMBER.fullmatch(match[0]):
            raise _BrokenError
        number = float(match[0])
        if number in (float("inf"), float("-inf")):
            raise _BrokenError
        return int(match[0]) if re.fullmatch(r"-?\d+", match[0]) else number

    def skip_commas(self) -> None:
        while self.peek() == ",":
            self.at += 1

    def peek(self) -> str:
        """The next character that is not a space."""
        space = _SPACE.match(self.text, self.at)
        assert space is not None
        self.at = space.end()
        if self.at == len(self.text):
            raise _CutOffError
        return self.text[self.at]
