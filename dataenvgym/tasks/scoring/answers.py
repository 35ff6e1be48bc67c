r"""A student's answer: found in a response, then parsed.

`extract_final_answer` returns the text of an answer, which must be marked. Markers, strongest
first; the last occurrence of the strongest one is used:

1. `\boxed{...}` or `\fbox{...}`, with any nesting of braces. If the last box never closes, the
   response was cut off: it has no answer, even if an earlier box closed.
2. `#### ...`, to the end of the line.
3. `final answer is ...` or `final answer: ...`, to the end of the sentence.
4. `answer is ...` or `answer: ...`, likewise.
5. Nothing else: the whole response is one number, list of numbers or formula (`**44**`, `= 44`,
   `44 apples.`, `x = 7`).

There is deliberately no fallback to the last number or the last formula of a longer response: a
lucky intermediate result would score, and a student would never learn to state an answer. Thoughts
do not count (see `said_in`). Chat-template tokens are removed, and a response that continues with
an invented next turn of the user ends there.

`read` parses cleaned text as a number, a word, a list, an interval, an equation, in turn (see
`dataenvgym.tasks.scoring.values`), structure before arithmetic. It never guesses: a computer
algebra system decides whether a `Formula` or an `Opaque` equals another.
"""

# ruff: noqa: RUF001 (this module is about look-alikes of ASCII signs)

from __future__ import annotations

import re
from dataclasses import replace

from dataenvgym.records.tool_formats import said_in
from dataenvgym.tasks.scoring.normalize import clean, unwrap_text
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

_TOKENS = re.compile(
    r"<[|｜][^<>|｜\s]{1,40}[|｜]>"
    r"|</?s>|<(?:bos|eos|pad|unk)>|<(?:start|end)_of_turn>|\[/?INST\]|<</?SYS>>"
)
_LEADING_TOKENS = re.compile(rf"(?:\s|{_TOKENS.pattern})*")
_NEXT_TURN = re.compile(
    r"(?:<[|｜](?:im_start|start_header_id|start)[|｜]>|<start_of_turn>)\s*(?:user|human|system)\b"
    r"|<[|｜](?:user|User|human)[|｜]>|\[INST\]"
)
_BOX = re.compile(r"\\(?:boxed|fbox)(?![A-Za-z])\s*")
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
_BARE_BOX = re.compile(r"[^\s${}]+")
_HASHES = re.compile(r"(?<!#)####(?!#)[^\S\n]*([^\n]*)")
_MARK = (
    r"answer\b[*_]*+(?:,\s\w++,)?(?:\s++to\s++[^.\n]{1,80}?)?(?:\s++(?:is|equals)\b\s*+:?+|\s*+[:=≈])"
    r"[*_]*+\s*+"
)
_FINAL_ANSWER = re.compile(rf"\bfinal\s+{_MARK}", re.IGNORECASE)
_ANSWER = re.compile(rf"\b{_MARK}", re.IGNORECASE)
_MATHS = re.compile(r"\$\$(.+?)\$\$|\$([^$\n]+)\$(?!\d)|\\\((.+?)\\\)|\\\[(.+?)\\\]", re.DOTALL)
_AND_MATHS = re.compile(r",?\s?(?:and|or)?,?\s?\$")
_SENTENCE_END = re.compile(
    r"(?<!\b[ie]\.[eg])(?<!\bapprox)(?<!\b(?:Rs|ca))(?<!\bviz)[.!?](?=\s|$|\*)|\n"
    r"|,?\s(?:because|since|so|which|where|as)\s|\s(?:I hope)\b"
)
_WHICH_IS = re.compile(r"^[^\d\n.$\\]{1,80}?,? which (?:is|equals) ")
_EMPHASIS = re.compile(r"(?<!\S)(\*\*|__)(?=\S)|(?<=\S)(\*\*|__)(?=[\s.,;:!?)]|$)")  # not 2**3
_BARE = re.compile(r"(?:\w ?(?:[=<>]|\\[lg]e))?[^?=<>]*[\d\\][^?=<>]*")
_PROSE = re.compile(r"(?<!\S)[^\W\d_]{2,}[ ']|[ ][^\W\d_]{2,}(?![\^_({\d])")
_MAX_SENTENCE = 1_000


def extract_final_answer(text: str) -> str | None:
    """The final answer that `text` marks (see the module), stripped; None without one.

    Units, currency and thousands separators stay: the comparison handles them.
    """
    text = _reply_text(said_in(text)).strip()
    marked = _marked_answer(text)
    return _bare_answer(text) if marked is None else marked or None


def _marked_answer(text: str) -> str | None:
    """The answer of the strongest marker: empty if the marker holds none, None if no marker."""
    boxes = list(_BOX.finditer(text))
    if boxes:
        return _boxed(text, boxes[-1].end())
    if hashes := _HASHES.findall(text):
        # `72` from `Final answer: 72`, as some write after the hashes
        unlabeled = re.sub(r"(?i)^\s*the\s+|\bfinal\s+(?=answer)", "", hashes[-1])
        return _ANSWER.sub("", unlabeled).strip()
    for marker in (_FINAL_ANSWER, _ANSWER):
        if marks := list(marker.finditer(text)):
            return _stated(text[marks[-1].end() :])
    return None


def _reply_text(text: str) -> str:
    """The response without template tokens, and without an invented turn of the user."""
    begin = _LEADING_TOKENS.match(text)
    turn = _NEXT_TURN.search(text, begin.end() if begin else 0)
    return _TOKENS.sub(" ", text[: turn.start()] if turn else text)


def _boxed(text: str, start: int) -> str:
    """The content of the box at `start`; empty if it does not close."""
    if text[start : start + 1] != "{":
        bare = _BARE_BOX.match(text, start)
        return bare[0].rstrip(".,;") if bare else ""
    depth = 0
    for brace in _BRACE.finditer(text, start):
        depth += {"{": 1, "}": -1}.get(brace[0], 0)
        if depth == 0:
            return text[start + 1 : brace.start()].strip()
    return ""


def _bare_answer(text: str) -> str | None:
    """The response itself, if it is only an answer (see the module)."""
    is_line = len(text) <= _MAX_SENTENCE and "\n" not in text
    number = split_unit(clean(text))[0] if is_line else ""
    is_answer = _BARE.fullmatch(number) and not _PROSE.search(number)
    return text.strip("*_` ").rstrip(".") if is_answer else None


def _stated(tail: str) -> str:
    """The answer at the beginning of the text after "the answer is"."""
    tail = _WHICH_IS.sub("", tail[:_MAX_SENTENCE].lstrip("*_ \t"))
    if (maths := _MATHS.match(tail)) and not _AND_MATHS.match(tail, maths.end()):
        return next(part for part in maths.groups() if part is not None).strip()
    end = _SENTENCE_END.search(tail)
    sentence = tail[: end.start()] if end else tail
    return _EMPHASIS.sub("", sentence).strip().strip("*_").strip()


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
