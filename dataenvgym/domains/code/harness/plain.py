"""Encodes plain data as JSON, for all messages between the tests and the student's code.

Scalars and texts represent themselves; all else is `{type: parts}`. An instance of a subclass is
sent as its builtin base; classes are sent by name, and only builtin ones, so no object defined by
the student's code reaches the tests. Parts that are all scalars are not visited one by one.
"""

from __future__ import annotations

import builtins
import itertools
import json
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable
from decimal import Decimal
from fractions import Fraction
from types import NoneType
from typing import Any

MOST_STEPS = 10_000
"""Largest number of items taken from an iterator; asking for more raises `CutError`."""
LONGEST_NUMBER = 1_000_000
"""Largest number of hexadecimal digits of an integer."""
_LONGEST_PART = 25_000  # hexadecimal digits of a Fraction's parts: finding their divisor is slow
_LONGEST_DECIMAL = 100_000  # characters
_SHORT = 2**62  # longer integers are written in hexadecimal, which has no limit of length
_SCALARS = frozenset({NoneType, bool, int, float, str})
_JSON_PARTS = frozenset({list, dict})

_ITERABLES: dict[str, Any] = {
    "list": list,
    "tuple": tuple,
    "set": set,
    "frozenset": frozenset,
    "deque": deque,
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
    """A value that is not plain data."""


class NestedError(NotPlainError):
    """A value that is nested too deeply, or contains itself."""


class CutError(RuntimeError):
    """An iterator has more items than are passed on."""


class Items:
    """An iterator from another process: it yields its items once.

    Attributes:
        items: the items that were sent.
        cut: whether there were more; iteration then ends with a `CutError`.
    """

    def __init__(self, items: list[Any], *, cut: bool):
        self.items = items
        self.cut = cut
        self._left = iter(items)

    def __iter__(self) -> Items:
        return self

    def __next__(self) -> Any:
        for item in self._left:
            return item
        if self.cut:
            raise CutError(f"the iterator has more than {MOST_STEPS} items, which is the most")
        raise StopIteration

    def __repr__(self) -> str:
        return f"an iterator of {self.items!r}{' and more' if self.cut else ''}"


def dumps(value: Any) -> bytes:
    """The value as ASCII JSON.

    Raises:
        NotPlainError: if something in it is not plain data, or (`NestedError`) nested too deeply.
    """
    try:
        return json.dumps(encode(value)).encode("ascii")
    except RecursionError:
        raise NestedError("a value that is nested too deeply, or contains itself") from None


def loads(data: bytes) -> Any:
    """The inverse of `dumps`; NotPlainError if the data do not come from `dumps`."""
    try:
        return decode(json.loads(data))
    except (ValueError, TypeError, KeyError, RecursionError, ArithmeticError) as error:
        raise NotPlainError(f"no plain data: {type(error).__name__}: {error}") from None


def encode(value: Any) -> Any:
    """The value in JSON's types."""
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
        is_plain = type(value) is dict
        name = "dict" if is_plain else next(n for n, k in _TYPES.items() if isinstance(value, k))
        keys, values = _all_encoded(dict.keys(value)), _all_encoded(dict.values(value))
        return {name: [*map(list, zip(keys, values, strict=True))]}
    for name, made_by in _ITERABLES.items():
        if isinstance(value, made_by):
            return {name: _all_encoded(made_by.__iter__(value))}
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
    if isinstance(value, type):
        name = value.__name__
        if vars(builtins).get(name) is not value:
            raise NotPlainError(f"the class {name}, which is not plain data")
        return {"type": name}
    if callable(getattr(value, "__next__", None)):
        return _encoded_iterator(value)
    for name, view in _VIEWS.items():
        if isinstance(value, type(view([]))):
            return {name: _all_encoded(value)}
    if is_array(value):
        return encode(value.tolist())
    raise NotPlainError(f"a value of type {type(value).__name__}, which is not plain data")


def decode(value: Any) -> Any:
    """The inverse of `encode`; raises the errors of the constructors."""
    if isinstance(value, list):
        raise ValueError("a list without its type")
    if not isinstance(value, dict):
        return value
    ((name, parts),) = value.items()
    if name in _ITERABLES or name in _VIEWS:
        return (_ITERABLES | _VIEWS)[name](_all_decoded(parts))
    if name in _MAPPINGS:
        keys, values = zip(*parts, strict=True) if parts else ((), ())
        return _MAPPINGS[name](zip(_all_decoded(keys), _all_decoded(values), strict=True))
    if name in ("iterator", "cut"):
        return Items(list(_all_decoded(parts)), cut=name == "cut")
    if name == "int":
        return _number(parts)
    if name == "complex":
        return complex(*map(decode, parts))
    if name in ("bytes", "bytearray"):
        return (bytes if name == "bytes" else bytearray).fromhex(parts)
    if name == "range":
        return range(*map(decode, parts))
    if name == "Fraction":
        return Fraction(*(p if type(p) is int else _number(p["int"], _LONGEST_PART) for p in parts))
    if name == "Decimal":
        return Decimal(_short(parts, _LONGEST_DECIMAL))
    if name == "type":
        return _class(parts)
    raise ValueError(f"no type {name!r}")


def is_array(value: Any) -> bool:
    """Whether it is a numpy array or number, which are sent as lists and numbers."""
    return type(value).__module__ == "numpy" and hasattr(value, "tolist")


def are_scalars(items: Iterable[Any]) -> bool:
    """Whether all are scalars; the length of numbers is not checked."""
    return _SCALARS.issuperset(map(type, items))


def _encoded_iterator(value: Any) -> dict[str, Any]:
    """Its first items, and whether there are more."""
    items: list[Any] = []
    cut = False
    try:
        items += itertools.islice(value, MOST_STEPS)
        if len(items) == MOST_STEPS:
            cut = any(True for _ in itertools.islice(value, 1))
    except CutError:
        cut = True
    return {"cut" if cut else "iterator": _all_encoded(items)}


def _number(text: str, longest: int = LONGEST_NUMBER) -> int:
    return int(_short(text, longest), 16)


def _short(digits: str, longest: int) -> str:
    if len(digits) > longest:
        raise ValueError(f"a number of {len(digits)} digits, expected at most {longest}")
    return digits


def _class(name: str) -> type:
    """The builtin class of that name, if `encode` accepts it."""
    found = vars(builtins)[name]
    if not isinstance(found, type) or found.__name__ != name:
        raise ValueError(f"no class {name!r}")
    return found


def _all_encoded(items: Iterable[Any]) -> list[Any]:
    items = list(items)
    kinds = set(map(type, items))
    if kinds <= _SCALARS and not (int in kinds and _has_long_numbers(items)):
        return items
    return [encode(item) for item in items]


def _has_long_numbers(items: list[Any]) -> bool:
    numbers = [item for item in items if type(item) is int]
    return min(numbers) <= -_SHORT or max(numbers) >= _SHORT


def _all_decoded(parts: Any) -> Any:
    if _JSON_PARTS.isdisjoint(map(type, parts)):
        return parts
    return [decode(item) for item in parts]
