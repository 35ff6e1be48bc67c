"""What all training records share: their provenance, and what others may ask of any of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import not_
from typing import Self

from pydantic import Field

from dataenvgym.records.conversations import Conversation
from dataenvgym.records.model import Model, Text


class Provenance(Model):
    """The origin of a training record.

    Attributes:
        id: unique within a run; empty until the environment stamps it.
        skill: the skill that it teaches, or None.
        subskill: the part of that skill, or None.
        agent: the name of the agent that wrote it, or None.
        iteration: the 1-based iteration that it was written for, or None.
        hypotheses: what its author thought that the student lacks, and why; not stored if empty.
        selected: why it was taken from a pool; not stored if empty.
    """

    id: Text = ""
    skill: Text | None = None
    subskill: Text | None = None
    agent: Text | None = None
    iteration: int | None = None
    hypotheses: tuple[Text, ...] = Field(default=(), exclude_if=not_)
    selected: Text = Field(default="", exclude_if=not_)


@dataclass(frozen=True)
class LabeledAnswer:
    """An answer to a prompt, and whether the record says that it is right or wrong."""

    prompt: Conversation
    text: str
    is_right: bool = True

    @property
    def question(self) -> str:
        """The last message of the prompt."""
        return self.prompt[-1].content

    def holds(self, gives_right: bool | None) -> bool | None:
        """Whether the label is true, given that the answer is right, wrong or (None) unknown."""
        return None if gives_right is None else gives_right == self.is_right


def all_hold(verdicts: Sequence[bool | None]) -> bool | None:
    """Whether all labels hold: False if one does not; None if one is unknown or there are none."""
    if False in verdicts:
        return False
    return None if None in verdicts or not verdicts else True


class Datum(Model):
    """A training record of any kind. A new kind defines `prompt`, `question` and `turns`."""

    provenance: Provenance = Provenance()

    @property
    def prompt(self) -> Conversation:
        """The conversation up to the last answer."""
        return ()

    @property
    def question(self) -> str:
        """The instruction, or the first message of a conversation; empty for plain text."""
        return ""

    def turns(self) -> list[tuple[str, Conversation]]:
        """Everything in the record, in order: messages, each with its speaker or its label.

        A label says what the record makes of an answer, as "assistant (desirable)" or "chosen".
        """
        raise NotImplementedError

    def parts(self) -> list[str]:
        """Every text of the record, then its tool calls as JSON."""
        messages = [message for _, turn in self.turns() for message in turn]
        calls = (m.model_dump_json() for m in messages if m.tool_calls)
        return [*(m.content for m in messages), *calls]

    def questions(self) -> list[str]:
        """The texts that may state a problem: all in the prompt except the assistant's."""
        return [m.content for m in self.prompt if m.role != "assistant"]

    def answers(self) -> tuple[LabeledAnswer, ...]:
        """The answers that the record labels right or wrong.

        A preference has two: the chosen answer is right, the rejected one is wrong. Of other
        records it is the last answer. Plain text, scored records, chats with tool calls, and
        preferences between turns of a conversation have none.
        """
        return ()

    def with_questions(self, change: Callable[[str], str]) -> Self:
        """The record with the user's texts changed: the instruction, or each user's message."""
        return self

    def marks(self) -> list[str]:
        """Other values that distinguish records with the same texts: labels, weights, tools.

        The tools of a conversation are one number: shared tools do not make records similar.
        """
        return []
