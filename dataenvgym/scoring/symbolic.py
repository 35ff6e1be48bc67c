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
_NEGLIGIBLE = sympy.Float("1e-50", _DIGITS)
_EXACT = sympy.Float("1e-25", _DIGITS)
_ROUNDING = sympy.Float("5e-7", _DIGITS)
_RELATIVE_ROUNDING = sympy.Float("1e-4", _DIGITS)


def can_parse(text: str) -> bool:
    """Whether `text` (LaTeX without delimiters) is an expression that can be compared."""
    return _parse(text) is not None


def symbolically_equal(gold: str, answer: str) -> bool:
    """Whether two LaTeX expressions, without delimiters, are equal.

    math-verify decides, except that numbers are compared by their relative difference: it rounds
    absolutely, which makes all tiny numbers equal. In such numbers, i is the imaginary unit.
    """
    one, other = _parse(gold), _parse(answer)
    if one is None or other is None:
        return False
    by_value = _numerically_equal(one, other)
    if by_value is not None:
        return by_value
    if verify([one], [other], allow_set_relation_comp=True, timeout_seconds=None):
        return True
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


def _numerically_equal(one: Any, other: Any) -> bool | None:
    """Whether two numbers are equal; None if one is not a number, or if digits cannot decide."""
    left, right = _number(one), _number(other)
    if left is None or right is None:
        return None
    distance, size = abs(left - right), max(abs(left), abs(right))
    if size < _NEGLIGIBLE:
        return None
    if one.has(sympy.Float) or other.has(sympy.Float):
        return bool(distance <= _ROUNDING and distance <= _RELATIVE_ROUNDING * size)
    return bool(distance <= _EXACT * size)


def _number(expression: Any) -> Any | None:
    """The value of a number to `_DIGITS` digits; None if sympy cannot evaluate it."""
    if not isinstance(expression, sympy.Expr):
        return None
    imaginary = {name: sympy.I for name in expression.free_symbols if name.name == "i"}
    try:
        value = sympy.N(expression.subs(imaginary), _DIGITS)
    except (TypeError, ValueError, ArithmeticError):
        return None
    return value if value.is_number and value.is_finite is True else None
