"""When two quantities are equal: their values, units and percent signs."""

from __future__ import annotations

from fractions import Fraction

from dataenvgym.scoring.algebra import ClosedForm, rational
from dataenvgym.scoring.units import UNIT_LETTERS, units_clash
from dataenvgym.scoring.values import Quantity

_ROUNDING = Fraction(5, 10**7)
_RELATIVE_ROUNDING = Fraction(1, 10**4)


def compare_quantities(one: Quantity, other: Quantity) -> bool | None:
    """Whether both state the same quantity; None if that takes more than exact arithmetic.

    Raises:
        NotClosedFormError: the comparison itself outgrows exact arithmetic.
    """
    if units_clash(one.unit, other.unit):
        return False
    if one.percent == other.percent:
        return _compare_values(one, other)
    percentage, plain = (one, other) if one.percent else (other, one)
    if plain.value.same_as(percentage.value / rational(100)):
        return True
    size = plain.value.rational()
    if size is not None and abs(size) < 1:
        return None if percentage.rounded or plain.rounded else False
    return _compare_values(percentage, plain)


def _compare_values(one: Quantity, other: Quantity) -> bool | None:
    if one.value.same_as(other.value):
        return True
    left, right = one.value.rational(), other.value.rational()
    if one.uncertain or other.uncertain:
        return None
    if left is not None and right is not None:
        return (one.rounded or other.rounded) and _is_rounding(left, right)
    if one.rounded or other.rounded:
        return None
    letter = _extra_letter(one.value, other.value)
    return letter in UNIT_LETTERS and not units_clash(letter, one.unit or other.unit)


def _extra_letter(one: ClosedForm, other: ClosedForm) -> str:
    """`m` for the values `4m` and `4`, in either order; empty for all others."""
    number = one.rational() if one.rational() is not None else other.rational()
    form = other if one.rational() is not None else one
    if number is None or len(form.numerator) != 1:
        return ""
    (((radicand, monomial), coefficient),) = form.numerator.items()
    if radicand != 1 or len(monomial) != 1 or coefficient != number:
        return ""
    name, power = monomial[0]
    return name if power == 1 else ""


def _is_rounding(one: Fraction, other: Fraction) -> bool:
    """Whether one may be the other, rounded to six places and with four digits or more left."""
    distance = abs(one - other)
    return distance <= _ROUNDING and distance <= _RELATIVE_ROUNDING * max(abs(one), abs(other))
