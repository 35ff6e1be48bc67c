"""The slow path: equality by math-verify, for use in a process that may be killed.

Importing this module imports sympy; only the worker does. math-verify's own time limits are off,
because they use an alarm in the calling thread; callers limit the time from outside.
"""

from __future__ import annotations

from typing import Any

import sympy
from latex2sympy2_extended import NormalizationConfig
from math_verify import LatexExtractionConfig, parse, verify

# The whole text must match: otherwise math-verify would accept any formula or number in it. Units
# are already removed (see `split_unit`); here a trailing letter is a variable.
_TARGET = LatexExtractionConfig(
    boxed_match_priority=-1,
    normalization_config=NormalizationConfig(
        basic_latex=True, units=False, malformed_operators=True, nits=True, boxed="none"
    ),
)
_DIGITS = 60
_CERTAIN_DIGITS = 4_000
"""Exact numbers that agree to so many digits are equal."""
_NEGLIGIBLE = sympy.Float("1e-50", _DIGITS)
_CLOSE = sympy.Float("1e-25", _DIGITS)
_ROUNDING = sympy.Float("5e-7", _DIGITS)
_RELATIVE_ROUNDING = sympy.Float("1e-4", _DIGITS)
_LARGE_EXPONENT = 1_000_000


def can_parse(text: str) -> bool:
    """Whether `text` (LaTeX without delimiters) is an expression that can be compared."""
    return _parse(text) is not None


def symbolically_equal(gold: str, answer: str) -> bool:
    """Whether two LaTeX expressions, without delimiters, are equal.

    math-verify decides, except that numbers are compared exactly (a number with a decimal may be
    rounded): it rounds absolutely, which makes all tiny numbers equal, and large ones that share
    their first digits. In numbers, i is the imaginary unit.
    """
    one, other = _parse(gold), _parse(answer)
    if one is None or other is None:
        return False
    by_value = _numerically_equal(one, other)
    if by_value is not None:
        return by_value
    if verify([one], [other], allow_set_relation_comp=True, timeout_seconds=None):
        return not _differ_by_little(one, other)
    return _equals_symbol(one, other)


def _parse(text: str) -> Any | None:
    found = parse(
        f"${text}$",
        extraction_config=(_TARGET,),
        fallback_mode="no_fallback",
        extraction_mode="first_match",
        parsing_timeout=None,
    )
    return found[0] if found else None


def _equals_symbol(one: Any, other: Any) -> bool:
    """Whether one is a symbol and the other reduces to it (`x+0`): math-verify compares names."""
    if not (isinstance(one, sympy.Symbol) or isinstance(other, sympy.Symbol)):
        return False
    both = isinstance(one, sympy.Expr) and isinstance(other, sympy.Expr)
    return both and sympy.simplify(one - other) == 0


def _differ_by_little(one: Any, other: Any) -> bool:
    """Whether two formulas differ where their variables have values, but only in late digits."""
    names = sorted(one.free_symbols | other.free_symbols, key=str)
    point = {name: sympy.Rational(3 * k + 7, 3) for k, name in enumerate(names)}
    one, other = one.subs(point), other.subs(point)
    left, right = _number(one), _number(other)
    if left is None or right is None or abs(left - right) > _RELATIVE_ROUNDING * abs(left):
        return False
    return _numerically_equal(one, other) is False


def _numerically_equal(one: Any, other: Any) -> bool | None:
    """Whether two numbers are equal; None if one is not a number."""
    left, right = _number(one), _number(other)
    if left is None or right is None:
        return None
    distance, size = abs(left - right), max(abs(left), abs(right))
    if one.has(sympy.Float) or other.has(sympy.Float):
        is_rounding = distance <= _ROUNDING and distance <= _RELATIVE_ROUNDING * size
        return bool(is_rounding or distance <= _NEGLIGIBLE * size)
    if size > _NEGLIGIBLE and distance > _CLOSE * size:
        return False
    difference = _read(_named(one)) - _read(_named(other))
    return bool(difference.free_symbols) or _is_zero(difference)


def _is_zero(number: Any) -> bool:
    """Whether a number is 0: sympy adds digits until two are certain; without these, it is 0."""
    if number.is_rational and (exact := number.doit()).is_Rational:
        return bool(exact == 0)
    parts = _value(number, 2).as_real_imag()
    return all(part == 0 or part._prec == 1 for part in parts)


def _value(number: Any, digits: int) -> Any:
    is_slow = number.has(sympy.Integral, sympy.oo)
    return number.evalf(digits, maxn=2 * _DIGITS if is_slow else _CERTAIN_DIGITS)


def _named(number: Any) -> Any:
    """The number with a variable for each power that is too large to be computed."""
    sizes = {p: sympy.N(p.exp, _DIGITS) for p in number.atoms(sympy.Pow) if p.exp.is_number}
    large = {p: e for p, e in sizes.items() if abs(e) > _LARGE_EXPONENT}
    return number.xreplace({p: sympy.Symbol(f"{p.base}^{e}") for p, e in large.items()})


def _read(expression: Any) -> Any:
    """The number with its decimals read from their text, and the imaginary unit for i."""
    decimals = expression.atoms(sympy.Float)
    values = {number: sympy.Float(str(number), _DIGITS) for number in decimals}
    values |= {name: sympy.I for name in expression.free_symbols if name.name == "i"}
    number = expression.xreplace(values)
    return number.doit() if number.has(sympy.Mod, sympy.floor, sympy.ceiling) else number


def _number(expression: Any) -> Any | None:
    """The value of a number to `_DIGITS` digits; None if sympy cannot evaluate it."""
    if not isinstance(expression, sympy.Expr):
        return None
    try:
        value = _value(_read(expression), _DIGITS)
    except (TypeError, ValueError, ArithmeticError):
        return None
    return value if value.is_number and value.is_finite is True else None
