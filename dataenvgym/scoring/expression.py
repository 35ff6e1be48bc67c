"""From an arithmetic expression, in LaTeX or in plain signs, to its exact `ClosedForm`.

A recursive descent over the tokens of cleaned text (see `clean`). It follows what people mean
where TeX and calculators agree: `2^10` is 1024, `\\frac45` is four fifths, `4\\frac{3}{4}` is a
mixed number. Where readers differ (`1/2x`, `\\sqrt12`, `f(x)`, `x2`) and where an unknown sign
occurs, it raises `NotClosedFormError` rather than choose.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from math import factorial

from dataenvgym.scoring.algebra import (
    ClosedForm,
    NotClosedFormError,
    imaginary_unit,
    rational,
    symbol,
)
from dataenvgym.scoring.functions import FUNCTIONS, apply_function, power, without_sine_squares

ROUNDED_PLACES = 6
"""A decimal written with this many places may be the rounding of another number."""

_MAX_FACTORIAL = 500
_MAX_DEPTH = 40
_TOKEN = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+|\\[A-Za-z]+|\S)", re.ASCII)
_GREEK_NAMES = (
    "alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa lambda mu nu xi "
    "pi rho sigma tau upsilon phi varphi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Phi "
    "Psi Omega infty ell"
)
_GREEK = frozenset(_GREEK_NAMES.split())
_CLOSERS = {"(": ")", "{": "}"}


@dataclass(frozen=True, slots=True)
class Expression:
    """A parsed expression.

    Attributes:
        value: what it is, exactly as written.
        rounded: whether it contains a decimal of at least `ROUNDED_PLACES` places.
        uncertain: whether it contains a function, so that it may equal what it does not look like.
    """

    value: ClosedForm
    rounded: bool
    uncertain: bool


def parse_expression(text: str) -> Expression:
    """The exact value of `text`; raises `NotClosedFormError` if it has none that is certain."""
    parser = _Parser(_TOKEN.findall(text))
    value = parser.whole()
    if parser.uncertain:
        value = without_sine_squares(value)
    return Expression(value, parser.rounded, parser.uncertain)


class _Parser:
    def __init__(self, tokens: list[str]):
        self.rounded = False
        self.uncertain = False
        self._tokens = tokens
        self._at = 0
        self._depth = 0

    def whole(self) -> ClosedForm:
        value = self._sum()
        if self._at != len(self._tokens):
            raise NotClosedFormError(f"unexpected {self._peek()!r}")
        return value

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _take(self) -> str:
        token = self._peek()
        self._at += 1
        return token

    def _sum(self) -> ClosedForm:
        total = self._product()
        while self._peek() in ("+", "-"):
            total = total + self._product() if self._take() == "+" else total + -self._product()
        return total

    def _product(self) -> ClosedForm:
        value = self._signed_power()
        divided = False
        while True:
            token = self._peek()
            if token == "*":
                self._take()
                value, divided = value * self._signed_power(), False
            elif token == "/":
                self._take()
                value, divided = value / self._signed_power(), True
            elif self._starts_factor(token):
                if divided:
                    raise NotClosedFormError("a product after a slash can be read two ways")
                value = value * self._power()
            else:
                return value

    def _starts_factor(self, token: str) -> bool:
        if token[:1].isdigit() or token[:1] == ".":
            return self._tokens[self._at - 1][1:] in _GREEK
        if _is_letter(token) or token in _CLOSERS:
            return True
        return token in (r"\frac", r"\sqrt") or token[1:] in _GREEK or token[1:] in FUNCTIONS

    def _signed_power(self) -> ClosedForm:
        if self._peek() in ("+", "-"):
            return -self._nested() if self._take() == "-" else self._nested()
        return self._power()

    def _nested(self) -> ClosedForm:
        self._descend()
        value = self._signed_power()
        self._depth -= 1
        return value

    def _descend(self) -> None:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise NotClosedFormError("nested too deep")

    def _power(self) -> ClosedForm:
        value = self._atom()
        while self._peek() == "!":
            self._take()
            value = _factorial(value)
        if self._peek() != "^":
            return value
        self._take()
        exponent = self._nested()
        self.uncertain = self.uncertain or exponent.rational() is None
        return power(value, exponent)

    def _atom(self) -> ClosedForm:
        token = self._take()
        if token[:1].isdigit() or (token[:1] == "." and len(token) > 1):
            return self._number(token)
        if token in _CLOSERS:
            return self._group(_CLOSERS[token])
        if token == r"\frac":
            return self._argument() / self._argument()
        if token == r"\sqrt":
            return self._root()
        if token[1:] in FUNCTIONS:
            return self._function(token[1:])
        if _is_letter(token) or token[1:] in _GREEK:
            return self._symbol(token)
        raise NotClosedFormError(f"unexpected {token!r}")

    def _number(self, token: str) -> ClosedForm:
        if len(token.partition(".")[2]) >= ROUNDED_PLACES:
            self.rounded = True
        value = rational(int(token) if token.isdigit() else Fraction(token.rstrip(".")))
        if "." not in token and self._peek() == r"\frac":
            return self._mixed(value)
        return value

    def _mixed(self, whole: ClosedForm) -> ClosedForm:
        """`4\\frac{3}{4}`; a fraction that is no number is left to be multiplied."""
        before = self._at
        self._take()
        part = (self._argument() / self._argument()).rational()
        if part is None:
            self._at = before
            return whole
        if not 0 < part < 1:
            raise NotClosedFormError("a mixed number with an improper fraction")
        return whole + rational(part)

    def _group(self, closer: str) -> ClosedForm:
        self._descend()
        value = self._sum()
        self._depth -= 1
        if self._take() != closer:
            raise NotClosedFormError(f"expected {closer!r}")
        return value

    def _argument(self) -> ClosedForm:
        """A group in braces, or one digit or sign, as TeX takes it."""
        token = self._peek()
        if token == "{":
            return self._atom()
        if token.isdigit() and len(token) > 1:
            self._tokens[self._at] = token[1:]
            return rational(int(token[0]))
        if token.isdigit() or _is_letter(token) or token[1:] in _GREEK:
            self._take()
            return rational(int(token)) if token.isdigit() else self._symbol(token)
        raise NotClosedFormError(f"unexpected {token!r}")

    def _root(self) -> ClosedForm:
        if self._peek() == "[":
            raise NotClosedFormError("a root of another order")
        if self._peek() == "(":
            return self._atom().square_root()
        if self._peek().isdigit() and len(self._peek()) > 1:
            raise NotClosedFormError("a root over two digits without braces")
        return self._argument().square_root()

    def _function(self, name: str) -> ClosedForm:
        """`\\sin^2 x`: an index, a power, then a bracket or all factors up to the next sign."""
        self.uncertain = True
        exponent = rational(1)
        while self._peek() in ("_", "^"):
            if self._take() == "_":
                name = f"{name}_{self._subscript()}"
            else:
                exponent = self._power()
        if exponent.same_as(rational(-1)):
            raise NotClosedFormError("an inverse function, or a reciprocal")
        self._descend()
        argument = self._power()
        bracketed = self._tokens[self._at - 1] == ")"
        while not bracketed and self._continues_argument():
            argument = argument * self._power()
        self._depth -= 1
        return apply_function(name, argument).power(exponent)

    def _continues_argument(self) -> bool:
        token = self._peek()
        return self._starts_factor(token) and token != "(" and token[1:] not in FUNCTIONS

    def _symbol(self, token: str) -> ClosedForm:
        name = token.lstrip("\\")
        if self._peek() == "_":
            self._take()
            return symbol(f"{name}_{self._subscript()}")
        if name in ("f", "g", "h") and self._peek() == "(":
            raise NotClosedFormError("a function, or a product")
        if self._peek()[:1].isdigit() and _is_letter(token):
            raise NotClosedFormError("a digit after a letter")
        return imaginary_unit() if name == "i" else symbol(name)

    def _subscript(self) -> str:
        if self._peek() != "{":
            return self._take()
        parts = []
        while (token := self._take()) != "}":
            if not token:
                raise NotClosedFormError("an unclosed subscript")
            parts.append(token)
        return "".join(parts[1:])


def _is_letter(token: str) -> bool:
    return token.isascii() and token.isalpha()


def _factorial(value: ClosedForm) -> ClosedForm:
    number = value.rational()
    if number is None or number.denominator != 1 or not 0 <= number <= _MAX_FACTORIAL:
        raise NotClosedFormError("a factorial of something else than a small integer")
    return rational(factorial(int(number)))
