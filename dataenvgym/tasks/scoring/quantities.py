"""When two quantities are equal: their values, units and percent signs."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from dataenvgym.tasks.scoring.normalize import tokens, unwrap_text
from dataenvgym.tasks.scoring.values import (
    SEQUENCE,
    Formula,
    Group,
    HugePower,
    Numeral,
    Opaque,
    Quantity,
)

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
    places = len(re.split("[eE]", text)[0].partition(".")[2])
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


_SPELLINGS = {
    "mm": "millimeter millimetre", "cm": "centimeter centimetre", "m": "meter metre",
    "km": "kilometer kilometre", "in": "inch inches", "ft": "foot feet", "yd": "yard", "mi": "mile",
    "mg": "milligram", "g": "gram", "kg": "kilogram kilo", "lb": "pound lbs", "oz": "ounce",
    "ml": "milliliter millilitre", "l": "liter litre",
    "s": "sec second", "min": "minute", "h": "hr hour", "day": "", "week": "wk", "month": "",
    "year": "yr", "mph": "", "kph": "kmh", "am": "", "pm": "",
    "$": "dollar usd buck", "¢": "cent", "€": "euro eur", "£": "gbp",
    "deg": "degree", "rad": "radian", "unit": "", "sq": "square", "cu": "cubic",
}  # fmt: skip
_CANONICAL = {
    spelling: unit for unit, others in _SPELLINGS.items() for spelling in (unit, *others.split())
}
_CONNECTORS = frozenset({"of", "per", "in", "a", "an", "the", "for", "at", "on"})
_LONG_WORD = 4
_CHANGES = re.compile(
    r"(?i:(?:hundred|thousand|million|billion|trillion|ten)(?:th)?s?|plus|minus|squared|cubed|negative"
    r"|factorial|below|half)$"
)

UNIT_LETTERS = frozenset("mgshlLCF")
"""Letters that may also be a variable; the comparison decides."""

_TRAILING_TEXT = re.compile(r"(?<=[\d})%\]])\s*\\text\s*\{([^{}]*)\}\s*(\^\s*\{?\s*-?\d\s*\}?)?$")
_TRAILING_WORDS = re.compile(
    r"(?<=[\d})%.])\s*([^\W\d_](?:[^\W\d_]|[/ .-])*?)(\^\s*\{?\s*\d\s*\}?|(?<! )\d)?$"
)


def split_unit(text: str) -> tuple[str, str]:
    """(number, unit) of cleaned `text`; the unit is empty if there is none, else canonical."""
    if not (text[-1:].isalpha() or text[-1:] in "}.)" or text[-1:].isdigit()):
        return text, ""
    if found := _TRAILING_TEXT.search(text):
        if (unit := _canonical(found[1])) not in ("and", "or"):
            return text[: found.start()].rstrip(), unit
        return text, ""
    if found := _TRAILING_WORDS.search(text):
        words = re.findall(r"[^\W\d_]+", found[1])
        if _is_unit(words, compound="/" in found[1]):
            return text[: found.start()].rstrip(), _canonical(found[1])
    return text, ""


def units_clash(one: str, other: str) -> bool:
    """Whether both are known units and differ."""
    return one != other and one in _SPELLINGS and other in _SPELLINGS


def _is_unit(words: list[str], *, compound: bool) -> bool:
    """Whether all words are units; single letters count only in a compound such as `m/s`."""
    if all(w.lower() in _CONNECTORS for w in words) or any(_CHANGES.match(w) for w in words):
        return False
    return all(
        len(word) >= _LONG_WORD
        or word.lower() in _CONNECTORS
        or ((compound or len(word) > 1) and _singular(word) in _CANONICAL)
        for word in words
    )


def _canonical(unit: str) -> str:
    """The unit in one spelling; a unit that is not in the table is only lowercased."""
    folded = " ".join(unit.casefold().replace(".", "").split())
    return _CANONICAL.get(_singular(folded), folded)


def _singular(word: str) -> str:
    lowered = word.casefold()
    if lowered in _CANONICAL or not lowered.endswith("s"):
        return lowered
    return lowered[:-1]


_ROUNDING = Fraction(5, 10**7)
_RELATIVE_ROUNDING = Fraction(1, 10**4)

Ask = Callable[[str, str], bool | None]
"""Whether two formulas are equal by algebra; None if that is unknown."""


def compare_numbers(one: Quantity, other: Quantity) -> bool:
    """Whether two numbers state the same quantity."""
    if units_clash(one.unit, other.unit):
        return False
    rounded = one.rounded or other.rounded
    if one.percent == other.percent:
        return _same_number(one.value, other.value, rounded)
    percentage, plain = (one, other) if one.percent else (other, one)
    if abs(plain.value) < 1:
        return _same_number(percentage.value / 100, plain.value, rounded)
    return percentage.value == plain.value * 100 or _same_number(
        percentage.value, plain.value, rounded
    )


def compare_formulas(one: Quantity | Formula, other: Quantity | Formula, ask: Ask) -> bool | None:
    """Whether two expressions, at least one of them a formula, state the same quantity."""
    if units_clash(one.unit, other.unit):
        return False
    if one.percent != other.percent:
        return None
    if isinstance(one, Formula) and isinstance(other, Formula):
        if tokens(one.text) == tokens(other.text):
            return True
        if one.is_letter and other.is_letter:
            return False
        return ask(one.text, other.text)
    formula, number = (one, other) if isinstance(one, Formula) else (other, one)
    if isinstance(formula, Formula) and isinstance(number, Quantity):
        if (verdict := _compare_with_letter(formula, number)) is not None:
            return verdict
        if formula.is_letter and not number.rounded:
            return False
    return ask(one.text, other.text)


def _compare_with_letter(formula: Formula, number: Quantity) -> bool | None:
    """Whether `4m` equals the number, which may have a unit too; None for other formulas."""
    value, letter = read_number(formula.text[:-1].rstrip()), formula.text[-1:]
    if value is None or letter not in UNIT_LETTERS:
        return None
    return value.value == number.value and not units_clash(letter, formula.unit or number.unit)


def _same_number(one: Fraction, other: Fraction, rounded: bool) -> bool:
    """Whether both are equal, or equal to six places with at least four digits left."""
    distance = abs(one - other)
    return one == other or (
        rounded
        and distance <= _ROUNDING
        and distance <= _RELATIVE_ROUNDING * max(abs(one), abs(other))
    )
