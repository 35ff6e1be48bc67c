"""Whether a text tells a user the required facts: words, and numbers by their value.

`says` reads both texts as tokens, and looks for the required ones side by side:

    number   compared by value: 10, 10.00, $10 and "10 dollars" are equal; 10 is not in 100, -10,
             10%, 10/12, 2026-10-01 or order_10. If both have a currency, it must be the same.
    date     2026-01-05, "January 5, 2026" and "5 Jan 2026" are equal
    time     9:30, 09:30 and "9:30 am" are equal
    word     compared without case; quotes, punctuation and spacing do not count. An id such as
             order_10, A-7 or 01234 is a word.

Numbers written as words ("two") are words. This code cannot detect that a text denies the words
that it contains; that a text lists all possible answers, a problem's `not_said` detects.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from decimal import Decimal
from functools import lru_cache
from typing import Any, NamedTuple

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|"
    r"sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_CURRENCIES = {
    **dict.fromkeys(("$", "usd", "dollar", "dollars"), "$"),
    **dict.fromkeys(("€", "eur", "euro", "euros"), "€"),
    **dict.fromkeys(("£", "gbp"), "£"),
    **dict.fromkeys(("¥", "jpy", "yen"), "¥"),
}
_UNITS = (
    "kg|mg|g|lbs?|oz|km|cm|mm|mi|m|ft|in|ml|l|hrs?|h|mins?|secs?|ms|s|[kmgt]b|kwh|kw|w|"
    "st|nd|rd|th|x|[cf]|days?|years?|usd|eur|gbp"
)
_TOKEN = re.compile(
    rf"""
    (?<![\w-])(?P<iso>\d{{4}}-\d\d-\d\d)(?=t\d|[^\w-]|-(?!\w)|$)t?
  | (?<!\w)(?P<m1>{_MONTH})\ (?P<d1>\d{{1,2}})(?:st|nd|rd|th)?,?\ (?P<y1>\d{{4}})(?!\w)
  | (?<!\w)(?P<d2>\d{{1,2}})(?:st|nd|rd|th)?\ (?:of\ )?(?P<m2>{_MONTH}),?\ (?P<y2>\d{{4}})(?!\w)
  | (?:(?<![\w:.])|(?<=\dt))(?P<hour>\d{{1,2}})(?::(?P<minute>\d\d)(?::00)?z?(?![\w:])
      (?:\ ?(?P<half1>[ap])\.?m\b\.?)? | \ ?(?P<half2>[ap])\.?m\b\.?)
  | (?<![\w.])(?P<sign>-(?=\d|\.\d|[$€£¥])|(?:minus|negative)\ (?=[\d.$€£¥]))?
      (?P<before>(?:usd|eur|gbp)\ (?=\d)|[$€£¥]\ ?)?(?P<inner>-(?=[\d.]))?
      (?P<number>(?:\d{{1,3}}(?:,\d{{3}})++|\d++)(?:\.\d++)?|\.\d++)
      (?!\w|/\w|[.,:]\d|-\w*\d\w*[a-z])
      (?P<after>\ ?[$€£¥]|\ (?:usd|dollars?|eur|euros?|gbp|jpy|yen)\b|\ ?%|\ per\ ?cent\b)?
  | (?<![\w.])(?P<sign2>-)?(?P<of>\d++(?:\.\d++)?)(?P<unit>{_UNITS})(?![\w/])
  | (?P<word>\d\w*+(?:[/:.,-]\w++)*+|\w++(?:['.@/-]\w++)*+)
    """,
    re.VERBOSE,
)
_PARTS = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_ALIKE = dict.fromkeys(map(ord, "\u2018\u2019\u201b\u00b4`"), "'")  # quotes and apostrophes
_ALIKE |= dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2014\u2212"), "-")  # dashes, minus


class _Number(NamedTuple):
    value: Decimal
    currency: str | None
    percent: bool


def says(text: str, wanted: str) -> bool:
    """Whether the text contains all required tokens side by side; False if none are required."""
    sought = _wanted(wanted)
    if not sought:
        return False
    said = _heard(text)
    n = len(sought)
    return any(
        _same(said[i], sought[0]) and all(map(_same, said[i + 1 : i + n], sought[1:]))
        for i in range(len(said) - n + 1)
    )


@lru_cache(maxsize=4096)
def _wanted(text: str) -> tuple[Any, ...]:
    return tuple(_tokens(text))


@lru_cache(maxsize=64)  # the facts of a problem are sought in the same few messages
def _heard(text: str) -> tuple[Any, ...]:
    return tuple(_tokens(text))


def _same(said: Any, wanted: Any) -> bool:
    if not isinstance(said, _Number) or not isinstance(wanted, _Number):
        return bool(said == wanted)
    currencies = {said.currency, wanted.currency} - {None}
    same = said.value == wanted.value and said.percent == wanted.percent
    return same and len(currencies) < 2


def _tokens(text: str) -> Iterator[Any]:
    """Words, `_Number`s, and tuples for dates and times."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    text = " ".join(text.translate(_ALIKE).casefold().split())
    for found in _TOKEN.finditer(text):
        if found.lastgroup == "word":
            yield from _words(found["word"])
            continue
        parts = found.groupdict()
        if parts["iso"]:
            yield "date", *map(int, parts["iso"].split("-"))
        elif parts["y1"] or parts["y2"]:
            which = "1" if parts["y1"] else "2"
            month = _MONTHS.index(parts["m" + which][:3]) + 1
            yield "date", int(parts["y" + which]), month, int(parts["d" + which])
        elif parts["hour"]:
            hour, half = int(parts["hour"]), parts["half1"] or parts["half2"]
            if half:
                hour = hour % 12 + (12 if half == "p" else 0)
            yield "time", hour, int(parts["minute"] or 0)
        elif parts["number"]:
            yield _number(parts)
        elif parts["of"]:
            yield _Number(Decimal((parts["sign2"] or "") + parts["of"]), None, False)
            yield parts["unit"]


def _number(parts: dict[str, str]) -> Any:
    digits = parts["number"].replace(",", "")
    whole = digits.partition(".")[0]
    if len(whole) > 1 and whole.startswith("0"):
        return digits  # an id or a telephone number, not a quantity
    value = Decimal(digits)
    after = (parts["after"] or "").strip()
    currency = _CURRENCIES.get((parts["before"] or "").strip()) or _CURRENCIES.get(after)
    is_percent = after == "%" or after.startswith("per")
    return _Number(-value if parts["sign"] or parts["inner"] else value, currency, is_percent)


def _words(run: str) -> Iterator[str]:
    """The words in a run of characters; one with digits, "_" or "@" is an id, which is one word."""
    if run.isalpha():
        yield run
    elif any(c.isdigit() or c in "_@" for c in run):
        yield run.removesuffix("'s")
    else:
        yield from _PARTS.findall(run)
