"""Parses an answer: cleaned text as a number, a word, a list, an interval, an equation.

`read` tries these in turn (see `dataenvgym.tasks.scoring.values`), structure before arithmetic. It
never guesses: a computer algebra system decides whether a `Formula` or an `Opaque` equals another.
"""

from __future__ import annotations

import re
from dataclasses import replace

from dataenvgym.tasks.scoring.normalize import unwrap_text
from dataenvgym.tasks.scoring.quantities import is_grouped, read_number, read_numeral, split_unit
from dataenvgym.tasks.scoring.values import (
    LIST,
    UNION,
    Equation,
    Formula,
    Group,
    HugePower,
    Opaque,
    Quantity,
    Reading,
    Word,
)

MAX_ITEMS = 200
MAX_BRACKETS = 100

_WORD = re.compile(r"[^\W\d_][^\W\d_' .!?-]*(?:[' .!?-]+[^\W\d_]+)*[.!?]*")
_SHORT_WORDS = frozenset({"yes", "no", "odd", "all", "any", "one", "two", "six", "ten", "red"})
_WRAPPED_WORD = re.compile(r"\\text\s*\{([^{}]*)\}")
_CHOICE = re.compile(r"\(?([A-Za-z])[).:]?")
_JOINT = re.compile(
    r"[,;]?\s*(?:\\text\s*\{\s*(?:and|or)\s*\}|(?<![A-Za-z\\])(?:and|or)(?![A-Za-z]))|[,;]"
)
_RELATION = re.compile(r"=|<|>|\\(?:le|ge|in)(?![a-z])")
_UNREAD = re.compile(r"\\(?:ne|approx|equiv|mid|to|cap|setminus|not|begin|pm|mp)(?![a-z])|[|:~]")
_NAME = re.compile(
    r"[A-Za-z](?:_(?:\w|\{\w+\}))?'?(?:\([A-Za-z](?:,[A-Za-z])*\))?"
    r"|\([A-Za-z](?:,[A-Za-z])+\)"
    r"|\\(?:theta|alpha|beta|lambda|mu|phi)"
    r"|[A-Za-z]{4,}"
)
_CLOSED = (r"\le", r"\ge")
_OPENING = "([{"
_CLOSING = ")]}"


def read(text: str) -> Reading:
    """The reading of cleaned `text` (see `clean`)."""
    if sum(map(text.count, _OPENING)) > MAX_BRACKETS:
        return Opaque(text)
    return (
        read_number(text)
        or read_numeral(text)
        or _read_word(text)
        or _read_structure(text)
        or _read_expression(text)
    )


def read_list(text: str) -> Group | None:
    """`12,345` as the list of 12 and 345, for use when the other answer is a list; else None."""
    if not _is_one_number(text) or ",0" in text:
        return None
    return Group(LIST, LIST, tuple(read(item) for item in text.split(",")))


def _read_word(text: str) -> Reading | None:
    if found := _WRAPPED_WORD.fullmatch(text):
        inner = found[1].strip()
        if choice := _CHOICE.fullmatch(inner):
            return _exact(choice[1])
        return _word(inner) if _WORD.fullmatch(inner) else None
    if len(text) == 2 and (choice := _CHOICE.fullmatch(text)) and not text.isalpha():
        return _exact(choice[1])
    if _WORD.fullmatch(text) and not _JOINT.search(text) and _is_language(text):
        return _word(text)
    return None


def _is_language(text: str) -> bool:
    """Whether letters are words; otherwise up to three in a row are a product of variables."""
    longest = max(re.findall(r"[^\W\d_]+", text), key=len)
    if len(longest) > 3 or not text.isascii() or text.lower() in _SHORT_WORDS:
        return True
    return len(longest) == 3 and longest.istitle()


def _word(text: str) -> Word:
    return Word(" ".join(text.casefold().strip(" .!?").split()))


def _read_structure(text: str) -> Reading | None:
    """Lists, equations and inequalities, unions and brackets, outermost first."""
    if _WRAPPED_WORD.fullmatch(text):
        return read(unwrap_text(text))
    if _JOINT.search(text) and not _is_one_number(text):
        items = _split(text, _JOINT)
        if len(items) > 1:
            return _read_items(LIST, LIST, items)
    if _UNREAD.search(text):
        return Opaque(text)
    if _RELATION.search(text):
        parts = _split(text, _RELATION)
        if len(parts) > 1:
            return _read_relation(text, parts)
    if UNION in text:
        return _read_items(UNION, UNION, text.split(UNION))
    return _read_brackets(text)


