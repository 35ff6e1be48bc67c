"""Scripted negotiators of several temperaments, for scenes with a deal.

Their offers follow time-dependent tactics (Faratin, Sierra and Jennings, 1998, "Negotiation
decision functions for autonomous agents"): they move from an opening price towards their own limit,

    price(k) = opening + (limit - opening) * (k / (patience - 1)) ** exponent

at their k-th turn. An exponent above 1 concedes late, one below 1 early. They take an offer that
is at least as good as the price that they would name next, and never go beyond their limit. They
leave after a deal, or when their patience ends. They know only their own limit, and read only the
acts of bargaining (see `acts`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from dataenvgym.domains.social.actions import Action, ActionKind
from dataenvgym.domains.social.bargains import Bargains, bargains_of
from dataenvgym.domains.social.profiles import Deal
from dataenvgym.domains.social.scene import SceneState
from dataenvgym.errors import ConfigurationError, did_you_mean
from dataenvgym.seeding import derive_rng

_JITTER = 0.2  # of the opening, by seed


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
        if deal is None or seat not in deal.parties:
            return Action(ActionKind.NONE)
        bargains = bargains_of(state)
        if bargains.price is not None:
            return Action(ActionKind.LEAVE, "Thank you, and goodbye.")
        price = self._price(bargains, deal, seat)
        sells = seat == deal.seller
        theirs = bargains.price_of(deal.buyer if sells else deal.seller)
        if theirs is not None and (theirs >= price if sells else theirs <= price):
            return state.acts.accept()
        if len(bargains.prices[seat]) >= self.temperament.patience:
            return Action(ActionKind.LEAVE, "I am sorry, we cannot agree. Goodbye.")
        return state.acts.offer(price)

    def _price(self, bargains: Bargains, deal: Deal, seat: int) -> float:
        sells = seat == deal.seller
        limit = deal.seller_least if sells else deal.buyer_most
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
    sells = seat == deal.seller
    ours, theirs = bargains.prices[seat], bargains.prices[deal.buyer if sells else deal.seller]
    if not ours or len(theirs) < 2:
        return 0.0
    gap = abs(ours[0] - theirs[0])
    closer = theirs[-1] - theirs[0] if sells else theirs[0] - theirs[-1]
    return min(max(2 * closer / gap, 0.0), 1.0) if gap else 1.0
