"""Functions inside exact arithmetic: the few values and laws that are certain.

A function of an argument is a symbol named after both, so that `2\\ln 3` is `\\ln 3 \\cdot 2`. On
top of that sine and cosine know their values at multiples of 30 and 45 degrees (from roots of
unity, by Euler's formula) and `sin^2 + cos^2 = 1`; tangent and its kin are quotients of them. Two
expressions that come out equal are equal; two that do not may still be (`\\ln 4` is `2\\ln 2`).
"""

from __future__ import annotations

from fractions import Fraction

from dataenvgym.scoring.algebra import (
    ClosedForm,
    Monomial,
    NotClosedFormError,
    Rational,
    imaginary_unit,
    rational,
    symbol,
)

_NAMES = "sin cos tan cot sec csc arcsin arccos arctan ln log sinh cosh tanh"
FUNCTIONS = frozenset(_NAMES.split())

_PI_TIMES_I = (-1, (("pi", 1),))
_FULL_TURN = 24  # in twelfths of pi


def apply_function(name: str, argument: ClosedForm) -> ClosedForm:
    """`name` of `argument`; `name` may carry an index, as `log_2` does."""
    if name == "tan":
        return apply_function("sin", argument) / apply_function("cos", argument)
    if name == "cot":
        return apply_function("cos", argument) / apply_function("sin", argument)
    if name == "sec":
        return rational(1) / apply_function("cos", argument)
    if name == "csc":
        return rational(1) / apply_function("sin", argument)
    if name in ("sin", "cos") and (turned := exponential(imaginary_unit() * argument)):
        back = rational(1) / turned
        if name == "cos":
            return (turned + back) / rational(2)
        return (turned + -back) / (rational(2) * imaginary_unit())
    return symbol(f"{name}({_key(argument)})")


def exponential(exponent: ClosedForm) -> ClosedForm | None:
    """`e` to a multiple of `i pi / 4` or `i pi / 6`, and None for other exponents."""
    if not exponent.numerator:
        return rational(1)
    if exponent.numerator.keys() != {_PI_TIMES_I}:
        return None
    twelfths = (exponent / (imaginary_unit() * symbol("pi"))).rational()
    if twelfths is None or (twelfths * 12).denominator > 1:
        return None
    steps = int(twelfths * 12) % _FULL_TURN
    half, root = rational(Fraction(1, 2)), rational
    if steps % 3 == 0:
        eighth = (root(2).square_root() + root(-2).square_root()) * half
        return eighth.power(rational(steps // 3))
    if steps % 2 == 0:
        twelfth = (root(3).square_root() + imaginary_unit()) * half
        return twelfth.power(rational(steps // 2))
    return None


def power(base: ClosedForm, exponent: ClosedForm) -> ClosedForm:
    """`base ** exponent`, where powers of `e` may have any exponent."""
    if exponent.rational() is None and base.same_as(symbol("e")):
        return exponential(exponent) or symbol(f"exp({_key(exponent)})")
    return base.power(exponent)


def without_sine_squares(value: ClosedForm) -> ClosedForm:
    """`value` with `1 - cos^2` for every `sin^2`, which makes it canonical in sine and cosine."""
    top, bottom = rational(0), rational(0)
    for key, coefficient in value.numerator.items():
        top = top + _without_sine_squares(key, coefficient)
    for key, coefficient in value.denominator.items():
        bottom = bottom + _without_sine_squares(key, coefficient)
    return top / bottom


def _without_sine_squares(key: tuple[int, Monomial], coefficient: Rational) -> ClosedForm:
    radicand, monomial = key
    term = rational(coefficient) * rational(radicand).square_root()
    for name, times in monomial:
        if name.startswith("sin(") and times >= 2:
            cosine = symbol(f"cos{name[3:]}")
            square = rational(1) + -(cosine * cosine)
            term = term * square.power(rational(times // 2))
            times %= 2
        term = term * symbol(name).power(rational(times))
    return term


def _key(argument: ClosedForm) -> str:
    """The argument in a spelling of its own; quotients have no canonical one."""
    if len(argument.denominator) > 1:
        raise NotClosedFormError("a function of a quotient")
    (bottom,) = argument.denominator.items()
    return f"{sorted(argument.numerator.items())}/{bottom}"
