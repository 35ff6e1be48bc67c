r"""Plain numbers, read without a parser: `18.90`, `1,000`, `\frac34`, `2^{10}`, `101_2`."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction

from dataenvgym.scoring.normalize import unwrap_text
from dataenvgym.scoring.values import SEQUENCE, Group, HugePower, Numeral, Opaque, Quantity

ROUNDED_PLACES = 6
"""A decimal written with this many places may be the rounding of another number."""

MAX_POWER_BITS = 20_000
"""Larger integer powers are never computed."""

_MAX_EXPONENT_DIGITS = 4

_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE]([+-]?\d+))?", re.ASCII)
_FRACTION = re.compile(r"([+-]?\d+) ?/ ?(\d+)", re.ASCII)
_MIXED = re.compile(r"([+-]?)(\d+) (\d+) ?/ ?(\d+)", re.ASCII)
_ARGUMENT = r" ?(?:\{ ?((?:[^{}]|\{[^{}]*\})+?) ?\}|(\d))"
_LATEX_FRACTION = re.compile(rf"([+-]?)(\d*) ?\\frac{_ARGUMENT}{_ARGUMENT}", re.ASCII)
_POWER = re.compile(r"(-?)(\d+) ?\^ ?(?:\{(.+)\}|(.+))", re.ASCII)
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(?:,\d{3})+(?:\.\d*)?", re.ASCII)
_REPEATING = re.compile(r"(-?)(\d*)\.(\d*)\\overline\s*\{(\d+)\}", re.ASCII)
_SEQUENCE = re.compile(r"[+-]?\d+(?:\.\d+)?(?: [+-]?\d+(?:\.\d+)?)+", re.ASCII)
_NUMERAL = re.compile(r"(-?[0-9A-F]*\d[0-9A-F]*)\s*_\s*\{?\s*([a-z]+|\d+)\s*\}?")
_BASE_NAMES = (
    "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
)
_BASES = {name: base for base, name in enumerate(_BASE_NAMES.split(), start=2)}


def read_number(text: str) -> Quantity | None:
    """An integer, a decimal, digits in groups of three, or a fraction; None for anything else."""
    if text.isascii() and text.isdigit():
        return Quantity(Fraction(int(text)), text)
    if found := _NUMBER.fullmatch(text):
        return _decimal(text) if found[1] is None else _scientific(text, found[1])
    if is_grouped(text):
        return read_number(text.replace(",", ""))
    if (found := _FRACTION.fullmatch(text)) and int(found[2]):
        return Quantity(Fraction(int(found[1]), int(found[2])), text)
    if found := _LATEX_FRACTION.fullmatch(text):
        return _latex_fraction(found)
    return None


def read_numeral(text: str) -> Quantity | Group | Numeral | HugePower | Opaque | None:
    """Sequences, mixed numbers, repeating decimals, powers, numerals in another base; else None."""
    if found := _SEQUENCE.fullmatch(text):
        return Group(SEQUENCE, SEQUENCE, tuple(map(_decimal, text.split(" "))))
    if (found := _MIXED.fullmatch(text)) and 0 < int(found[3]) < int(found[4]):
        size = int(found[2]) + Fraction(int(found[3]), int(found[4]))
        return Quantity(-size if found[1] == "-" else size, text)
    if found := _REPEATING.fullmatch(text):
        return _repeating_decimal(found[1], found[2] or "0", found[3], found[4])
    if "_" in text and (found := _NUMERAL.fullmatch(unwrap_text(text))):
        base = _BASES.get(found[2]) or (int(found[2]) if found[2].isdigit() else 0)
        if base == 10:
            return read_number(found[1])
        return Numeral(found[1].lstrip("0") or "0", base) if base else Opaque(text)
    return _power(text)


def is_grouped(text: str) -> bool:
    """Whether `text` is a number with commas between groups of three digits."""
    return _THOUSANDS.fullmatch(text) is not None


def _decimal(text: str) -> Quantity:
    places = len(text.partition(".")[2])
    return Quantity(Fraction(text.rstrip(".")), text, rounded=places >= ROUNDED_PLACES)


def _scientific(text: str, exponent: str) -> Quantity | None:
    """`1.5e3`; for algebra it is spelled so that e is not Euler's number."""
    if len(exponent.lstrip("+-0")) >= _MAX_EXPONENT_DIGITS:
        return None
    mantissa = text[: -len(exponent) - 1]
    number = _decimal(text)
    return replace(number, text=f"{mantissa} * 10^{{{exponent.lstrip('+')}}}")


def _latex_fraction(found: re.Match[str]) -> Quantity | None:
    """`\\frac45`, `-\\frac{1}{2}` or the mixed number `4\\frac{3}{4}`."""
    sign, whole = found[1], found[2]
    top, bottom = (_integer(found[at] or found[at + 1]) for at in (3, 5))
    if top is None or not bottom or (whole and not 0 < top < bottom):
        return None
    size = int(whole or 0) + Fraction(top, bottom)
    return Quantity(-size if sign == "-" else size, found[0])


def _integer(text: str) -> int | None:
    reading = _power(text) if "^" in text else read_number(text)
    whole = isinstance(reading, Quantity) and reading.value.denominator == 1
    return int(reading.value) if whole and isinstance(reading, Quantity) else None


def _power(text: str) -> Quantity | HugePower | None:
    """`2^{10}`, `-10^{-3}`, and a tower such as `9^{9^{9}}`."""
    if (found := _POWER.fullmatch(text)) is None:
        return None
    base, inner = int(found[2]), (found[3] or found[4]).strip()
    exponent = read_number(inner) or _power(inner)
    if isinstance(exponent, HugePower):
        return exponent if base > 1 and not found[1] else None
    if exponent is None or exponent.value.denominator > 1 or (base == 0 and exponent.value <= 0):
        return None
    times = int(exponent.value)
    if (base.bit_length() - 1) * abs(times) > MAX_POWER_BITS:
        return HugePower() if times > 0 and not found[1] else None
    value = Fraction(base) ** times
    return Quantity(-value if found[1] else value, text)


def _repeating_decimal(sign: str, whole: str, head: str, tail: str) -> Quantity:
    repeated = Fraction(int(tail), (10 ** len(tail) - 1) * 10 ** len(head))
    size = Fraction(f"{whole}.{head or 0}") + repeated
    value = -size if sign else size
    return Quantity(value, f"\\frac{{{value.numerator}}}{{{value.denominator}}}")
