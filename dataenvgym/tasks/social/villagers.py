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

from dataclasses import dataclass
from typing import Protocol

from dataenvgym.tasks.social.actions import Action, ActionKind
from dataenvgym.tasks.social.deals import price_in, talks_of
from dataenvgym.tasks.social.partners import TEMPERAMENTS, Negotiator
from dataenvgym.tasks.social.profiles import Deal, Swap
from dataenvgym.tasks.social.scene import SceneState
from dataenvgym.tasks.social.swaps import trades_of

MANNERS = ("eager", "firm", "proud", "final", "curious")
_PATIENCE = 3  # number of their turns before they leave
_FIRST_STEP = 3  # from their first price to their limit
_AGREED = Action(ActionKind.LEAVE, "Deal.")
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
        if scene.deal is not None and seat in (scene.deal.seller, scene.deal.buyer):
            return self._haggles(state, scene.deal, seat)
        if scene.swap is not None:
            return _trades(state, scene.swap, seat)
        asks = next((r.question for r in scene.required if seat in r.to and r.question), "")
        return _GOODBYE if _n_said(state, seat) or not asks else _says(asks)

    def _haggles(self, state: SceneState, deal: Deal, seat: int) -> Action:
        talks, said = talks_of(state, deal), _n_said(state, seat)
        if talks.price is not None:
            return _GOODBYE
        sells = seat == deal.seller
        limit = deal.seller_least if sells else deal.buyer_most
        other = deal.buyer if sells else deal.seller
        question = _question(state, other) if self.manner == "curious" else ""
        if question and not said:
            return _says(question)
        if other in talks.offers and self._takes(prices_of(state, other), limit, sells=sells):
            return _AGREED
        named = said - bool(question)
        is_final = self.manner in ("final", "curious")
        if named >= (1 if is_final else _PATIENCE):
            return _GOODBYE
        step = 0 if is_final else _FIRST_STEP - named
        price = limit + step if sells else max(limit - step, 1)
        return _says(f"I {'ask' if sells else 'pay'} {price:g} euros.")

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


def prices_of(state: SceneState, seat: int) -> list[float]:
    """The prices that a seat has named, in order."""
    said = (e.action.argument for e in state.events if e.seat == seat and not e.note)
    return [price for text in said if (price := price_in(text)) is not None]


def _trades(state: SceneState, swap: Swap, seat: int) -> Action:
    trades = trades_of(state, swap)
    if trades.agreed is not None:
        return _GOODBYE
    proposed = [t for t in trades.open.values() if t.taken.owner == seat]
    if any(trade.gain(seat) >= 0 for trade in proposed):
        return _AGREED
    if _n_said(state, seat) >= _PATIENCE:
        return _GOODBYE
    heard = [e.action.argument for e in state.events if e.seat != seat and e.reaches(seat)]
    if heard and heard[-1].endswith("?"):
        wanted = max(
            (t for t in swap.things if t.owner != seat), key=lambda thing: thing.values[seat]
        )
        return _says(f"I need the {wanted.name}.")
    return _says("No.")


def _question(state: SceneState, other: int) -> str:
    """The question about the secret of another seat; "" if it has none."""
    secrets = (secret for secret in state.cast.scene.secrets if secret.seat == other)
    return next((secret.question for secret in secrets), "")


def _n_said(state: SceneState, seat: int) -> int:
    kind = ActionKind.SPEAK
    return sum(e.seat == seat and not e.note and e.action.kind is kind for e in state.events)


def _says(text: str) -> Action:
    return Action(ActionKind.SPEAK, text)
