"""The values that answers are read as.

Quantity    a number or expression held exactly, with its unit or percent sign
Numeral     digits in a stated base: `101_2`
HugePower   a tower of powers too large to compute
Word        plain language: `Tuesday`, `no solution`
Group       items in brackets, in a bare list (`1,2`), in a sequence (`4 3 1`) or in a union;
            an interval is a group of two, and `x > 3` is read as the interval it describes
Equation    two sides
Opaque      anything else
"""

from __future__ import annotations

from dataclasses import dataclass

from dataenvgym.scoring.algebra import ClosedForm

SEQUENCE = " "
LIST = ""
UNION = "\\cup"


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number or expression; `rounded` and `uncertain` as in `Expression`."""

    value: ClosedForm
    rounded: bool = False
    uncertain: bool = False
    unit: str = ""
    percent: bool = False


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
    """Text without a certain meaning."""

    text: str


Reading = Quantity | Numeral | HugePower | Word | Group | Equation | Opaque
