"""Units: words that may follow a number without changing it.

An answer of `18 dollars` states the number 18, and `5` matches a gold `5 \\text{ inches}`. A unit
is dropped if only one side has it. If both sides name a unit of the table below, it must be the
same.
Words of at least four letters count as a unit even if they are not in the table (`12 apples`).
Shorter ones do not, because `2ab` is a product.
"""

from __future__ import annotations

import re

_SPELLINGS = {
    "mm": "millimeter millimetre",
    "cm": "centimeter centimetre",
    "m": "meter metre",
    "km": "kilometer kilometre",
    "in": "inch inches",
    "ft": "foot feet",
    "yd": "yard",
    "mi": "mile",
    "mg": "milligram",
    "g": "gram",
    "kg": "kilogram kilo",
    "lb": "pound lbs",
    "oz": "ounce",
    "ml": "milliliter millilitre",
    "l": "liter litre",
    "s": "sec second",
    "min": "minute",
    "h": "hr hour",
    "day": "",
    "week": "wk",
    "month": "",
    "year": "yr",
    "mph": "",
    "kph": "kmh",
    "am": "",
    "pm": "",
    "$": "dollar usd buck",
    "¢": "cent",
    "€": "euro eur",
    "£": "gbp",
    "deg": "degree",
    "rad": "radian",
    "unit": "",
    "sq": "square",
    "cu": "cubic",
}
_CANONICAL = {
    spelling: unit for unit, others in _SPELLINGS.items() for spelling in (unit, *others.split())
}
_CONNECTORS = frozenset({"of", "per", "in", "a", "an", "the"})
_LONG_WORD = 4

UNIT_LETTERS = frozenset("mgshlLCF")
"""Letters that may also be a variable; the comparison decides."""

_TRAILING_TEXT = re.compile(r"(?<=[\d})%\]])\s*\\text\s*\{([^{}]*)\}\s*(\^\s*\{?\s*-?\d\s*\}?)?$")
_TRAILING_WORDS = re.compile(
    r"(?<=[\d})%.])\s*([^\W\d_](?:[^\W\d_]|[/ .-])*?)(\^\s*\{?\s*\d\s*\}?|\d)?$"
)


def split_unit(text: str) -> tuple[str, str]:
    """(number, unit) of cleaned `text`; the unit is empty if there is none, else canonical."""
    if not (text[-1:].isalpha() or text[-1:] in "}.)" or text[-1:].isdigit()):
        return text, ""
    if found := _TRAILING_TEXT.search(text):
        if (unit := _canonical(found[1])) not in ("and", "or"):
            return text[: found.start()].rstrip(), unit
        return text, ""
    if found := _TRAILING_WORDS.search(text):
        words = re.findall(r"[^\W\d_]+", found[1])
        if _is_unit(words, compound="/" in found[1]):
            return text[: found.start()].rstrip(), _canonical(found[1])
    return text, ""


def units_clash(one: str, other: str) -> bool:
    """Whether both are known units and differ."""
    return one != other and one in _SPELLINGS and other in _SPELLINGS


def _is_unit(words: list[str], *, compound: bool) -> bool:
    """Whether all words are units; single letters count only in a compound such as `m/s`."""
    if all(word.lower() in _CONNECTORS for word in words):
        return False
    return all(
        len(word) >= _LONG_WORD
        or word.lower() in _CONNECTORS
        or ((compound or len(word) > 1) and _singular(word) in _CANONICAL)
        for word in words
    )


def _canonical(unit: str) -> str:
    """The unit in one spelling; a unit that is not in the table is only lowercased."""
    folded = " ".join(unit.casefold().replace(".", "").split())
    return _CANONICAL.get(_singular(folded), folded)


def _singular(word: str) -> str:
    lowered = word.casefold()
    if lowered in _CANONICAL or not lowered.endswith("s"):
        return lowered
    return lowered[:-1]
