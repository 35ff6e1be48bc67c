"""What all worlds of text share: a world in play, a problem in it, and the form of replies.

A student replies with a thought, which is optional, and one action:

    Thought: The mug may be in the cabinet.
    Action: open cabinet 1

`World` is the extension point: an adapter of another game implements `actions` and `act`.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from dataenvgym.errors import shorten
from dataenvgym.records.model import Model

_ACTION = re.compile(r"^[ \t>*]*Action[ \t*]*:[ \t*]*(\S.*)$", re.MULTILINE | re.IGNORECASE)
FORM = "write one line `Action: ...`, with a line `Thought: ...` before it if you like"


class MalformedReply(ValueError):
    """A reply without an action, or with several; its message is for the student."""


def action_in(reply: str) -> str:
    """The action of a reply; MalformedReply unless there is exactly one."""
    found = _ACTION.findall(reply)
    if len(found) != 1:
        count = f"{len(found)} actions" if found else "no action"
        raise MalformedReply(f"the message has {count}: {FORM}")
    return str(found[0]).strip(" \t\r*`")


@dataclass(frozen=True)
class Step:
    """A thought, or "", and an action of a reference solution."""

    thought: str
    action: str

    @property
    def reply(self) -> str:
        thought = f"Thought: {self.thought}\n" if self.thought else ""
        return f"{thought}Action: {self.action}"


@dataclass(frozen=True)
class Seen:
    """What follows an action.

    Attributes:
        text: what the student observes.
        is_valid: False if the action was not possible; then nothing has changed.
        done: whether the problem is over.
        reward: of the problem, from 0 to 1; 1 is solved. It counts if `done`.
        scores: further scores by name; they count if `done`.
    """

    text: str
    is_valid: bool = True
    done: bool = False
    reward: float = 0.0
    scores: Mapping[str, float] = field(default_factory=dict)


class World(ABC):
    """A world in play: it has a state, which `act` changes."""

    @property
    @abstractmethod
    def actions(self) -> tuple[str, ...]:
        """The actions that are possible now; `<...>` stands for free text."""

    @abstractmethod
    def act(self, action: str) -> Seen:
        """Take an action; an impossible one changes nothing, and the text says so."""


class Problem(Model, ABC):
    """A problem in a world, as it is in the data of an instance.

    A subclass is a frozen pydantic model, which refuses damaged data.
    """

    @property
    @abstractmethod
    def skill(self) -> str:
        """The kind of problem."""

    @property
    @abstractmethod
    def instruction(self) -> str:
        """What the student reads first."""

    @abstractmethod
    def world(self) -> World:
        """The world at the start."""

    def fault(self) -> str | None:
        """Why it cannot be solved as stated; None if nothing is known against it."""
        return None

    def solution(self) -> Iterator[Step]:
        """The steps of a reference policy; none without one, or if `fault` finds one."""
        yield from ()


def impossible(action: str) -> str:
    """Tell the student that an action is not possible now."""
    return f"Nothing happens. The action {shorten(action)!r} is not possible here."
