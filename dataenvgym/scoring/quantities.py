"""When two quantities are equal: their values, units and percent signs."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from dataenvgym.scoring.normalize import tokens
from dataenvgym.scoring.numerals import read_number
from dataenvgym.scoring.units import UNIT_LETTERS, units_clash
from dataenvgym.scoring.values import Formula, Quantity

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
