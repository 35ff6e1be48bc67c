"""Scripted negotiators of several temperaments, for scenes with a deal.

Their offers follow time-dependent tactics (Faratin, Sierra and Jennings, 1998, "Negotiation
decision functions for autonomous agents"): they move from an opening price towards their own limit,

    price(k) = opening + (limit - opening) * (k / (patience - 1)) ** exponent

at their k-th turn. An exponent above 1 concedes late, one below 1 early. They take an offer that
is at least as good as the price that they would name next, and never go beyond their limit. They
leave after a deal, or when their patience ends. They know only their own limit and the utterances.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from dataenvgym.errors import ConfigurationError, did_you_mean
from dataenvgym.seeding import derive_rng
from dataenvgym.tasks.social.actions import Action, ActionKind
from dataenvgym.tasks.social.deals import price_in, talks_of
from dataenvgym.tasks.social.profiles import Deal
from dataenvgym.tasks.social.scene import SceneState

_JITTER = 0.2  # of the opening, by seed
_HAGGLES = ("I can do {}.", "Let us say {}.", "What about {}?", "My price is {}.")


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


def temperament(name: str) -> Temperament:
    """The temperament of that name.

    Raises:
        ConfigurationError: if it does not exist.
    """
    if name not in TEMPERAMENTS:
        raise ConfigurationError(
            f"there is no scripted partner {name!r}.{did_you_mean(name, TEMPERAMENTS)} There are: "
            f"{', '.join(TEMPERAMENTS)}; 'model' asks task.others.partner"
        )
    return TEMPERAMENTS[name]


@dataclass(frozen=True)
class Negotiator:
    """A scripted partner; its actions depend only on the scene, its seat and the seed."""

    temperament: Temperament
    seed: int = 0

    def act(self, state: SceneState, seat: int) -> Action:
        """Its action in its turn; it does nothing in a scene where it has nothing to trade."""
        deal = state.cast.scene.deal
        if deal is None or seat not in (deal.seller, deal.buyer):
            return Action(ActionKind.NONE)
        talks = talks_of(state, deal)
        if talks.price is not None:
            return Action(ActionKind.LEAVE, "Thank you, and goodbye.")
        named = self._n_named(state, seat)
        price = self._price(state, deal, seat, named)
        sells = seat == deal.seller
        theirs = talks.offers.get(deal.buyer if sells else deal.seller)
        if theirs is not None and (theirs.price >= price if sells else theirs.price <= price):
            return Action(ActionKind.SPEAK, f"Deal. {written(theirs.price)} it is.")
        if named >= self.temperament.patience:
            return Action(ActionKind.LEAVE, "I am sorry, we cannot agree. Goodbye.")
        if not named:
            wants = "I would sell the {0} for {1}." if sells else "I would pay {1} for the {0}."
            return Action(ActionKind.SPEAK, wants.format(deal.item, written(price)))
        words = derive_rng(self.seed, "words", seat, named).choice(_HAGGLES)
        return Action(ActionKind.SPEAK, str(words).format(written(price)))

    def _n_named(self, state: SceneState, seat: int) -> int:
        said = ActionKind.SPEAK
        return sum(e.seat == seat and e.action.kind is said for e in state.events)

    def _price(self, state: SceneState, deal: Deal, seat: int, named: int) -> float:
        sells = seat == deal.seller
        limit = deal.seller_least if sells else deal.buyer_most
        drawn = derive_rng(self.seed, "opening", seat).uniform(-_JITTER, _JITTER)
        distance = self.temperament.opening * (1 + drawn)
        opening = limit * (1 + distance) if sells else limit * (1 - distance)
        passed = min(named / max(self.temperament.patience - 1, 1), 1.0)
        share = passed**self.temperament.exponent
        if self.temperament.follows:
            share = min(share, _conceded(state, deal, seat))
        return rounded(opening + (limit - opening) * share, up=sells)


def rounded(price: float, *, up: bool) -> float:
    """A whole price, rounded in favor of the seat that names it."""
    price = round(price, 6)
    return float(math.ceil(price) if up else math.floor(price))


def written(price: float) -> str:
    """A price as text (see `deals.price_in`)."""
    return f"{price:,.2f}".removesuffix(".00") + " euros"


def _conceded(state: SceneState, deal: Deal, seat: int) -> float:
    """Twice the share of the distance between both first prices that the other side gave up."""
    other = deal.buyer if seat == deal.seller else deal.seller
    named: dict[int, list[float]] = {seat: [], other: []}
    for event in state.events:
        price = price_in(event.action.argument) if event.seat in named else None
        if price is not None and event.reaches(seat):
            named[event.seat].append(price)
    if not named[seat] or len(named[other]) < 2:
        return 0.0
    gap = abs(named[seat][0] - named[other][0])
    moved = abs(named[other][-1] - named[other][0])
    return min(1.0, 2 * moved / gap) if gap else 1.0
