"""Scripted partners: negotiators of several temperaments, and villagers for small scenes.

Their actions depend only on the scene, their seat, their name and the seed. They know only their
own limit, and read only the acts of bargaining (see `bargaining`).

A negotiator's offers follow time-dependent tactics (Faratin, Sierra and Jennings, 1998,
"Negotiation decision functions for autonomous agents"): they move from an opening price towards its
own limit,

    price(k) = opening + (limit - opening) * (k / (patience - 1)) ** exponent

at its k-th turn. An exponent above 1 concedes late, one below 1 early. It takes an offer that is at
least as good as the price that it would name next, and never goes beyond its limit. It leaves after
a deal, or when its patience ends.

A villager haggles in whole coins, trades things, asks and listens. In a sale, its manner decides
when it agrees to a price within its limit:

    eager    at once
    firm     after it was repeated: it pays to hold
    proud    after the other side moved towards it: it pays to begin far off
    final    at once; it names only its limit
    curious  as final, after a question about the other side's secret
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, get_args

from dataenvgym.domains.social.actions import Action, ActionKind
from dataenvgym.domains.social.bargaining import Trade
from dataenvgym.domains.social.profiles import Deal, Swap
from dataenvgym.domains.social.scene import Bargains, SceneState, bargains_of
from dataenvgym.seeding import derive_rng

_JITTER = 0.2  # of a negotiator's opening, by seed
Manner = Literal["eager", "firm", "proud", "final", "curious"]
MANNERS = get_args(Manner)
_PATIENCE = 3  # number of a villager's turns before it leaves
_FIRST_STEP = 3  # from a villager's first price to its limit
_GOODBYE = Action(ActionKind.LEAVE, "Goodbye.")


@dataclass(frozen=True)
class Temperament:
    """A negotiator's way to bargain.

    Attributes:
        opening: the distance of the first price from its limit, as a share of the limit.
        exponent: how late it concedes.
        patience: largest number of prices that it names.
        follows: whether it never concedes a larger share than the other side, like tit for tat.
    """

    opening: float
    exponent: float
    patience: int
    follows: bool = False


TEMPERAMENTS: Mapping[str, Temperament] = {
    "tough": Temperament(opening=0.6, exponent=3.0, patience=8),
    "fair": Temperament(opening=0.4, exponent=1.0, patience=7),
    "soft": Temperament(opening=0.3, exponent=0.4, patience=7),
    "impatient": Temperament(opening=0.4, exponent=1.0, patience=3),
    "tit_for_tat": Temperament(opening=0.4, exponent=1.0, patience=8, follows=True),
}
"""By name, as in `task.partner`."""
Partner = Literal["tough", "fair", "soft", "impatient", "tit_for_tat", "model"]


def scripted_partner(name: str, seed: int) -> Negotiator | Villager:
    """The partner of that name: a manner, or a temperament."""
    return Villager(name) if name in MANNERS else Negotiator(TEMPERAMENTS[name], seed)


@dataclass(frozen=True)
class Negotiator:
    """A scripted partner in a scene with a deal."""

    temperament: Temperament
    seed: int = 0

    def act(self, state: SceneState, seat: int) -> Action:
        """Its action in its turn; it does nothing in a scene where it has nothing to trade."""
        deal = state.cast.scene.deal
        if deal is None or seat not in deal.parties:
            return Action(ActionKind.NONE)
        bargains = bargains_of(state)
        if bargains.price is not None:
            return Action(ActionKind.LEAVE, "Thank you, and goodbye.")
        price = self._price(bargains, deal, seat)
        sells = seat == deal.seller
        theirs = bargains.price_of(deal.other(seat))
        if theirs is not None and (theirs >= price if sells else theirs <= price):
            return state.acts.accept()
        if len(bargains.prices[seat]) >= self.temperament.patience:
            return Action(ActionKind.LEAVE, "I am sorry, we cannot agree. Goodbye.")
        return state.acts.offer(price)

    def _price(self, bargains: Bargains, deal: Deal, seat: int) -> float:
        sells, limit = seat == deal.seller, deal.limit(seat)
        drawn = derive_rng(self.seed, "opening", seat).uniform(-_JITTER, _JITTER)
        distance = self.temperament.opening * (1 + drawn)
        opening = limit * (1 + distance) if sells else limit * (1 - distance)
        passed = min(len(bargains.prices[seat]) / max(self.temperament.patience - 1, 1), 1.0)
        share = passed**self.temperament.exponent
        if self.temperament.follows:
            share = min(share, _conceded(bargains, deal, seat))
        return rounded(opening + (limit - opening) * share, up=sells)


def rounded(price: float, *, up: bool) -> float:
    """A whole price, rounded in favor of the seat that names it."""
    price = round(price, 6)
    return float(math.ceil(price) if up else math.floor(price))


def _conceded(bargains: Bargains, deal: Deal, seat: int) -> float:
    """Twice the share of the distance between both first prices that the other side came closer."""
    ours, theirs = bargains.prices[seat], bargains.prices[deal.other(seat)]
    if not ours or len(theirs) < 2:
        return 0.0
    gap = abs(ours[0] - theirs[0])
    closer = theirs[-1] - theirs[0] if seat == deal.seller else theirs[0] - theirs[-1]
    return min(max(2 * closer / gap, 0.0), 1.0) if gap else 1.0


@dataclass(frozen=True)
class Villager:
    """A scripted partner in a scene with a deal, a swap, or a required utterance."""

    manner: str

    def act(self, state: SceneState, seat: int) -> Action:
        """Its action in its turn."""
        scene = state.cast.scene
        n_acted = sum(e.seat == seat and not e.note for e in state.events)
        if scene.deal is not None and seat in scene.deal.parties:
            return self._haggles(state, scene.deal, seat, n_acted)
        if scene.swap is not None:
            return _trades(state, scene.swap, seat, n_acted)
        asks = next((r.question for r in scene.required if seat in r.to and r.question), "")
        return _GOODBYE if n_acted or not asks else Action(ActionKind.SPEAK, asks)

    def _haggles(self, state: SceneState, deal: Deal, seat: int, n_acted: int) -> Action:
        bargains = bargains_of(state)
        if bargains.price is not None:
            return _GOODBYE
        sells, limit, other = seat == deal.seller, deal.limit(seat), deal.other(seat)
        secrets = (secret for secret in state.cast.scene.secrets if secret.seat == other)
        asked = next((secret.question for secret in secrets), "")
        question = asked if self.manner == "curious" else ""
        if question and not n_acted:
            return Action(ActionKind.SPEAK, question)
        is_open = bargains.price_of(other) is not None
        if is_open and self._takes(bargains.prices[other], limit, sells=sells):
            return _agrees(state)
        named = n_acted - bool(question)
        is_final = self.manner in ("final", "curious")
        if named >= (1 if is_final else _PATIENCE):
            return _GOODBYE
        step = 0 if is_final else _FIRST_STEP - named
        price = limit + step if sells else max(limit - step, 1)
        return state.acts.offer(price, "ask" if sells else "pay")

    def _takes(self, prices: list[float], limit: float, *, sells: bool) -> bool:
        """Whether the last price that the other side named is good enough."""
        *before, last = prices
        if last < limit if sells else last > limit:
            return False
        if self.manner == "firm":
            return bool(before) and before[-1] == last
        if self.manner == "proud":
            return any(price < last if sells else price > last for price in before)
        return True


def _trades(state: SceneState, swap: Swap, seat: int, n_acted: int) -> Action:
    bargains = bargains_of(state)
    if bargains.trade is not None:
        return _GOODBYE
    offers = (offer for offer in bargains.open.values() if offer.to == seat)
    offered = max(offers, key=lambda offer: offer.turn, default=None)
    if offered and isinstance(offered.terms, Trade) and offered.terms.gain(seat) >= 0:
        return _agrees(state)
    if n_acted >= _PATIENCE:
        return _GOODBYE
    heard = [e.action.argument for e in state.events if e.seat != seat and e.reaches(seat)]
    if heard and heard[-1].endswith("?"):
        theirs = (thing for thing in swap.things if thing.owner != seat)
        wanted = max(theirs, key=lambda thing: thing.values[seat])
        return Action(ActionKind.SPEAK, f"I need the {wanted.name}.")
    return Action(ActionKind.SPEAK, "No.")


def _agrees(state: SceneState) -> Action:
    """The acceptance; with spoken acts, it leaves at once."""
    accept = state.acts.accept()
    return replace(accept, kind=ActionKind.LEAVE) if state.acts.are_spoken else accept
