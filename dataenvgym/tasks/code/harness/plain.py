"""Plain data as JSON and back: all that passes between the tests and the student's code.

Scalars and texts stand for themselves; whatever else is `{type: parts}`. Subclasses become what
they derive from, so that nothing the student's code defines arrives at the tests.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

MOST_STEPS = 10_000
"""Items taken from an iterator, at most; what follows is cut off."""
_SHORT = 2**62  # longer whole numbers are written in hexadecimal, which has no limit of length

_ITERABLES: dict[str, Any] = {
    "list": list,
    "tuple": tuple,
    "set": set,
    "frozenset": frozenset,
    "deque": deque,
    "iterator": iter,
}
_MAPPINGS: dict[str, Callable[[Any], Any]] = {
    "Counter": lambda pairs: Counter(dict(pairs)),
    "OrderedDict": OrderedDict,
    "defaultdict": lambda pairs: defaultdict(None, pairs),
    "dict": dict,
}
_VIEWS: dict[str, Callable[[Any], Any]] = {
    "dict_keys": lambda items: dict.fromkeys(items).keys(),
    "dict_values": lambda items: dict(enumerate(items)).values(),
    "dict_items": lambda items: dict(items).items(),
}
_TYPES = {"Counter": Counter, "OrderedDict": OrderedDict, "defaultdict": defaultdict, "dict": dict}


class NotPlainError(TypeError):
    """A value that is no plain data."""


class NestedError(NotPlainError):
    """A value that is nested too deeply, or contains itself."""


def dumps(value: Any) -> bytes:
    """The value as ASCII JSON.

    Raises:
        NotPlainError: if something in it is no plain data, or (`NestedError`) nested too deeply.
    """
    try:
        return json.dumps(encode(value)).encode("ascii")
    except RecursionError:
        raise NestedError("a value that is nested too deeply, or contains itself") from None


def loads(data: bytes) -> Any:
    """The value again.

    Raises:
        NotPlainError: if the data do not come from `dumps`.
    """
    try:
        return decode(json.loads(data))
    except (ValueError, TypeError, KeyError, RecursionError, ArithmeticError) as error:
        raise NotPlainError(f"no plain data: {type(error).__name__}: {error}") from None


def encode(value: Any) -> Any:
    """The value as what JSON knows."""
    if value is None or value is True or value is False:
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        number = int.__int__(value)
        return number if -_SHORT < number < _SHORT else {"int": hex(number)}
    if isinstance(value, float):
        return float.__float__(value)
    if isinstance(value, dict):
        name = next(n for n, kind in _TYPES.items() if isinstance(value, kind))
        return {name: [[encode(k), encode(v)] for k, v in dict.items(value)]}
    for name, made_by in _ITERABLES.items():
        if name != "iterator" and isinstance(value, made_by):
            return {name: [encode(item) for item in made_by.__iter__(value)]}
    if isinstance(value, complex):
        return {"complex": [encode(value.real), encode(value.imag)]}
    if isinstance(value, bytes | bytearray):
        return {"bytes" if isinstance(value, bytes) else "bytearray": value.hex()}
    if isinstance(value, range):
        return {"range": [encode(n) for n in (value.start, value.stop, value.step)]}
    if isinstance(value, Fraction):
        return {"Fraction": [encode(value.numerator), encode(value.denominator)]}
    if isinstance(value, Decimal):
        return {"Decimal": str(value)}
    if callable(getattr(value, "__next__", None)):
        return {"iterator": [encode(item) for item in itertools.islice(value, MOST_STEPS)]}
    for name, view in _VIEWS.items():
        if isinstance(value, type(view([]))):
            return {name: [encode(item) for item in value]}
    if type(value).__module__ == "numpy" and hasattr(value, "tolist"):
        return encode(value.tolist())
    raise NotPlainError(f"a value of type {type(value).__name__}, which is no plain data")


def decode(value: Any) -> Any:
    """What `encode` made it of; raises what the constructors raise."""
    if isinstance(value, list):
        raise ValueError("a list without its type")
    if not isinstance(value, dict):
        return value
    ((name, parts),) = value.items()
    if name in _ITERABLES or name in _VIEWS:
        return (_ITERABLES | _VIEWS)[name]([decode(item) for item in parts])
    if name in _MAPPINGS:
        return _MAPPINGS[name]([(decode(k), decode(v)) for k, v in parts])
    if name == "int":
        return int(parts, 16)
    if name == "complex":
        return complex(*map(decode, parts))
    if name in ("bytes", "bytearray"):
        return (bytes if name == "bytes" else bytearray).fromhex(parts)
    if name == "range":
        return range(*map(decode, parts))
    if name == "Fraction":
        return Fraction(*map(decode, parts))
    if name == "Decimal":
        return Decimal(parts)
    raise ValueError(f"no type {name!r}")
