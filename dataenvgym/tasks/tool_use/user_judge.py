"""A judge of a user played by a model: whose fault is it that a conversation failed?

It is asked only about conversations that are not solved, and that break no rule (`user_rules`).
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator, Sequence

from dataenvgym.errors import SpeakerError
from dataenvgym.interfaces import Ask, Reply, SamplingParameters
from dataenvgym.llm.structured import Schema, parse_reply
from dataenvgym.records import Message, ToolCall
from dataenvgym.tasks.tool_use.problem import ToolUseProblem
from dataenvgym.tasks.tool_use.user_rules import shown

_VERDICT: Schema = {
    "type": "object",
    "properties": {
        "at_fault": {"type": "string", "enum": ["assistant", "user"]},
        "reason": {"type": "string"},
    },
    "required": ["at_fault", "reason"],
    "additionalProperties": False,
}
_SAMPLING = SamplingParameters(max_tokens=512, json_schema=_VERDICT)
_QUESTION = """\
A user, played by a language model, spoke to an assistant, which did not solve the user's problem. \
Whose fault is it? The user is at fault only if it acted against its instructions, told something \
false, kept back what it was asked for, or left too early, and the assistant could not succeed \
because of that. Otherwise the assistant is at fault.

The user's instructions:
{instructions}

The calls of the assistant that would have solved the problem:
{gold}

After them, calls of the user:
{user_gold}

The conversation:
{talk}

Answer with JSON: {{"at_fault": "assistant" or "user", "reason": "one sentence"}}"""


def judged(
    problem: ToolUseProblem, view: Sequence[Message], instructions: str
) -> Generator[Ask, str, str]:
    """Why the assistant is at fault, in the words of the speaker "judge".

    Args:
        view: the conversation as the user saw it.

    Raises:
        SpeakerError: if the user is at fault; and the judge's, if it gives no verdict.
    """
    question = _QUESTION.format(
        instructions=instructions,
        gold=_calls(problem.gold) or "none",
        user_gold=_calls(problem.user_gold) or "none",
        talk="\n".join(_lines(view)),
    )
    text = yield Ask("judge", (Message(role="user", content=question),), _SAMPLING)
    verdict = parse_reply(Reply(text=text), _VERDICT)
    if verdict is None:
        raise SpeakerError(f"judge: the reply is no verdict: {shown(text)}")
    if verdict["at_fault"] == "user":
        raise SpeakerError(f"user: the judge says: {verdict['reason']}")
    return str(verdict["reason"])


def _calls(calls: Sequence[ToolCall]) -> str:
    return "\n".join(f"{call.name}({json.dumps(call.arguments)})" for call in calls)


def _lines(view: Sequence[Message]) -> Iterator[str]:
    names = {"assistant": "User", "user": "Assistant", "tool": "Result"}
    for message in view:
        if message.role in names and (message.content or not message.tool_calls):
            yield f"{names[message.role]}: {message.content}"
        if message.tool_calls:
            yield f"User calls: {_calls(message.tool_calls)}"
