"""Scripted partners for small scenes: they haggle in whole coins, trade things, ask and listen.

Their actions depend only on the scene, their seat and their manner. In a sale, the manner decides
when they agree to a price within their limit:

    eager    at once
    firm     after it was repeated: it pays to hold
    proud    after the other side moved towards them: it pays to begin far off
    final    at once; they name only their limit
    curious  as final, after a question about the other side's secret
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

from dataenvgym.domains.social.actions import Action, ActionKind
from dataenvgym.domains.social.acts import Trade
from dataenvgym.domains.social.bargains import bargains_of
from dataenvgym.domains.social.partners import TEMPERAMENTS, Negotiator
from dataenvgym.domains.social.profiles import Deal, Swap
from dataenvgym.domains.social.scene import SceneState

MANNERS = ("eager", "firm", "proud", "final", "curious")
_PATIENCE = 3  # number of their turns before they leave
_FIRST_STEP = 3  # from their first price to their limit
_GOODBYE = Action(ActionKind.LEAVE, "Goodbye.")


class ScriptedPartner(Protocol):
    """A partner that needs no model."""

    def act(self, state: SceneState, seat: int) -> Action:
        """Its action in its turn."""
        ...


def scripted_partner(name: str, seed: int) -> ScriptedPartner:
    """The partner of that name: a manner, or a temperament (see `partners`)."""
    return Villager(name) if name in MANNERS else Negotiator(TEMPERAMENTS[name], seed)


@dataclass(frozen=True)
class Villager:
    """A scripted partner in a scene with a deal, a swap, or a required utterance."""

    manner: str

    def act(self, state: SceneState, seat: int) -> Action:
        """Its action in its turn."""
        scene = state.cast.scene
        if scene.deal is not None and seat in scene.deal.parties:
            return self._haggles(state, scene.deal, seat)
        if scene.swap is not None:
            return _trades(state, scene.swap, seat)
        asks = next((r.question for r in scene.required if seat in r.to and r.question), "")
        return _GOODBYE if _n_acted(state, seat) or not asks else _says(asks)

    def _haggles(self, state: SceneState, deal: Deal, seat: int) -> Action:
        bargains, said = bargains_of(state), _n_acted(state, seat)
        if bargains.price is not None:
            return _GOODBYE
        sells = seat == deal.seller
        limit = deal.seller_least if sells else deal.buyer_most
        other = deal.buyer if sells else deal.seller
        secrets = (secret for secret in state.cast.scene.secrets if secret.seat == other)
        asked = next((secret.question for secret in secrets), "")
        question = asked if self.manner == "curious" else ""
        if question and not said:
            return _says(question)
        is_open = bargains.price_of(other) is not None
        if is_open and self._takes(bargains.prices[other], limit, sells=sells):
            return _agrees(state)
        named = said - bool(question)
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


def _trades(state: SceneState, swap: Swap, seat: int) -> Action:
    bargains = bargains_of(state)
    if bargains.trade is not None:
        return _GOODBYE
    offers = (offer for offer in bargains.open.values() if offer.to == seat)
    offered = max(offers, key=lambda offer: offer.turn, default=None)
    if offered and isinstance(offered.terms, Trade) and offered.terms.gain(seat) >= 0:
        return _agrees(state)
    if _n_acted(state, seat) >= _PATIENCE:
        return _GOODBYE
    heard = [e.action.argument for e in state.events if e.seat != seat and e.reaches(seat)]
    if heard and heard[-1].endswith("?"):
        wanted = max(
            (t for t in swap.things if t.owner != seat), key=lambda thing: thing.values[seat]
        )
        return _says(f"I need the {wanted.name}.")
    return _says("No.")


def _agrees(state: SceneState) -> Action:
    """The acceptance; with spoken acts, it leaves at once."""
    accept = state.acts.accept()
    return replace(accept, kind=ActionKind.LEAVE) if state.acts.are_spoken else accept


def _n_acted(state: SceneState, seat: int) -> int:
    return sum(e.seat == seat and not e.note for e in state.events)


def _says(text: str) -> Action:
    return Action(ActionKind.SPEAK, text)
