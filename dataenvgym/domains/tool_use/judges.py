"""What the speaker "judge" decides about a conversation.

Whether the student told the user the required facts, in any words; and, for a conversation that is
not solved although no rule was broken, whether the user, played by a model, is at fault.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator, Sequence
from functools import cache
from typing import Any, Literal

from pydantic import Field, create_model, model_validator

from dataenvgym.domains.tool_use.problem import ToolUseProblem
from dataenvgym.errors import SpeakerError
from dataenvgym.interfaces import Ask
from dataenvgym.judging import Unscored, dialogue_text, judge_ask, question
from dataenvgym.records import Message, Model, Text, ToolCall


class SaidThing(Model):
    """Whether one of the wanted things was said, and why."""

    number: int
    reason: Text
    was_said: bool


class SaidVerdict(Model):
    """One entry for each wanted thing."""

    things: tuple[SaidThing, ...]

    @model_validator(mode="after")
    def _each_once(self) -> SaidVerdict:
        numbers = [thing.number for thing in self.things]
        if sorted(numbers) != [*range(1, len(numbers) + 1)]:
            raise ValueError(f"the numbers are {numbers}, expected each once")
        return self


def said_by_judge(wanted: Sequence[str], said: Sequence[str]) -> Generator[Ask, str, bool]:
    """Whether the speaker "judge" finds all required facts in the student's messages.

    The judge is not asked if there are no messages.

    Raises:
        SpeakerError: if the judge gives no verdict.
    """
    if not any(text.strip() for text in said):
        return False
    verdict = said_verdict(len(wanted))
    asked = question(
        "said",
        verdict,
        data={
            "messages": dialogue_text([("assistant", text) for text in said]),
            "wanted": "\n".join(f"{number}. {text}" for number, text in enumerate(wanted, 1)),
        },
    )
    found = yield from judge_ask(asked, verdict)
    if isinstance(found, Unscored):
        raise found.error()
    return all(thing.was_said for thing in found.things)


@cache
def said_verdict(n: int) -> type[SaidVerdict]:
    """A verdict on `n` facts."""
    fields: dict[str, Any] = {"number": (Literal[tuple(range(1, n + 1))], ...)}
    thing = create_model("SaidThing", __base__=SaidThing, **fields)
    things: dict[str, Any] = {"things": (tuple[thing, ...], Field(min_length=n, max_length=n))}  # type: ignore[valid-type]
    return create_model("SaidVerdict", __base__=SaidVerdict, **things)


class FaultVerdict(Model):
    """Who is at fault, and why."""

    reason: Text
    at_fault: Literal["assistant", "user"]


def judged(
    problem: ToolUseProblem, view: Sequence[Message], instructions: str
) -> Generator[Ask, str, str]:
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
