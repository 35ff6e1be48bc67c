"""Asks the speaker "judge" whether assertions in natural language hold of a conversation."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from functools import cache
from typing import Any, Literal

from pydantic import Field, create_model, model_validator

from dataenvgym.interfaces import Ask
from dataenvgym.judging import Unscored, conversation_text, judge_ask, question
from dataenvgym.records import Message, Model, Text


class Statement(Model):
    """Whether one statement holds, and why."""

    number: int
    reason: Text
    holds: bool


class StatementsVerdict(Model):
    """One entry for each statement."""

    statements: tuple[Statement, ...]

    @model_validator(mode="after")
    def _each_once(self) -> StatementsVerdict:
        numbers = [statement.number for statement in self.statements]
        if sorted(numbers) != [*range(1, len(numbers) + 1)]:
            raise ValueError(f"the numbers are {numbers}, expected each once")
        return self


def all_hold(
    statements: Sequence[str], conversation: Sequence[Message]
) -> Generator[Ask, str, bool]:
    """Whether all statements hold of the conversation, which is given from the student's view.

    Raises:
        SpeakerError: if the judge gives no verdict on each of them.
    """
    verdict = _verdict_on(len(statements))
    talk = tuple(message for message in conversation if message.role != "system")
    asked = question(
        "statements",
        verdict,
        data={
            "conversation": conversation_text(talk),
            "statements": "\n".join(f"{n}. {text}" for n, text in enumerate(statements, start=1)),
        },
    )
    found = yield from judge_ask(asked, verdict)
    if isinstance(found, Unscored):
        raise found.error()
    return all(statement.holds for statement in found.statements)


@cache
def _verdict_on(n: int) -> type[StatementsVerdict]:
    number: dict[str, Any] = {"number": (Literal[tuple(range(1, n + 1))], ...)}
    statement = create_model("Statement", __base__=Statement, **number)
    entries: dict[str, Any] = {
        "statements": (tuple[statement, ...], Field(min_length=n, max_length=n))  # type: ignore[valid-type]
    }
    return create_model("StatementsVerdict", __base__=StatementsVerdict, **entries)