def _is_one_number(text: str) -> bool:
    """Whether its commas separate thousands: `12,345`, also with a unit or as a percentage."""
    return is_grouped(split_unit(text)[0].removesuffix("%").rstrip())


def _read_items(left: str, right: str, items: list[str]) -> Reading:
    items = [item.strip() for item in items]
    split_thousands = any(re.fullmatch(r"0\d\d", item) for item in items)
    if len(items) > MAX_ITEMS or not all(items) or split_thousands:
        return Opaque(left + ",".join(items) + right)
    return Group(left, right, tuple(read(item) for item in items))


def _read_brackets(text: str) -> Reading | None:
    """`(1,2)`, `[0,1)`, `\\{1,2\\}`; a single item in round brackets is that item."""
    for left, right in (("(", ")"), ("(", "]"), ("[", ")"), ("[", "]"), (r"\{", r"\}")):
        if text.startswith(left) and text.endswith(right) and _encloses(text):
            inner = text[len(left) : -len(right)].strip()
            items = _split(inner, _JOINT)
            if len(items) > 1 or left != "(" or right != ")":
                sequence = read_numeral(inner) if len(items) == 1 else None
                if isinstance(sequence, Group):
                    return Group(left, right, sequence.items)
                return _read_items(left, right, items)
            return read(inner) if inner else Opaque(text)
    return None


def _read_relation(text: str, parts: list[str]) -> Reading:
    signs = _RELATION.findall(text)
    sides = [part.strip() for part in parts]
    if len(signs) != len(sides) - 1 or not all(sides):
        return Opaque(text)
    if signs == [r"\in"] and _NAME.fullmatch(sides[0]):
        inside = read(sides[1])
        if isinstance(inside, Group):
            return Group(inside.left, inside.right, inside.items, sides[0])
    if signs == ["="]:
        return _read_equation(*sides)
    return _read_inequality(signs, sides) or Opaque(text)


def _read_equation(left: str, right: str) -> Equation:
    """`5 = x` becomes `x = 5`, so that the name is on the left."""
    if _name(right) and not _name(left):
        left, right = right, left
    name = _name(left)
    subject = Opaque(left) if len(name) > 1 else read(left)
    return Equation(subject, read(right), name)


def _name(text: str) -> str:
    plain = unwrap_text(text).replace(" ", "")
    return plain if _NAME.fullmatch(plain) else ""


def _read_inequality(signs: list[str], sides: list[str]) -> Group | None:
    """`a < x \\le b`, `x > a` or `a < x` with numbers a and b as an interval."""
    if {">", r"\ge"}.issuperset(signs):
        signs, sides = signs[::-1], sides[::-1]
    elif not {"<", r"\le"}.issuperset(signs):
        return None
    named = [position for position, side in enumerate(sides) if _NAME.fullmatch(side)]
    if len(sides) > 3 or len(named) != 1 or (len(sides) == 3 and named != [1]):
        return None
    at = named[0]
    is_last = at == len(sides) - 1
    lower = _exact(sides[at - 1] if at else r"-\infty")
    upper = _exact(r"\infty" if is_last else sides[at + 1])
    left = "[" if at and signs[at - 1] in _CLOSED else "("
    right = "]" if not is_last and signs[at] in _CLOSED else ")"
    if isinstance(lower, HugePower) or isinstance(upper, HugePower):
        return None
    return Group(left, right, (lower, upper), sides[at])


def _read_expression(text: str) -> Reading:
    number, unit = split_unit(text)
    percent = number.endswith("%")
    if percent:
        number = number[:-1].rstrip()
    reading = _exact(number)
    return (
        reading if isinstance(reading, HugePower) else replace(reading, unit=unit, percent=percent)
    )


def _exact(text: str) -> Quantity | Formula | HugePower:
    text = unwrap_text(text)
    reading = read_number(text) or read_numeral(text)
    return reading if isinstance(reading, Quantity | HugePower) else Formula(text)


def _encloses(text: str) -> bool:
    """Whether the first bracket closes with the last character and not earlier."""
    depth = 0
    for position, sign in enumerate(text):
        depth += (sign in _OPENING) - (sign in _CLOSING)
        if depth == 0 and sign in _CLOSING:
            return position == len(text) - 1
    return False


def _split(text: str, separator: re.Pattern[str]) -> list[str]:
    """`text` split at the separators outside all brackets."""
    parts, start, depth, position = [], 0, 0, 0
    for found in separator.finditer(text):
        between = text[position : found.start()]
        depth += sum(map(between.count, _OPENING)) - sum(map(between.count, _CLOSING))
        position = found.end()
        if depth == 0:
            parts.append(text[start : found.start()])
            start = position
    return [*parts, text[start:]]
