"""The claims of a training record: that an answer to a prompt is right, or that it is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dataenvgym.records import (
    ChatDatum,
    Conversation,
    KTODatum,
    PreferenceDatum,
    SupervisedDatum,
    TrainingDatum,
)


@dataclass(frozen=True)
class Claim:
    """The claim that `answer` to `prompt` is right or, if `is_right` is False, wrong."""

    prompt: Conversation
    answer: str
    is_right: bool = True

    @property
    def question(self) -> str:
        """The last message of the prompt."""
        return self.prompt[-1].content

    def holds(self, gives_right: bool | None) -> bool | None:
        """Whether the claim is true, given that the answer is right, wrong or (None) unknown."""
        return None if gives_right is None else gives_right == self.is_right


def all_hold(verdicts: Sequence[bool | None]) -> bool | None:
    """Whether all claims hold: False if one does not; None if one is unknown or there are none."""
    if False in verdicts:
        return False
    return None if None in verdicts or not verdicts else True


def claims_of(record: TrainingDatum) -> tuple[Claim, ...]:
    """The claims of a record.

    A preference makes two: the chosen answer is right, the rejected one is wrong. Any other record
    claims that its last answer is right. Plain text, chats with tool calls, and preferences between
    turns of a conversation make no claims.
    """
    match record:
        case SupervisedDatum():
            return (Claim(record.prompt, record.output),)
        case KTODatum():
            return (Claim(record.prompt, record.output, is_right=record.desirable),)
        case PreferenceDatum(messages=()):
            if len(record.segments[0]) > 1:
                return ()
            chosen, rejected = record.answers
            return (
                Claim(record.prompt, chosen.content),
                Claim(record.prompt, rejected.content, is_right=False),
            )
        case ChatDatum():
            if any(m.tool_calls or m.role == "tool" for m in record.messages):
                return ()
            *before, last = record.conversation
            return (Claim(tuple(before), last.content),)
        case _:
            return ()
