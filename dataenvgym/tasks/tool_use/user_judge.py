"""A judge that decides whether the user, played by a model, is at fault in a failed conversation.

It is asked only about conversations that are not solved and break no rule (`user_rules`).
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator, Sequence
from typing import Literal

from dataenvgym.errors import SpeakerError
from dataenvgym.interfaces import Ask
from dataenvgym.judging import Unscored, dialogue_text, judge_ask, question
from dataenvgym.records import Message, Model, Text, ToolCall
from dataenvgym.tasks.tool_use.problem import ToolUseProblem


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
