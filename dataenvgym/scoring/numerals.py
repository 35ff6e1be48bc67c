"""Plain numbers, read without a parser: `18.90`, `1,000`, `3/4`, `4 3/4`, `101_2`, `4 3 1`."""

from __future__ import annotations

import re
from fractions import Fraction

from dataenvgym.scoring.algebra import rational
from dataenvgym.scoring.expression import ROUNDED_PLACES
from dataenvgym.scoring.normalise import unwrap_text
from dataenvgym.scoring.values import SEQUENCE, Group, Numeral, Opaque, Quantity, Reading

_MAX_EXPONENT_DIGITS = 4

_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE]([+-]?\d+))?", re.ASCII)
_FRACTION = re.compile(r"([+-]?\d+) ?/ ?(\d+)", re.ASCII)
_MIXED = re.compile(r"([+-]?)(\d+) (\d+) ?/ ?(\d+)", re.ASCII)
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(?:,\d{3})+(?:\.\d*)?", re.ASCII)
_REPEATING = re.compile(r"(-?)(\d*)\.(\d*)\\overline\s*\{(\d+)\}", re.ASCII)
_SEQUENCE = re.compile(r"[+-]?\d+(?:\.\d+)?(?: [+-]?\d+(?:\.\d+)?)+", re.ASCII)
_NUMERAL = re.compile(r"(-?[0-9A-F]*\d[0-9A-F]*)\s*_\s*\{?\s*([a-z]+|\d+)\s*\}?")
_BASE_NAMES = (
    "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
)
_BASES = {name: base for base, name in enumerate(_BASE_NAMES.split(), start=2)}


def read_number(text: str) -> Quantity | None:
    """A whole number, a decimal, digits in groups of three, a fraction; None for the rest."""
    if text.isascii() and text.isdigit():
        return Quantity(rational(int(text)))
    if found := _NUMBER.fullmatch(text):
        exponent = found[1] or ""
        if len(exponent.lstrip("+-0")) >= _MAX_EXPONENT_DIGITS:
            return None
        return _decimal(text)
    if is_grouped(text):
        return read_number(text.replace(",", ""))
    if (found := _FRACTION.fullmatch(text)) and int(found[2]):
        return Quantity(rational(Fraction(int(found[1]), int(found[2]))))
    return None


def read_numeral(text: str) -> Reading | None:
    """Sequences, mixed numbers, repeating decimals, numerals in another base; else None."""
    if found := _SEQUENCE.fullmatch(text):
        return Group(SEQUENCE, SEQUENCE, tuple(map(_decimal, text.split(" "))))
    if (found := _MIXED.fullmatch(text)) and 0 < int(found[3]) < int(found[4]):
        size = int(found[2]) + Fraction(int(found[3]), int(found[4]))
        return Quantity(rational(-size if found[1] == "-" else size))
    if found := _REPEATING.fullmatch(text):
        return _repeating_decimal(found[1], found[2] or "0", found[3], found[4])
    if "_" in text and (found := _NUMERAL.fullmatch(unwrap_text(text))):
        base = _BASES.get(found[2]) or (int(found[2]) if found[2].isdigit() else 0)
        if base == 10:
            return read_number(found[1])
        return Numeral(found[1].lstrip("0") or "0", base) if base else Opaque(text)
    return None


def is_grouped(text: str) -> bool:
    """Whether `text` is a number with commas between groups of three digits."""
    return _THOUSANDS.fullmatch(text) is not None


def _decimal(text: str) -> Quantity:
    places = len(text.partition(".")[2])
    return Quantity(rational(Fraction(text.rstrip("."))), rounded=places >= ROUNDED_PLACES)


def _repeating_decimal(sign: str, whole: str, head: str, tail: str) -> Quantity:
    repeated = Fraction(int(tail), (10 ** len(tail) - 1) * 10 ** len(head))
    size = Fraction(f"{whole}.{head or 0}") + repeated
    return Quantity(rational(-size if sign else size))
