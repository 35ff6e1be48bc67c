"""JSON without lost digits: orjson, which reads integers beyond 64 bits as floats, made exact.

`loads` parses a text with long numbers again with the standard library, and `dumps` writes long
integers as they are. Otherwise both accept and refuse what orjson does; `loads` refuses numbers
beyond all floats, such as 1e400. Only in rows of users, integers may have 4,300 digits.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import suppress
from decimal import Context, Decimal
from typing import Any

import orjson

JSONDecodeError = orjson.JSONDecodeError
Fragment = orjson.Fragment
APPEND_NEWLINE = orjson.OPT_APPEND_NEWLINE
INDENT_2 = orjson.OPT_INDENT_2
NON_STR_KEYS = orjson.OPT_NON_STR_KEYS
SORT_KEYS = orjson.OPT_SORT_KEYS

# What the numbers that a float or 64 bits cannot hold have in common, and few texts contain.
_SHAPE = bytes.maketrans(b"123456789E", b"000000000e")
_LONG = b"0" * 16, b"e-000"
_HUGE = re.compile(rb"(?<![\deE+])\d{300,}(?![\d.eE])")  # integers that orjson may refuse


class WrittenFloat(float):
    """A float that prints the digits it was written with, because a float cannot hold them all."""

    text: str

    def __repr__(self) -> str:
        return self.text


def _as_written(text: str) -> float:
    number = WrittenFloat(text)
    number.text = text
    plain = float(text)
    return plain if Decimal(text, Context(traps=[])) == Decimal(repr(plain)) else number


def loads(data: bytes | str, *, as_written: bool = False) -> Any:
    """Parse a JSON text; integers are exact.

    Args:
        as_written: numbers print with all digits that they have in the text; integers may have
            4,300 digits.

    Raises:
        orjson.JSONDecodeError: if it is not JSON in UTF-8.
    """
    text = data.encode(errors="surrogatepass") if isinstance(data, str) else data
    shape = text.translate(_SHAPE, b".")
    if not any(long in shape for long in _LONG):
        return orjson.loads(data)
    # refuses what the standard library would accept
    orjson.loads(_HUGE.sub(b"1", text) if as_written else text)
    try:
        return json.loads(text, parse_float=_as_written if as_written else None)
    except (ValueError, RecursionError) as error:
        raise orjson.JSONDecodeError(str(error), "", 0) from None


def dumps(value: Any, default: Callable[[Any], Any] | None = None, option: int = 0) -> bytes:
    """Write JSON like `orjson.dumps`, also with integers beyond 64 bits."""
    try:
        return orjson.dumps(value, default, option)
    except TypeError:
        with suppress(RecursionError):
            made = default and (lambda one: _with_fragments(default(one)))
            return orjson.dumps(_with_fragments(value), made, option)
        raise


def _with_fragments(value: Any) -> Any:
    """The value with numbers that orjson refuses as fragments of JSON."""
    if isinstance(value, dict):
        return {key: _with_fragments(item) for key, item in value.items()}
    if isinstance(value, list) or type(value) is tuple:
        return [_with_fragments(item) for item in value]
    return orjson.Fragment(repr(value)) if type(value) in (int, WrittenFloat) else value
