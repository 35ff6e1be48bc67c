"""The texts of a reply in which its code may be, the likeliest one first.

    the text before a mark that ends the student's turn, without its thinking
    the same without the marks of a quotation (`> `)
    all of the reply, for models that answer while they think or write such marks into their code

Thinking is the text between `<think>` at the beginning of a line and `</think>` at the beginning
or the end of one, or before a fence; also all before a closing tag that nothing opened, and all
behind an opening one that nothing closes. Everything here takes time in proportion to the reply.
"""

# ruff: noqa: RUF001 (some marks are written with a wide sign)

from __future__ import annotations

import re
from collections.abc import Iterator

_NAMES = "(?:think|thinking|thought|reasoning)"
_FENCE = "(?:`{3}|~{3})"
_TAG = re.compile(
    rf"^[ \t]*<(?P<closing>/?){_NAMES}>|</{_NAMES}>(?:[ \t]*$|(?=[ \t]*{_FENCE}))", re.MULTILINE
)
_TAG_BEFORE_FENCE = re.compile(rf"(</?{_NAMES}>)[ \t]*(?={_FENCE})")
_ENDS = "im_end|end|eot_id|eom_id|endoftext|end_of_text|end▁of▁sentence"
_TURN_ENDS = re.compile(
    rf"(?<![\"'])<[|｜](?:{_ENDS})[|｜]>(?![\"'])"
    r"|(?:<[|｜](?:im_start|start_header_id|start)[|｜]>|<start_of_turn>)\s{0,8}"
    r"(?:user|human|system)\b"
    r"|<[|｜](?:user|User|human)[|｜]>|<end_of_turn>"
    r"|^(?!.*<s>).*?(?P<mark></s>|<eos>)[ \t]*$",
    re.MULTILINE,
)
_QUOTED = re.compile(r"^[ \t]{0,3}>(?!>>)(?: ?>(?!>>))? ?", re.MULTILINE)
_INVISIBLE = dict.fromkeys(map(ord, "\ufeff\u200b\u200c\u200d\u2060"), None) | {0xA0: " "}


def texts_of(reply: str) -> Iterator[str]:
    """The texts in which the code may be; none comes twice."""
    turn = _turn(reply)
    seen = set()
    for text in (_without_thinking(turn), turn, reply):
        text = _TAG_BEFORE_FENCE.sub(r"\1\n", text)
        for found in (text, _QUOTED.sub("", text)):
            if found not in seen:
                seen.add(found)
                yield found


def visible(reply: str) -> str:
    """The reply without invisible characters: byte-order marks, spaces of no width.

    Spaces that break no line, which Python does not take, become spaces.
    """
    return reply.translate(_INVISIBLE)


def _turn(reply: str) -> str:
    """The reply up to the first mark that ends the turn, or begins another one."""
    if (end := _TURN_ENDS.search(reply)) is None:
        return reply
    return reply[: end.start("mark") if end["mark"] else end.start()]


def _without_thinking(text: str) -> str:
    kept: list[str] = []
    begin: int | None = 0  # of what is kept; None in thinking
    for tag in _TAG.finditer(text):
        if tag["closing"] == "":
            kept += [text[begin : tag.start()]] if begin is not None else []
            begin = None
            continue
        if begin is not None:  # nothing has opened it
            kept.clear()
        begin = tag.end()
    return "".join([*kept, text[begin:]] if begin is not None else kept)
