"""One-for-one trades between seats, and the goal score that a trade earns.

"My lamp for your vase." proposes a trade to the owner of the vase, who agrees as in `deals`
("Deal.").
"""

from __future__ import annotations

import re
from typing import NamedTuple

from dataenvgym.tasks.social.deals import accepts
from dataenvgym.tasks.social.evaluators import DIMENSIONS
from dataenvgym.tasks.social.profiles import Swap, Thing
from dataenvgym.tasks.social.scene import SceneState

_PROPOSAL = re.compile(r"\bmy ([^.!?,;]+?) for your ([^.!?,;]+?)\s*(?:[.!?,;]|$)", re.IGNORECASE)


class Trade(NamedTuple):
    """The owner of `given` proposes it for `taken`."""

    given: Thing
    taken: Thing
    turn: int = 0

    def gain(self, seat: int) -> float:
        """The value of the trade for a seat, which may be neither owner."""
        more = self.taken.values[seat] - self.given.values[seat]
        return more if seat == self.given.owner else -more if seat == self.taken.owner else 0.0


def proposal_in(text: str, swap: Swap, seat: int) -> tuple[Thing, Thing] | None:
    """The seat's own thing that its text offers, and the wanted thing; None without a proposal."""
    found = _PROPOSAL.search(text)
    if found is None:
        return None
    things = {thing.name.casefold(): thing for thing in swap.things}
    given, taken = (things.get(" ".join(name.casefold().split())) for name in found.groups())
    if given is None or taken is None or given.owner != seat or taken.owner == seat:
        return None
    return given, taken


class Trades(NamedTuple):
    """The state of the trades: the one agreed on, and the open proposals."""

    agreed: Trade | None
    open: dict[int, Trade]


def trades_of(state: SceneState, swap: Swap) -> Trades:
    """Follow the trades between the seats; the first one agreed on counts.

    A proposal stays open for the owner of the wanted thing until its seat makes another one.
    """
    proposed: dict[int, Trade] = {}
    for event in state.events:
        if not event.is_said:
            continue
        text, seat = event.action.argument, event.seat
        if (found := proposal_in(text, swap, seat)) is not None:
            trade = Trade(*found, event.turn)
            if event.reaches(trade.taken.owner):
                proposed[seat] = trade
        elif accepts(text):
            for trade in proposed.values():
                if trade.taken.owner == seat and trade.turn < event.turn:
                    return Trades(trade, {})
    return Trades(None, proposed)


def goal_of_swap(swap: Swap, seat: int, trade: Trade | None) -> float | None:
    """The goal score (0..10) of a seat for a trade; None if it owns nothing.

    The best trade in which the partner loses nothing earns 10, others earn in proportion to the
    seat's gain, and a loss earns 0. If there is no such trade, making none earns 10.
    """
    if all(thing.owner != seat for thing in swap.things):
        return None
    ours = [thing for thing in swap.things if thing.owner == seat]
    theirs = [thing for thing in swap.things if thing.owner != seat]
    possible = [Trade(given, taken) for given in ours for taken in theirs]
    best = max((t.gain(seat) for t in possible if t.gain(t.taken.owner) >= 0), default=0.0)
    highest = float(DIMENSIONS["goal"].high)
    if best <= 0:
        return highest if trade is None else 0.0
    gained = 0.0 if trade is None else trade.gain(seat)
    return highest * min(max(gained / best, 0.0), 1.0)
