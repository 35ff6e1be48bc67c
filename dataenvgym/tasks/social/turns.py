"""Whose turn it is, and when a scene ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from dataenvgym.errors import ConfigurationError, did_you_mean
from dataenvgym.seeding import derive_seed
from dataenvgym.tasks.social.actions import ALL_KINDS, ActionKind

Order = Literal["round_robin", "random", "simultaneous"]
MOST_TURNS = 1000
_EPO_KINDS = (ActionKind.NONE, ActionKind.SPEAK, ActionKind.LEAVE)


@dataclass(frozen=True)
class Rules:
    """How a scene is played.

    A turn is stale if no seat did anything in it; the `none` of a seat whose turn it is not does
    not count.

    Attributes:
        order: round_robin: one seat after the other; random: any seat that has not left, drawn
            for each turn; simultaneous: all seats in each turn.
        turn_limit: for all seats together.
        past_limit: end one turn after the limit, as in EPO's published figures; Sotopia ends a
            scene as soon as the limit is reached.
        most_stale: number of stale turns in a row that do not yet end the scene.
        kinds: the allowed actions.

    Raises:
        ConfigurationError: for an order that does not exist, and for limits out of range.
    """

    order: Order = "round_robin"
    turn_limit: int = 20
    past_limit: bool = False
    most_stale: int = 2
    kinds: tuple[ActionKind, ...] = ALL_KINDS

    def __post_init__(self) -> None:
        if self.order not in get_args(Order):
            raise ConfigurationError(
                f"order is {self.order!r}, expected one of {', '.join(get_args(Order))}."
                f"{did_you_mean(str(self.order), get_args(Order))}"
            )
        if not 1 <= self.turn_limit <= MOST_TURNS:
            raise ConfigurationError(f"turn_limit is {self.turn_limit}, expected 1 to {MOST_TURNS}")
        if self.most_stale < 0:
            raise ConfigurationError(f"most_stale is {self.most_stale}, expected 0 or more")

    def acting(
        self, n_turns: int, active: Sequence[int], last: int, *, seed: int
    ) -> tuple[int, ...]:
        """The seats whose turn it is after `n_turns` turns.

        Args:
            active: the seats that have not left, in ascending order; at least one.
            last: the seat whose turn was the last one; -1 at the beginning.
            seed: of the scene, for the random order.
        """
        if self.order == "simultaneous":
            return tuple(active)
        if self.order == "random":
            return (active[derive_seed(seed, "turn", n_turns) % len(active)],)
        return (next((seat for seat in active if seat > last), active[0]),)

    def ending(self, n_turns: int, n_active: int, n_stale: int) -> str | None:
        """Why a scene is over, or None.

        Args:
            n_stale: stale turns in a row.
        """
        if n_active < 2:
            return "fewer than two are left"
        if n_turns >= self.turn_limit + self.past_limit:
            return f"{n_turns} turns are over"
        if n_stale > self.most_stale:
            return f"nobody did anything in {n_stale} turns"
        return None


def rules_of(
    name: str, *, order: Order = "round_robin", turn_limit: int = 20, most_stale: int = 2
) -> Rules:
    """The rules of that name, "sotopia" or "epo".

    "epo" has the rules of EPO's published figures (Liu et al., 2025, "EPO: Explicit Policy
    Optimization for Strategic Reasoning in LLMs via RL"): scenes end after more than 20 turns, not
    at 20, and the actions are none, speak and leave.

    Raises:
        ConfigurationError: for another name.
    """
    known = ("sotopia", "epo")
    if name not in known:
        raise ConfigurationError(
            f"rules is {name!r}, expected 'sotopia' or 'epo'.{did_you_mean(str(name), known)}"
        )
    is_epo = name == "epo"
    kinds = _EPO_KINDS if is_epo else ALL_KINDS
    return Rules(order, turn_limit, past_limit=is_epo, most_stale=most_stale, kinds=kinds)
