"""The texts of a reply that may contain its code, the most likely one first.

    the text before a mark that ends the student's turn
    the same without the marks of a quotation (`> `)
    the whole reply, for models that write such marks into their code

Thoughts do not count (see `said_in`). The time is proportional to the length of the reply.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dataenvgym.tool_formats import said_in

# ruff: noqa: RUF001 (some marks are written with a wide sign)


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
    said = said_in(reply)
    seen = set()
    end = _TURN_ENDS.search(said)  # the first mark that ends the turn, or begins another one
    turn = said[: end.start("mark") if end["mark"] else end.start()] if end else said
    for text in (turn, said):
        for found in (text, _QUOTED.sub("", text)):
            if found not in seen:
                seen.add(found)
                yield found


def visible(reply: str) -> str:
    """The reply without invisible characters: byte-order marks, zero-width spaces.

    Non-breaking spaces, which Python does not accept, become spaces.
    """
    return reply.translate(_INVISIBLE)
