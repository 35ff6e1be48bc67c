"""A judge that decides whether the student told the user the required facts, in any words."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from functools import cache
from typing import Any, Literal

from pydantic import Field, create_model, model_validator

from dataenvgym.interfaces import Ask
from dataenvgym.judging import Unscored, dialogue_text, judge_ask, question
from dataenvgym.records import Model, Text


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
