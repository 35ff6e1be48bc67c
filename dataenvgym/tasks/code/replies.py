"""The texts of a reply that may contain its code, the most likely one first.

    the text before a mark that ends the student's turn, without its thinking
    the same without the marks of a quotation (`> `)
    the whole reply, for models that answer while they think or write such marks into their code

Thinking is the text between a `<think>` at the beginning of a line and a `</think>` at the
beginning or end of one, or before a fence. All text before an unopened closing tag, or behind an
unclosed opening tag, is thinking as well. The time is proportional to the length of the reply.
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
    """The texts that may contain the code, without repeats."""
    turn = _turn(reply)
    seen = set()
    for text in (_without_thinking(turn), turn, reply):
        text = _TAG_BEFORE_FENCE.sub(r"\1\n", text)
        for found in (text, _QUOTED.sub("", text)):
            if found not in seen:
                seen.add(found)
                yield found


def visible(reply: str) -> str:
    """The reply without invisible characters: byte-order marks, zero-width spaces.

    Non-breaking spaces, which Python does not accept, become spaces.
    """
    return reply.translate(_INVISIBLE)


def _turn(reply: str) -> str:
    """The reply up to the first mark that ends the turn, or begins another one."""
    if (end := _TURN_ENDS.search(reply)) is None:
        return reply
    return reply[: end.start("mark") if end["mark"] else end.start()]


def _without_thinking(text: str) -> str:
    kept: list[str] = []
    begin: int | None = 0  # of the text that is kept; None while thinking
    for tag in _TAG.finditer(text):
        if tag["closing"] == "":
            kept += [text[begin : tag.start()]] if begin is not None else []
            begin = None
            continue
        if begin is not None:  # a closing tag that nothing opened
            kept.clear()
        begin = tag.end()
    return "".join([*kept, text[begin:]] if begin is not None else kept)
