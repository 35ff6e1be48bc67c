"""Whose turn it is, and when a scene ends."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from dataenvgym.domains.social.actions import ALL_KINDS, ActionKind
from dataenvgym.errors import ConfigurationError, check_at_least, did_you_mean
from dataenvgym.seeding import derive_seed

Order = Literal["round_robin", "random", "simultaneous"]
Ends = Literal["sotopia", "epo"]
MOST_TURNS = 1000
_EPO_KINDS = (ActionKind.NONE, ActionKind.SPEAK, ActionKind.LEAVE)


@dataclass(frozen=True)
class Rules:
    """How a scene is played.

    Each seat whose turn it is makes one move, in the order of the seats; a move is silent if the
    seat does nothing. Scenes of two seats end where the programs named by `ends` end them:
    "sotopia" is `RuleBasedTerminatedEvaluator` of Sotopia (commit a0aaafb), "epo" the same class in
    EPO's code, which ends one turn later, and in which a seat that waits for its turn makes a
    silent move, too. With three or more seats, a seat that has left still has turns in Sotopia and
    may come back; here it has none.

    Attributes:
        order: round_robin: one seat after the other; random: any seat that has not left, drawn
            for each turn; simultaneous: all seats in each turn.
        turn_limit: for all seats together.
        ends: "sotopia" or "epo".
        most_stale: number of silent moves in a row that do not yet end the scene.
        kinds: the allowed actions.

    Raises:
        ConfigurationError: for an order that does not exist, and for limits out of range.
    """

    order: Order = "round_robin"
    turn_limit: int = 20
    ends: Ends = "sotopia"
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
        check_at_least(0, most_stale=self.most_stale)

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

    def stale_after(
        self, n_stale: int, acting: Sequence[int], present: Sequence[int], done: Collection[int]
    ) -> int:
        """The number of silent moves in a row after a turn.

        Args:
            n_stale: their number before it.
            acting: the seats whose turn it was.
            present: the seats that had not left before it.
            done: the seats that did something.
        """
        moves = [seat in done for seat in (present if self.ends == "epo" else acting)]
        return moves[::-1].index(True) if any(moves) else n_stale + len(moves)

    def ending(self, n_turns: int, n_active: int, n_stale: int) -> str | None:
        """Why a scene is over, or None.

        Args:
            n_stale: silent moves in a row.
        """
        if n_active < 2:
            return "fewer than two are left"
        if n_turns >= self.turn_limit + (self.ends == "epo"):
            return f"{n_turns} turns are over"
        if n_stale > self.most_stale:
            return f"{n_stale} moves in a row were silent"
        return None


def rules_of(
    name: Ends, *, order: Order = "round_robin", turn_limit: int = 20, most_stale: int = 2
) -> Rules:
    """The rules of that name.

    "epo" has the rules of EPO's published figures (Liu et al., 2025, "EPO: Explicit Policy
    Optimization for Strategic Reasoning in LLMs via RL"): scenes end as in its code, and the
    actions are none, speak and leave.

    Raises:
        ConfigurationError: for another name.
    """
    if name not in get_args(Ends):
        raise ConfigurationError(
            f"rules is {name!r}, expected 'sotopia' or 'epo'.{did_you_mean(name, get_args(Ends))}"
        )
    kinds = _EPO_KINDS if name == "epo" else ALL_KINDS
    return Rules(order, turn_limit, name, most_stale, kinds)
