"""Who is at fault: decides which errors belong to one instance, and which go to the caller.

An exception from a speaker (the student, or another one), a `Failure`, or an exception from the
environment ends its instance with an `error`, never with a wrong answer. If `predict` raises for
several conversations, they are asked again one by one, so that one of them does not fail the
others. After an `OSError` they are not, because the speaker is then out of reach for all.

A model may refuse a conversation for good because of the student's words in it: they are too long
for it, or its server does not accept them. That is the student's fault, and a wrong answer, else a
student could take the problems that it cannot solve out of its score. It is so if the same
conversation without these words is answered, and with them refused again (`sparing`). This holds
for the student's own next turn, too.

A failed instance names the party at fault (see `dataenvgym.records.instances`). It is the
infrastructure if the student's predictor failed, or if a speaker was out of reach (`is_outage`,
`Failure.outage`) or is missing; otherwise the speaker, by its name, or the environment.

A speaker that cannot work at all raises an exception for the caller: a `PredictionError` (its
server died), a `ConfigurationError`, or, of a teacher, a `BudgetSpentError` or an `ExternalError`
(its cache cannot be reached). Returning too few
replies, or objects that are not replies, is a bug and a `PredictionError`, too.
"""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any

from dataenvgym.errors import (
    BudgetSpentError,
    ConfigurationError,
    ExternalError,
    PredictionError,
    SpeakerError,
)
from dataenvgym.interfaces import Ask, Failure, Reply
from dataenvgym.records import Conversation
from dataenvgym.records.instances import INFRASTRUCTURE
from dataenvgym.records.instances import STUDENT as THE_STUDENT

STUDENT = "predictor"
"""The student's name among the speakers, and in errors."""
TO_THE_CALLER = (PredictionError, ConfigurationError, BudgetSpentError, ExternalError)
"""Exceptions of a speaker that are not an instance's error."""
OF_ALL = (OSError,)
"""Exceptions of a speaker that concern all conversations: connections, time limits."""
_OUTAGES = ("Timeout", "Connect", "Cancelled")  # of httpx, openai, asyncio: not OSErrors
_WORD, _SPACES = re.compile(r"(\w+|[^\w\s])"), re.compile(r"\s{8,}")
_LONG = 64
_log = logging.getLogger(__name__)


def is_outage(error: Exception) -> bool:
    """Whether an exception means that a model was out of reach."""
    names = (kind.__name__ for kind in type(error).__mro__)
    return isinstance(error, OF_ALL) or any(part in name for name in names for part in _OUTAGES)


def describe(who: str, error: Exception, name: str, *, among: int = 1) -> str:
    """The error in one line, for the record; the log gets the traceback and the name."""
    others = f" and {among - 1} more" if among > 1 else ""
    _log.warning("%s failed for %s%s", who, name, others, exc_info=error)
    return f"{who}: {type(error).__name__}: {error}"


def sparing(asks: Generator[Ask, Any, None], said: Sequence[str]) -> Generator[Ask, Any, None]:
    """Pass on asks; ask a speaker that fails without the student's words, and once more with them.

    Args:
        said: the student's messages so far, and the results of its calls.

    Raises:
        SpeakerError: if a speaker fails and may not, or if `asks` raises it. The fault is the
            student's if its words are why a speaker failed.
    """
    reply: Reply | Failure | None = None
    refused: SpeakerError | None = None
    with closing(asks):
        while True:
            try:
                given = asks.send(reply)
            except StopIteration:
                return
            except SpeakerError as error:
                raise refused or error from None
            ask = replace(given, may_fail=True)
            reply = yield ask
            fault = INFRASTRUCTURE if ask.who == STUDENT else ask.who
            if isinstance(reply, Failure) and not reply.outage and said:
                spared = replace(ask, conversation=_without(ask.conversation, said))
                if spared.conversation != ask.conversation and isinstance((yield spared), Reply):
                    reply = yield ask  # it may have failed by chance
                    fault = THE_STUDENT
            if isinstance(reply, Failure):
                failed = SpeakerError(reply.reason, fault=INFRASTRUCTURE if reply.outage else fault)
                refused = failed if failed.fault == THE_STUDENT else refused
                if not given.may_fail:
                    raise failed


def _without(conversation: Conversation, said: Sequence[str]) -> Conversation:
    """The conversation without the words in these texts, and without calls.

    Environments quote a text in many ways (indented, shortened, in one line), but keep its words.
    Each is taken out as often as it was said, the last ones first: a problem comes before answers.
    So is each sign; all of those that cannot be printed, and all of those that were said often.
    """
    left = Counter(word for text in said for word in _WORD.findall(text))
    often = (c for c, n in Counter("".join(said)).items() if n > _LONG or not c.isprintable())
    signs = dict.fromkeys(ord(c) for c in often if not c.isalnum() and c not in "_ \t\n")

    def rest(text: str) -> str:
        parts = _WORD.split(text)
        for i in range(len(parts) - 2, 0, -2):
            word = parts[i]
            if left[word] > 0 or (len(word) > _LONG and any(word in one for one in said)):
                left[word] -= 1
                parts[i] = ""
        return _SPACES.sub(" ", "".join(parts).translate(signs)) or "-"

    return tuple(
        message.model_copy(update={"content": rest(message.content), "tool_calls": ()})
        for message in reversed(conversation)
    )[::-1]
