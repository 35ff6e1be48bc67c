r"""The final answer in a response: the text to compare, or None if there is none.

An answer must be marked. Markers, strongest first; the last occurrence of the strongest one is
used:

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
"""

# ruff: noqa: RUF001 (this module is about look-alikes of ASCII signs)

from __future__ import annotations

import re

from dataenvgym.records.tool_formats import said_in
from dataenvgym.tasks.scoring.normalize import clean
from dataenvgym.tasks.scoring.quantities import split_unit

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
