"""The values that answers are parsed into.

Quantity    a number held exactly, with its unit or percent sign
Numeral     digits in a stated base: `101_2`
HugePower   a tower of powers too large to compute
Word        plain language: `Tuesday`, `no solution`
Group       items in brackets, in a bare list (`1,2`), in a sequence (`4 3 1`) or in a union;
            an interval is a group of two, and `x > 3` becomes the interval that it describes
Equation    two sides
Formula     an expression for a computer algebra system
Opaque      anything else: a matrix, a chain of relations, text with an uncertain meaning
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

SEQUENCE = " "
LIST = ""
UNION = "\\cup"


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number, and its original text without unit and percent sign.

    `rounded` means that it is a decimal with so many places that it may be rounded.
    """

    value: Fraction
    text: str
    rounded: bool = False
    unit: str = ""
    percent: bool = False


@dataclass(frozen=True, slots=True)
class Formula:
    """Text, without unit and percent sign, whose value needs algebra."""

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

    `variable` is the unknown of an inequality that became an interval, otherwise empty.
    """

    left: str
    right: str
    items: tuple[Reading, ...]
    variable: str = ""


@dataclass(frozen=True, slots=True)
class Equation:
    """`name` is the left side if that is only a name (`x`, `f(x)`, `(x,y)`, `area`)."""

    left: Reading
    right: Reading
    name: str = ""


@dataclass(frozen=True, slots=True)
class Opaque:
    """Text that cannot be taken apart."""

    text: str


Reading = Quantity | Formula | Numeral | HugePower | Word | Group | Equation | Opaque
