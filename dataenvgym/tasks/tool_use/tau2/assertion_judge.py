"""Whether assertions in natural language hold of a conversation, as the speaker "judge" decides."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator, Sequence

from dataenvgym.errors import SpeakerError
from dataenvgym.interfaces import Ask, Reply, SamplingParameters
from dataenvgym.llm.structured import Schema, parse_reply
from dataenvgym.records import Message
from dataenvgym.tasks.tool_use.user_rules import shown

_VERDICTS: Schema = {
    "type": "object",
    "properties": {
        "verdicts": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "number": {"type": "integer"},
                    "reason": {"type": "string"},
                    "holds": {"type": "boolean"},
                },
                "required": ["number", "reason", "holds"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["verdicts"],
    "additionalProperties": False,
}
_SAMPLING = SamplingParameters(max_tokens=2048, json_schema=_VERDICTS)
_QUESTION = """\
A customer service agent spoke to a customer. Decide for each statement, apart from the others, \
whether it holds.

The conversation:
{talk}

The statements:
{statements}

Answer with JSON, one verdict for each statement: {{"verdicts": [{{"number": 1, "reason": "one \
sentence", "holds": true or false}}, ...]}}"""


def all_hold(
    statements: Sequence[str], conversation: Sequence[Message]
) -> Generator[Ask, str, bool]:
    """Whether all statements hold of the conversation, which is as the student saw it.

    Raises:
        SpeakerError: if the judge does not decide each of them once.
    """
    question = _QUESTION.format(
        talk="\n".join(_lines(conversation)),
        statements="\n".join(f"{n}. {text}" for n, text in enumerate(statements, start=1)),
    )
    text = yield Ask("judge", (Message(role="user", content=question),), _SAMPLING)
    found = parse_reply(Reply(text=text), _VERDICTS)
    verdicts = [] if found is None else found["verdicts"]
    if sorted(verdict["number"] for verdict in verdicts) != list(range(1, len(statements) + 1)):
        raise SpeakerError(
            f"judge: expected a verdict on each of {len(statements)} statements, got: {shown(text)}"
        )
    return all(verdict["holds"] for verdict in verdicts)


def _lines(conversation: Sequence[Message]) -> Iterator[str]:
    names = {"user": "Customer", "assistant": "Agent", "tool": "Result"}
    for message in conversation:
        if message.role in names and message.content:
            yield f"{names[message.role]}: {message.content}"
        for call in message.tool_calls:
            yield f"Agent calls: {call.name}({json.dumps(call.arguments)})"
