"""JSON in the middle of a text: written, and parsed from untrusted text."""

from __future__ import annotations

import json
import re
from typing import Any

# The order of tokens inside an object is left to the parser. A character that begins no token ends
# the search, such as a letter of the marker before the next object. So no part of a text is scanned
# more than twice, however many markers there are.
_TOKEN = re.compile(
    r'[\s,:]++|"[^"\\]*+(?:\\.[^"\\]*+)*+"|[{}\[\]]|true|false|null|-?\d[\d.eE+-]*+', re.DOTALL
)
_SHORT = 10_000
"""Texts up to this length are parsed without first searching for the object's end. An error costs
the parser as many steps as there are characters before it, so longer texts are searched first."""

to_json = json.JSONEncoder(ensure_ascii=False).encode
"""JSON in the form of LLaMA-Factory and chat templates."""


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


_DECODER = json.JSONDecoder(strict=False, parse_constant=_refuse)


def read_object(text: str, start: int) -> tuple[dict[str, Any], int] | None:
    """The object that begins at `start`, and its end; None if there is none.

    Its strings may contain raw line breaks and other control characters.
    """
    return read_value(text, start) if text.startswith("{", start) else None


def read_value(text: str, start: int) -> tuple[Any, int] | None:
    """The object or list that begins at `start`, and its end; None if there is none."""
    if not text.startswith(("{", "["), start):
        return None
    try:
        if len(text) <= _SHORT:
            return parse_from(text, start)
        end, is_closed = tokens_end(text, start)
        return (parse_json(text[start:end]), end) if is_closed else None
    except (ValueError, RecursionError):
        return None


def parse_json(text: str) -> Any:
    """Parse the text.

    Raises:
        ValueError: if it is not JSON; a `json.JSONDecodeError` says where.
        RecursionError: if it is nested too deeply.
    """
    return _DECODER.decode(text)


def parsed_arguments(given: Any) -> Any:
    """The arguments of a call; they may be JSON text, as in OpenAI's API (see `parse_json`).

    Models write null or empty text for a tool without parameters: both give no arguments.
    """
    if given is None or (isinstance(given, str) and given.strip() in ("", "null")):
        return {}
    return parse_json(given) if isinstance(given, str) else given


def parse_from(text: str, start: int) -> tuple[Any, int]:
    """The value that begins at `start`, and its end; an error takes time linear in its position.

    Raises:
        ValueError, RecursionError: see `parse_json`.
    """
    return _DECODER.raw_decode(text, start)


def tokens_end(text: str, start: int) -> tuple[int, bool]:
    """The end of the brackets opened at `start`, or of the valid JSON; and whether they close."""
    at, depth = start, 0
    while token := _TOKEN.match(text, at):
        at = token.end()
        depth += (token[0] in "{[") - (token[0] in "}]")
        if not depth:
            return at, True
    return at, False
