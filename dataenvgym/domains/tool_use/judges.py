"""Decisions of the speaker "judge" about a conversation.

Whether the student told the user the required facts, in any words; whether assertions in natural
language hold (tau2); and, for a conversation that is not solved although no rule was broken,
whether the user, played by a model, is at fault.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Literal, Self

from pydantic import Field, create_model, model_validator

from dataenvgym.domains.tool_use.problem import ToolUseProblem
from dataenvgym.errors import SpeakerError
from dataenvgym.interfaces import Ask, Reply
from dataenvgym.judging import Unscored, conversation_text, dialogue_text, judge_ask, question
from dataenvgym.records import Message, Model, Text, ToolCall


class _Numbered(Model):
    """One entry for each numbered thing, in one field."""

    @property
    def entries(self) -> tuple[Any, ...]:
        """The entries, in the judge's order."""
        (found,) = vars(self).values()
        return tuple(found)

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        numbers = [entry.number for entry in self.entries]
        if sorted(numbers) != [*range(1, len(numbers) + 1)]:
            raise ValueError(f"the numbers are {numbers}, expected each once")
        return self


_NAMES = {
    "said": ("SaidVerdict", "things", "SaidThing", "was_said"),
    "statements": ("StatementsVerdict", "statements", "Statement", "holds"),
}
"""By the name of the question: the verdict, its field, an entry, and whether that one holds."""


@cache
def numbered_verdict(asked: str, n: int) -> type[Any]:
    """A verdict with a reason on each of `n` things."""
    name, field, entry, holds = _NAMES[asked]
    number: Any = Literal[tuple(range(1, n + 1))]
    fields: dict[str, Any] = {"number": (number, ...), "reason": (Text, ...), holds: (bool, ...)}
    one = create_model(entry, __base__=Model, **fields)
    several: dict[str, Any] = {field: (tuple[one, ...], Field(min_length=n, max_length=n))}  # type: ignore[valid-type]
    return create_model(name, __base__=_Numbered, **several)


def _each_holds(asked: str, n: int, data: Mapping[str, str]) -> Generator[Ask, Reply, bool]:
    verdict = numbered_verdict(asked, n)
    found = yield from judge_ask(question(asked, verdict, data=data), verdict)
    if isinstance(found, Unscored):
        raise found.error()
    return all(getattr(entry, _NAMES[asked][-1]) for entry in found.entries)


def said_by_judge(wanted: Sequence[str], said: Sequence[str]) -> Generator[Ask, Reply, bool]:
    """Whether the speaker "judge" finds all required facts in the student's messages.

    The judge is not asked if there are no messages.

    Raises:
        SpeakerError: if the judge gives no verdict.
    """
    if not any(text.strip() for text in said):
        return False
    data = {
        "messages": dialogue_text([("assistant", text) for text in said]),
        "wanted": "\n".join(f"{number}. {text}" for number, text in enumerate(wanted, 1)),
    }
    return (yield from _each_holds("said", len(wanted), data))


def all_hold(
    statements: Sequence[str], conversation: Sequence[Message]
) -> Generator[Ask, Reply, bool]:
    """Whether all statements hold of the conversation, which is given from the student's view.

    Raises:
        SpeakerError: if the judge gives no verdict on each of them.
    """
    talk = tuple(message for message in conversation if message.role != "system")
    data = {
        "conversation": conversation_text(talk),
        "statements": "\n".join(f"{n}. {text}" for n, text in enumerate(statements, start=1)),
    }
    return (yield from _each_holds("statements", len(statements), data))


class FaultVerdict(Model):
    """Who is at fault, and why."""

    reason: Text
    at_fault: Literal["assistant", "user"]


def judged(
    problem: ToolUseProblem, view: Sequence[Message], instructions: str
) -> Generator[Ask, Reply, str]:
    """The speaker "judge"'s reason why the assistant is at fault.

    Args:
        view: the conversation from the user's view.

    Raises:
        SpeakerError: if the user is at fault, or if the judge gives no verdict.
    """
    asked = question(
        "user_fault",
        FaultVerdict,
        data={
            "instructions": instructions,
            "gold": _calls(problem.gold) or "none",
            "user_gold": _calls(problem.user_gold) or "none",
            "conversation": dialogue_text(list(_turns(view))),
        },
    )
    verdict = yield from judge_ask(asked, FaultVerdict)
    if isinstance(verdict, Unscored):
        raise verdict.error()
    if verdict.at_fault == "user":
        raise SpeakerError(f"user: the judge says: {verdict.reason}")
    return verdict.reason


def _calls(calls: Sequence[ToolCall]) -> str:
    return "\n".join(f"{call.name}({json.dumps(call.arguments)})" for call in calls)


def _turns(view: Sequence[Message]) -> Iterator[tuple[str, str]]:
    names = {"assistant": "User", "user": "Assistant", "tool": "Result"}
    for message in view:
        if message.role in names and (message.content or not message.tool_calls):
            yield names[message.role], message.content
        if message.tool_calls:
            yield "User calls", _calls(message.tool_calls)
