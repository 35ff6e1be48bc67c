"""The events of one conversation so far."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from dataenvgym.records import ToolCall
from dataenvgym.tasks.tool_use.components import Ending
from dataenvgym.tasks.tool_use.prepared import Prepared
from dataenvgym.tasks.tool_use.user_seat import ModelSeat, ScriptSeat
from dataenvgym.tasks.tool_use.world import World


@dataclass
class Progress:
    """The events of one conversation so far.

    Attributes:
        unheard: the student's words in messages with calls that the user has not answered yet.
        n_words: number of messages to the user since the last call.
    """

    prepared: Prepared
    world: World[Any]
    seat: ScriptSeat | ModelSeat | None
    calls: list[ToolCall] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    unheard: list[str] = field(default_factory=list)
    n_errors: int = 0
    n_words: int = 0

    def saved(self) -> Callable[[], None]:
        """A function that restores the present state, with the world and the user's seat."""
        kept = (self.calls[:], self.said[:], self.unheard[:], self.n_errors, self.n_words)
        state, seat = self.world.state, self.seat
        reseat = None if seat is None else seat.saved()

        def restore() -> None:
            self.calls, self.said, self.unheard, self.n_errors, self.n_words = kept
            self.world.state = state
            if reseat is not None:
                reseat()

        return restore

    def say(self, words: str) -> str:
        """The text for the user: the unheard words, then these words."""
        self.said.append(words)
        self.n_words += 1
        heard = "\n".join((*self.unheard, words))
        self.unheard.clear()
        return heard

    def say_beside_calls(self, words: str) -> None:
        """Keep words that the user hears later."""
        self.said.append(words)
        self.unheard.append(words.strip())

    def ending(self) -> Ending:
        """The ending of the conversation, for scoring."""
        return Ending(self.world, self.prepared.gold_state, self.said, self.calls)
