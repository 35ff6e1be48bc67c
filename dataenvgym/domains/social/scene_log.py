"""The record of a played scene: each utterance with its sender and recipients, and the scores."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal, Self

from pydantic import Field, model_validator

from dataenvgym.domains.social.profiles import Filled
from dataenvgym.records.model import Finite, Model, Text
from dataenvgym.records.store import Kind


class Utterance(Model):
    """One line of the log, as its sender wrote it; the environment is a sender too."""

    sender: Filled
    recipient: Filled
    text: Text


class SeatScore(Model):
    """The score of a seat: a value for each dimension, and their mean."""

    overall: Finite
    dimensions: dict[str, Finite] = {}


class SceneLog(Model):
    """A played scene; ids name its scene and its characters.

    Attributes:
        tag: the run or experiment that it belongs to.
        models: the judge's or environment's first, then one for each seat, as in Sotopia.
        turns: the utterances, turn by turn.
        scores: one for each seat, None if it was not scored; empty if nothing was scored yet.
        by_judge: for each seat, the scores of each judge by dimension; not in Sotopia's files.
        reasoning: the judge's.
        judge_prompt: the prompt that the judge read.
    """

    id: Filled
    scene: Filled
    characters: tuple[Filled, ...] = Field(min_length=1)
    tag: Text = ""
    models: tuple[Text, ...] = ()
    turns: tuple[tuple[Utterance, ...], ...] = ()
    scores: tuple[SeatScore | None, ...] = ()
    by_judge: tuple[dict[str, dict[str, Finite]], ...] = ()
    reasoning: Text = ""
    judge_prompt: Text = ""

    @model_validator(mode="after")
    def _one_score_a_seat(self) -> Self:
        if len(self.scores) not in (0, len(self.characters)):
            raise ValueError(
                f"scores has {len(self.scores)} entries, expected one for each of "
                f"{len(self.characters)} characters"
            )
        return self


EPISODES = Kind("episodes", SceneLog)
Stuck = Literal["silent", "repeating"]
_KIND = re.compile(r"\[[^\[\]]*\]|left the conversation$")


def stuck(texts: Iterable[str]) -> Stuck | None:
    """Whether one speaker's messages in a scene are no conversation.

    "silent": it never said or did anything (it may have left). "repeating": it said or did the same
    each time, three times or more. Students that play against themselves may end so.
    """
    words = (" ".join(_KIND.sub(" ", text).split()) for text in texts)
    said = [text for text in words if re.search(r"\w", text)]
    if not said:
        return "silent"
    return "repeating" if len(said) > 2 and len({*said}) == 1 else None
