"""Strategies: short advice from one model to the acting model, before each of its turns.

A strategist reads the scene from the seat that it advises, with its own earlier strategies. Its
strategy becomes a note that only this seat sees: the acting model reads it at the end of the
message that it answers, and may ignore it. No strategist sees the strategies of another seat.

Source: EPO (Liu et al., 2025, "EPO: Explicit Policy Optimization for Strategic Reasoning in LLMs
via RL").
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from pydantic import PositiveInt

from dataenvgym.domains.social.actions import ActionKind
from dataenvgym.domains.social.problem import MODEL
from dataenvgym.domains.social.prompts import (
    Lines,
    character_text,
    conversation_of,
    event_line,
    how_to_act,
    introduction,
    speaker_lines,
    terse_text,
)
from dataenvgym.domains.social.scene import Cast, Event, SceneState
from dataenvgym.errors import ConfigurationError
from dataenvgym.interfaces import SamplingParameters
from dataenvgym.records import Conversation

Role = Literal["speaker", "strategist"]
Side = Literal["own", "partner"]

SPEAKER = "speaker"
STRATEGIST = "strategist"
PARTNER_STRATEGIST = "partner_strategist"

_MOST_PER_WORD = 40  # characters; limits a text without spaces, too
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_EMPTY = "invalid strategy: an empty text; the turn went on without one"


def written(words: str) -> str:
    """A strategy in its form."""
    return f"Strategy: {words}"


@dataclass(frozen=True, kw_only=True)
class Strategies:
    """Who writes strategies.

    Attributes:
        role: the student's role: a `speaker` acts for its character; a `strategist` writes a
            strategy in each turn of its character, and the speaker "speaker" acts.
        strategists: other advisers: with `own`, the speaker "strategist" advises the student's
            character; with `partner`, the speaker "partner_strategist" advises the others.
        strategy_max_words: of a strategy; longer ones are cut.
        strategy_sampling: how strategists other than the student draw their replies.
    """

    role: Role = "speaker"
    strategists: Sequence[Side] = ()
    strategy_max_words: PositiveInt = 10
    strategy_sampling: SamplingParameters = SamplingParameters(temperature=0.7, max_tokens=128)

    @property
    def student_advises(self) -> bool:
        """Whether the student writes strategies, and the speaker "speaker" acts."""
        return self.role == "strategist"

    def check_partner(self, partner: str) -> None:
        """Raise a ConfigurationError if a strategist should advise a scripted partner."""
        if "partner" in self.strategists and partner != MODEL:
            raise ConfigurationError(
                f"strategists has 'partner', and the partner {partner!r} is scripted: it reads no "
                f"strategy; set partner={MODEL!r}, or take 'partner' out"
            )

    def read(self, text: str) -> str:
        """The words of the strategy in a reply; "" if there are none.

        They follow the last beginning of the form ("Strategy:") on its line. Without one, they are
        the whole text, as one line without markup of the scene, cut to `strategy_max_words`.
        """
        *others, last = re.split("strategy:", text, flags=re.IGNORECASE)
        if others:
            text = next(iter(last.strip().splitlines()), "")
        words = _CONTROL.sub(" ", text.replace("[", "(").replace("]", ")")).split()
        return " ".join(words[: self.strategy_max_words])[
            : self.strategy_max_words * _MOST_PER_WORD
        ]

    def advised(self, state: SceneState, seat: int, reply: str) -> SceneState:
        """The scene after the seat has read the strategy in a strategist's reply.

        If the reply has none, the strategist gets a note about it, and the seat sees nothing.
        """
        event = Event(state.n_turns, seat, note=_EMPTY, strategist="reads")
        if words := self.read(reply):
            event = Event(state.n_turns, seat, note=written(words), strategist="wrote")
        return replace(state, events=(*state.events, event))

    def students_way(self, kinds: Sequence[ActionKind], seats: int = 2) -> str:
        """How the student acts, or advises: the end of its introduction."""
        return self._how_to_advise if self.student_advises else how_to_act(kinds, seats)

    def students_introduction(self, cast: Cast, seat: int, kinds: Sequence[ActionKind]) -> str:
        """The text that the student reads before the scene begins, for its role."""
        advises = self.student_advises
        return self.introduction(cast, seat) if advises else introduction(cast, seat, kinds)

    def students_lines(self, cast: Cast, seat: int, events: Sequence[Event]) -> Lines:
        """The lines that the student wrote and noticed, for its role."""
        return (strategist_lines if self.student_advises else speaker_lines)(cast, seat, events)

    def introduction(self, cast: Cast, seat: int) -> str:
        """The text that the strategist of a seat reads before the scene begins."""
        if cast.scene.terse:
            return f"{terse_text(cast.scene, seat)}\n\n{written('...')}"
        return f"{character_text(cast, seat)}\n\n{self._how_to_advise}"

    @property
    def _how_to_advise(self) -> str:
        words = (
            "1 word" if self.strategy_max_words == 1 else f"{self.strategy_max_words} words at most"
        )
        return (
            "You do not act yourself: before each of your turns, write how to act next, in "
            f"{words}, in this form: {written('...')}"
        )

    def conversation(self, state: SceneState, seat: int) -> Conversation:
        """The conversation that asks the strategist of a seat for its next strategy."""
        opening = self.introduction(state.cast, seat)
        return conversation_of(opening, strategist_lines(state.cast, seat, state.events))


def strategist_lines(cast: Cast, seat: int, events: Sequence[Event]) -> Lines:
    """The lines that the strategist of a seat wrote ("assistant") and noticed ("user"), in order.

    It notices everything that its seat notices, and that seat's own actions.
    """
    lines: Lines = []
    for event in events:
        if event.seat == seat and event.strategist == "wrote":
            lines.append(("assistant", event.note))
        elif event.reaches(seat) or (event.seat == seat and event.strategist == "reads"):
            lines.append(("user", event_line(cast, event, seat)))
    return lines
