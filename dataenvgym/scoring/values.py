"""The values that answers are read as.

Quantity    a number held exactly, with its unit or percent sign
Numeral     digits in a stated base: `101_2`
HugePower   a tower of powers too large to compute
Word        plain language: `Tuesday`, `no solution`
Group       items in brackets, in a bare list (`1,2`), in a sequence (`4 3 1`) or in a union;
            an interval is a group of two, and `x > 3` is read as the interval it describes
Equation    two sides
Formula     an expression that a computer algebra system has to read
Opaque      anything else: a matrix, a chain of relations, text without a certain meaning
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

SEQUENCE = " "
LIST = ""
UNION = "\\cup"


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number, and the text that it was read from, without unit and percent sign.

    `rounded` says that it is a decimal of so many places that it may be rounded.
    """

    value: Fraction
    text: str
    rounded: bool = False
    unit: str = ""
    percent: bool = False


@dataclass(frozen=True, slots=True)
class Formula:
    """Text, without unit and percent sign, whose value only algebra can tell."""

    text: str
    unit: str = ""
    percent: bool = False

    @property
    def is_letter(self) -> bool:
        return len(self.text) == 1 and self.text.isalpha()


@dataclass(frozen=True, slots=True)
class Numeral:
    """Digits in a stated base other than ten, without leading zeros."""

    digits: str
    base: int


@dataclass(frozen=True, slots=True)
class HugePower:
    """A tower of integer powers with more than `MAX_POWER_BITS` bits."""


@dataclass(frozen=True, slots=True)
class Word:
    """Plain language, in lower case."""

    text: str


@dataclass(frozen=True, slots=True)
class Group:
    """Items between `left` and `right`: brackets, or `SEQUENCE`, `LIST` or `UNION` on both sides.

    `variable` names the unknown of an inequality that was read as an interval, else it is empty.
    """

    left: str
    right: str
    items: tuple[Reading, ...]
    variable: str = ""


@dataclass(frozen=True, slots=True)
class Equation:
    """`name` is the left side if that is a name alone (`x`, `f(x)`, `(x,y)`, `area`)."""

    left: Reading
    right: Reading
    name: str = ""


@dataclass(frozen=True, slots=True)
class Opaque:
    """Text that means something as a whole only, if at all."""

    text: str


Reading = Quantity | Formula | Numeral | HugePower | Word | Group | Equation | Opaque
