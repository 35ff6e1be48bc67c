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

to_json = json.JSONEncoder(ensure_ascii=False).encode
"""JSON as LLaMA-Factory and chat templates write it."""


def read_object(text: str, start: int) -> tuple[dict[str, Any], int] | None:
    """The object that begins at `start`, and where it ends; None if there is none.

    Line breaks and other control characters may be in its strings as they are.
    """
    end = _object_end(text, start)
    if end is None:
        return None
    try:
        return json.loads(text[start:end], strict=False), end
    except (ValueError, RecursionError):
        return None


def _object_end(text: str, start: int) -> int | None:
    if not text.startswith("{", start):
        return None
    at, depth = start, 0
    while token := _TOKEN.match(text, at):
        at = token.end()
        depth += (token[0] in "{[") - (token[0] in "}]")
        if not depth:
            return at
    return None
