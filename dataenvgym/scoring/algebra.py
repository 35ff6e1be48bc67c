"""Exact arithmetic on closed forms: quotients of sums with square roots and symbols.

A `Terms` sum maps (radicand, monomial) to a rational coefficient: `3\\sqrt{2}x^2` is the entry
`(2, (("x", 2),)) -> 3`. Radicands are square-free integers, so the square roots are linearly
independent over the rationals and two sums are the same number or polynomial exactly when the
mappings are equal. A negative radicand is an imaginary root, and the imaginary unit is the root
of -1. `pi`, `e` and infinity are symbols like any other. A `ClosedForm` is a quotient of two
sums, compared by cross multiplication.

Whatever leaves this world (a cube root, a power with a symbol in the exponent, a sum that grows
beyond bounds) raises `NotClosedFormError`, so that nothing is ever decided by approximation.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import gcd, isqrt

MAX_POWER_BITS = 20_000
_MAX_COEFFICIENT_BITS = 4 * MAX_POWER_BITS
_MAX_TERMS = 256
_MAX_SUM_EXPONENT = 24
_MAX_RADICAND = 10**8

Monomial = tuple[tuple[str, int], ...]
Rational = int | Fraction
Terms = dict[tuple[int, Monomial], Rational]

_UNIT_KEY: tuple[int, Monomial] = (1, ())
_UNIT: Terms = {_UNIT_KEY: 1}


class NotClosedFormError(ArithmeticError):
    """An expression that this arithmetic cannot hold exactly."""


class HugePowerError(NotClosedFormError):
    """An integer power of more than `MAX_POWER_BITS` bits; it is never computed."""


@dataclass(frozen=True, slots=True, eq=False)
class ClosedForm:
    """`numerator / denominator`, two exact sums; immutable by convention."""

    numerator: Terms
    denominator: Terms

    def __add__(self, other: ClosedForm) -> ClosedForm:
        if self.denominator == other.denominator:
            return ClosedForm(_add(self.numerator, other.numerator), self.denominator)
        return ClosedForm(
            _add(
                _multiply(self.numerator, other.denominator),
                _multiply(other.numerator, self.denominator),
            ),
            _multiply(self.denominator, other.denominator),
        )

    def __neg__(self) -> ClosedForm:
        return ClosedForm({key: -value for key, value in self.numerator.items()}, self.denominator)

    def __mul__(self, other: ClosedForm) -> ClosedForm:
        return ClosedForm(
            _multiply(self.numerator, other.numerator),
            _multiply(self.denominator, other.denominator),
        )

    def __truediv__(self, other: ClosedForm) -> ClosedForm:
        if not other.numerator:
            raise NotClosedFormError("division by zero")
        return self * _quotient(other.denominator, other.numerator)

    def same_as(self, other: ClosedForm) -> bool:
        """Whether both are the same number, polynomial or rational function."""
        if self.denominator == other.denominator:
            return self.numerator == other.numerator
        return _multiply(self.numerator, other.denominator) == _multiply(
            other.numerator, self.denominator
        )

    def rational(self) -> Fraction | None:
        """The value if it is a rational number, else None."""
        if not self.numerator:
            return Fraction(0)
        if len(self.numerator) > 1 or self.denominator != _UNIT:
            return None
        value = self.numerator.get(_UNIT_KEY)
        return None if value is None else Fraction(value)

    def power(self, exponent: ClosedForm) -> ClosedForm:
        """`self ** exponent` for integer exponents, and for halves of a rational base.

        Raises:
            HugePowerError: the result would have more than `MAX_POWER_BITS` bits.
            NotClosedFormError: any other exponent.
        """
        times = exponent.rational()
        if times is None or times.denominator > 2:
            raise NotClosedFormError("an exponent that is no integer")
        if times.denominator == 2:
            return self.square_root().power(rational(times.numerator))
        if times < 0:
            return (rational(1) / self).power(rational(-times))
        value = self.rational()
        if value is not None:
            _check_power(value, int(times))
            return rational(value ** int(times))
        return self._repeated_product(int(times))

    def square_root(self) -> ClosedForm:
        """The principal square root of a rational number."""
        value = self.rational()
        if value is None:
            raise NotClosedFormError("a square root of something irrational")
        if not value:
            return self
        outer, inner = _split_square(abs(value.numerator))
        below, under = _split_square(value.denominator)
        top: Terms = {(inner if value > 0 else -inner, ()): outer}
        bottom: Terms = {(under, ()): Fraction(1, below * under)}
        return ClosedForm(_multiply(top, bottom), _UNIT)

    def _repeated_product(self, times: int) -> ClosedForm:
        if times > _MAX_SUM_EXPONENT:
            if len(self.numerator) > 1 or len(self.denominator) > 1 or times > MAX_POWER_BITS:
                raise NotClosedFormError("a high power of a sum")
            ((_, coefficient),) = self.numerator.items()
            _check_power(coefficient, times)
        result, square = rational(1), self
        while times:
            if times & 1:
                result = result * square
            times >>= 1
            if times:
                square = square * square
        return result


def rational(value: Rational) -> ClosedForm:
    """A rational number."""
    return ClosedForm({_UNIT_KEY: value} if value else {}, _UNIT)


def symbol(name: str) -> ClosedForm:
    """A variable, or a constant such as `pi` that no equation ties to the rationals."""
    return ClosedForm({(1, ((name, 1),)): 1}, _UNIT)


def imaginary_unit() -> ClosedForm:
    """The square root of -1."""
    return ClosedForm({(-1, ()): 1}, _UNIT)


def proportional(one: ClosedForm, other: ClosedForm) -> bool:
    """Whether `one` is a non-zero rational multiple of `other`."""
    left = _multiply(one.numerator, other.denominator)
    right = _multiply(other.numerator, one.denominator)
    if not left or left.keys() != right.keys():
        return False
    return len({Fraction(value, right[key]) for key, value in left.items()}) == 1


def _quotient(numerator: Terms, denominator: Terms) -> ClosedForm:
    """The quotient, with a denominator of one term moved into the numerator."""
    if len(denominator) > 1:
        return ClosedForm(numerator, denominator)
    (((radicand, monomial), coefficient),) = denominator.items()
    inverse: Terms = {
        (radicand, tuple((name, -power) for name, power in monomial)): Fraction(
            1, coefficient * radicand
        )
    }
    return ClosedForm(_multiply(numerator, inverse), _UNIT)


def _add(one: Terms, other: Terms) -> Terms:
    total = dict(one)
    for key, value in other.items():
        merged = _bounded(total.get(key, 0) + value)
        if merged:
            total[key] = merged
        else:
            del total[key]
    return total


def _multiply(one: Terms, other: Terms) -> Terms:
    if other is _UNIT:
        return one
    if one is _UNIT:
        return other
    if len(one) * len(other) > _MAX_TERMS:
        raise NotClosedFormError("a product of too many terms")
    total: Terms = {}
    for (first, left), a in one.items():
        for (second, right), b in other.items():
            factor, radicand = _multiply_roots(first, second)
            key = (radicand, _multiply_monomials(left, right))
            product = _bounded(a * b if factor == 1 else a * b * factor)
            merged = total[key] + product if key in total else product
            if merged:
                total[key] = merged
            else:
                total.pop(key, None)
    return total


def _multiply_roots(first: int, second: int) -> tuple[int, int]:
    """(factor, radicand) with `sqrt(first) * sqrt(second) = factor * sqrt(radicand)`."""
    if first == 1 or second == 1:
        return 1, first * second
    common = gcd(first, second)
    radicand = first * second // common**2
    if first < 0 and second < 0:
        return -common, radicand
    return common, radicand


def _multiply_monomials(left: Monomial, right: Monomial) -> Monomial:
    if not left or not right:
        return left or right
    powers = dict(left)
    for name, power in right:
        powers[name] = powers.get(name, 0) + power
    return tuple(sorted((name, power) for name, power in powers.items() if power))


def _bounded(value: Rational) -> Rational:
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > _MAX_COEFFICIENT_BITS:
        raise NotClosedFormError("a coefficient of too many digits")
    return value


def _check_power(value: Rational, times: int) -> None:
    bits = max(value.numerator.bit_length(), value.denominator.bit_length()) - 1
    if bits * times > MAX_POWER_BITS:
        raise HugePowerError("a power too large to write down")


def _split_square(number: int) -> tuple[int, int]:
    """(root, rest) with `number = root**2 * rest` and a square-free rest."""
    root = isqrt(number)
    if root * root == number:
        return root, 1
    if number > _MAX_RADICAND:
        raise NotClosedFormError("a radicand too large to factor")
    root, divisor, rest, remaining = 1, 2, 1, number
    while divisor * divisor <= remaining:
        while remaining % (divisor * divisor) == 0:
            root *= divisor
            remaining //= divisor * divisor
        if remaining % divisor == 0:
            rest *= divisor
            remaining //= divisor
        divisor += 1
    return root, rest * remaining
