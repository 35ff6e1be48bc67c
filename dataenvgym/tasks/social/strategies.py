"""Strategies: short advice that one model gives to the one that acts, before each of its turns.

A strategist reads the scene from the seat that it advises, with its own earlier strategies in
place. Its strategy becomes a note that this seat alone notices, so the acting model reads it at the
end of what it answers, and may ignore it. No strategist sees the strategies of another seat.

Source: EPO (Liu et al., 2025, "EPO: Explicit Policy Optimization for Strategic Reasoning in LLMs
via RL").
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

from dataenvgym.errors import ConfigurationError, did_you_mean
from dataenvgym.interfaces import SamplingParameters
from dataenvgym.records import Conversation
from dataenvgym.run_warnings import warn_run
from dataenvgym.tasks.social.actions import ActionKind
from dataenvgym.tasks.social.problem import MODEL
from dataenvgym.tasks.social.scene import Cast, Event, SceneState
from dataenvgym.tasks.social.views import (
    Lines,
    character_text,
    conversation_of,
    event_line,
    introduction,
    speaker_lines,
    terse_text,
)

Role = Literal["speaker", "strategist"]
Side = Literal["own", "partner"]

SPEAKER = "speaker"
STRATEGIST = "strategist"
PARTNER_STRATEGIST = "partner_strategist"
STRATEGY_SAMPLING = SamplingParameters(temperature=0.7, max_tokens=128)

_WORDS = "{strategy}"
_MOST_PER_WORD = 40  # characters, so that a text without spaces is cut as well
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_EMPTY = "invalid strategy: an empty text; the turn went on without one"


@dataclass(frozen=True)
class Strategies:
    """Who writes strategies, and in which form.

    Attributes:
        role: the student's: `speaker` acts for its character; `strategist` writes a strategy in
            each turn of its character, and the speaker "speaker" acts.
        strategists: who advises besides: `own`, the speaker "strategist", the student's character;
            `partner`, the speaker "partner_strategist", each of the other characters.
        max_words: of a strategy; what is longer is cut.
        format: how a strategy is written, with `{strategy}` for its words.
        sampling: how strategists other than the student draw their replies.

    Raises:
        ConfigurationError: for a role or a side that does not exist, for `own` if the student is
            the strategist itself, and for a form that has no place for a strategy.
    """

    role: Role = "speaker"
    strategists: tuple[Side, ...] = ()
    max_words: int = 10
    format: str = f"Strategy: {_WORDS}"
    sampling: SamplingParameters = field(default=STRATEGY_SAMPLING)

    def __post_init__(self) -> None:
        if self.role not in get_args(Role):
            raise ConfigurationError(
                f"role is {self.role!r}, expected 'speaker' or 'strategist'."
                f"{did_you_mean(str(self.role), get_args(Role))}"
            )
        if set(self.strategists) - set(get_args(Side)):  # a text is its letters, and refused
            raise ConfigurationError(
                f"strategists is {self.strategists!r}, expected a list of 'own' and 'partner'"
            )
        if self.student_advises and "own" in self.strategists:
            raise ConfigurationError(
                "strategists has 'own', and with role='strategist' the student is the strategist "
                "of its character: take 'own' out, or set role='speaker'"
            )
        if self.max_words < 1:
            raise ConfigurationError(f"strategy_max_words is {self.max_words}, expected 1 or more")
        if self.format.count(_WORDS) != 1:
            raise ConfigurationError(
                f"strategy_format is {self.format!r}, expected a text with {_WORDS} once, such as "
                f"'Strategy: {_WORDS}'"
            )
        object.__setattr__(self, "strategists", tuple(self.strategists))
        object.__setattr__(self, "sampling", SamplingParameters.model_validate(self.sampling))

    @property
    def student_advises(self) -> bool:
        """Whether the student writes strategies, and the speaker "speaker" acts."""
        return self.role == "strategist"

    def check_partner(self, partner: str) -> None:
        """Refuse a partner that cannot be advised.

        Raises:
            ConfigurationError: if a strategist is to advise a scripted partner.
        """
        if "partner" in self.strategists and partner != MODEL:
            raise ConfigurationError(
                f"strategists has 'partner', and the partner {partner!r} is scripted: it reads no "
                f"strategy; set partner={MODEL!r}, or take 'partner' out"
            )

    def warn_of_idle(
        self, others: Collection[str], partner: str, judges: Collection[str] = ("judge",)
    ) -> None:
        """Name the speakers that there are and that no scene with this partner asks."""
        asked = {
            "partner": partner == MODEL,
            SPEAKER: self.student_advises,
            STRATEGIST: "own" in self.strategists,
            PARTNER_STRATEGIST: "partner" in self.strategists,
            "judge": True,  # perhaps by an engine
        }
        idle = [who for who in others if who not in judges and not asked.get(who)]
        if idle:
            warn_run(
                f"task.others has {', '.join(idle)}, which nobody asks with partner={partner!r}, "
                f"role={self.role!r} and strategists={list(self.strategists)}: change that, or "
                "leave them out"
            )

    def read(self, text: str) -> str:
        """The words of the strategy in a reply; "" if there are none.

        They are what follows the last beginning of the form ("Strategy:") on its line, or else the
        whole text, as one line without markup of the scene, cut to `max_words`.
        """
        before, after = (part.strip() for part in self.format.split(_WORDS))
        parts = re.split(re.escape(before), text, flags=re.IGNORECASE) if before else [text]
        if len(parts) > 1:
            text = next(iter(parts[-1].strip().splitlines()), "")
        text = text.strip().removesuffix(after) if after else text
        words = _CONTROL.sub(" ", text.replace("[", "(").replace("]", ")")).split()
        return " ".join(words[: self.max_words])[: self.max_words * _MOST_PER_WORD]

    def write(self, words: str) -> str:
        """A strategy in its form."""
        return self.format.replace(_WORDS, words)

    def advised(self, state: SceneState, seat: int, reply: str) -> SceneState:
        """The scene in which the seat has noticed the strategy in a strategist's reply.

        Without one, the strategist is told so, and the seat notices nothing.
        """
        words = self.read(reply)
        if words:
            event = Event(state.n_turns, seat, note=self.write(words), strategist="wrote")
        else:
            event = Event(state.n_turns, seat, note=_EMPTY, strategist="reads")
        return replace(state, events=(*state.events, event))

    def students_introduction(self, cast: Cast, seat: int, kinds: Sequence[ActionKind]) -> str:
        """What the student reads before the scene begins, in its role."""
        if self.student_advises:
            return self.introduction(cast, seat)
        return introduction(cast, seat, kinds)

    def students_lines(self, cast: Cast, seat: int, events: Sequence[Event]) -> Lines:
        """What the student wrote and noticed, in its role."""
        return (strategist_lines if self.student_advises else speaker_lines)(cast, seat, events)

    def introduction(self, cast: Cast, seat: int) -> str:
        """What the strategist of a seat reads before the scene begins."""
        if cast.scene.terse:
            return f"{terse_text(cast.scene, seat)}\n\n{self.write('...')}"
        words = "1 word" if self.max_words == 1 else f"{self.max_words} words at most"
        how = (
            "You do not act yourself: before each of your turns, write how to act next, in "
            f"{words}, in this form: {self.write('...')}"
        )
        return f"{character_text(cast, seat)}\n\n{how}"

    def conversation(self, state: SceneState, seat: int) -> Conversation:
        """The scene as the strategist of a seat is asked for its next strategy."""
        opening = self.introduction(state.cast, seat)
        return conversation_of(opening, strategist_lines(state.cast, seat, state.events))


def strategist_lines(cast: Cast, seat: int, events: Sequence[Event]) -> Lines:
    """What the strategist of a seat wrote ("assistant") and noticed ("user"), in order.

    It notices all that its seat does, its seat's own actions included.
    """
    lines: Lines = []
    for event in events:
        if event.seat == seat and event.strategist == "wrote":
            lines.append(("assistant", event.note))
        elif event.reaches(seat) or (event.seat == seat and event.strategist == "reads"):
            lines.append(("user", event_line(cast, event, seat)))
    return lines
