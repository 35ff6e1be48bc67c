"""JSON in the middle of a text: written, and read where anybody may have written it."""

from __future__ import annotations

import json
import re
from typing import Any

# What may follow on what inside an object is left to the parser. A character that begins no token
# ends the search: letters such as those of a marker behind which the next object is sought. So no
# part of a text is looked at more than twice, however many markers there are.
_TOKEN = re.compile(
    r'[\s,:]++|"[^"\\]*+(?:\\.[^"\\]*+)*+"|[{}\[\]]|true|false|null|-?\d[\d.eE+-]*+', re.DOTALL
)
_SHORT = 10_000
"""Characters of a text that is parsed without a search for the object's end. An error costs the
parser as many steps as characters come before it, so a longer text is searched first."""

to_json = json.JSONEncoder(ensure_ascii=False).encode
"""JSON as LLaMA-Factory and chat templates write it."""


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


_DECODER = json.JSONDecoder(strict=False, parse_constant=_refuse)


def read_object(text: str, start: int) -> tuple[dict[str, Any], int] | None:
    """The object that begins at `start`, and where it ends; None if there is none.

    Line breaks and other control characters may be in its strings as they are.
    """
    return read_value(text, start) if text.startswith("{", start) else None


def read_value(text: str, start: int) -> tuple[Any, int] | None:
    """The object or list that begins at `start`, and where it ends; None if there is none."""
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
    """The value that the text is.

    Raises:
        ValueError: if it is not JSON; a `json.JSONDecodeError` says where.
        RecursionError: if it is nested too deeply.
    """
    return _DECODER.decode(text)


def parse_from(text: str, start: int) -> tuple[Any, int]:
    """The value that begins at `start`, and where it ends; an error takes as long as all before it.

    Raises:
        ValueError, RecursionError: as `parse_json` does.
    """
    return _DECODER.raw_decode(text, start)


def tokens_end(text: str, start: int) -> tuple[int, bool]:
    """Where the brackets that open at `start` are closed, or where no JSON follows, and which."""
    at, depth = start, 0
    while token := _TOKEN.match(text, at):
        at = token.end()
        depth += (token[0] in "{[") - (token[0] in "}]")
        if not depth:
            return at, True
    return at, False
