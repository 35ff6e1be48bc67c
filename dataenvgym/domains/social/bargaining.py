"""Bargaining by acts: the exact forms of offers, acceptances and withdrawals, and their outcome.

Rules decide deals and trades by these acts alone. Every other message is talk, whatever it says. A
scene has one of two sets of forms, each of them a whole message:

    [action] offer 1,200 euros                I offer 1,200 euros.     (or: say, ask, pay)
    [action] offer my lamp for your ring      My lamp for your ring.
    [action] accept                           Deal.
    [action] withdraw                         I withdraw.

The spoken ones are for terse scenes, whose students are small, and for rules without the action
"action". The prompt of a seat names its forms, except in a terse scene.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Literal, NamedTuple

from dataenvgym.domains.social.actions import Action, ActionKind
from dataenvgym.domains.social.profiles import Scene, Thing

if TYPE_CHECKING:
    from dataenvgym.domains.social.scene import SceneState

_NUMBER = r"((?:[0-9]{1,3}(?:,[0-9]{3}){1,3}|[0-9]{1,12})(?:\.[0-9]{1,2})?)"
_VERBS = re.compile(r"offer|accept|withdraw", re.IGNORECASE)


class Trade(NamedTuple):
    """The owner of `given` trades it for `taken`."""

    given: Thing
    taken: Thing

    def gain(self, seat: int) -> float:
        """The value of the trade for a seat, which may be neither owner."""
        more = self.taken.values[seat] - self.given.values[seat]
        return more if seat == self.given.owner else -more if seat == self.taken.owner else 0.0


Act = float | Trade | Literal["accept", "withdraw"]
"""An offer of a price, an offer of a trade, or an answer."""


class _Forms(NamedTuple):
    price: str
    trade: str
    accept: str
    withdraw: str
    pattern: re.Pattern[str]


_DONE = _Forms(
    price="offer {price}",
    trade="offer my {given} for your {taken}",
    accept="accept",
    withdraw="withdraw",
    pattern=re.compile(rf"offer (?:{_NUMBER} (.+)|my (.+?) for your (.+))"),
)
_SPOKEN = _Forms(
    price="I {verb} {price}.",
    trade="My {given} for your {taken}.",
    accept="Deal.",
    withdraw="I withdraw.",
    pattern=re.compile(rf"i (?:say|ask|pay|offer) {_NUMBER} (.+)|my (.+?) for your (.+)"),
)


@dataclass(frozen=True)
class Acts:
    """Reads and writes the acts of a scene; `are_spoken` if they are words, and not actions."""

    scene: Scene
    are_spoken: bool

    @classmethod
    def of(cls, scene: Scene, kinds: Collection[ActionKind]) -> Acts:
        """Those of a scene with these kinds of action."""
        return cls(scene, scene.terse or ActionKind.ACTION not in kinds)

    @property
    def _forms(self) -> _Forms:
        return _SPOKEN if self.are_spoken else _DONE

    def read(self, action: Action, seat: int) -> Act | None:
        """The act in an action of a seat; None if it is not one, or not one of this seat."""
        kinds = (ActionKind.SPEAK, ActionKind.LEAVE) if self.are_spoken else (ActionKind.ACTION,)
        if action.kind not in kinds:
            return None
        words = _normalized(action.argument)
        if words == _normalized(self._forms.accept):
            return "accept"
        if words == _normalized(self._forms.withdraw):
            return "withdraw"
        found = self._forms.pattern.fullmatch(words)
        if found is None:
            return None
        number, currency, *names = found.groups()
        deal = self.scene.deal
        if number is not None:
            if deal is None or seat not in deal.parties or currency != _normalized(deal.currency):
                return None
            return float(number.replace(",", ""))
        things = self.scene.swap.things if self.scene.swap else ()
        by_name = {_normalized(thing.name): thing for thing in things}
        given, taken = (by_name.get(name) for name in names)
        if given is None or taken is None or given.owner != seat or taken.owner == seat:
            return None
        return Trade(given, taken)

    def offer(self, price: float, verb: str = "offer") -> Action:
        """The offer of a price; `verb` is one of say, ask, pay and offer, if it is spoken."""
        assert self.scene.deal is not None
        number = f"{price:,.2f}".removesuffix(".00")
        return self._action(
            self._forms.price.format(verb=verb, price=f"{number} {self.scene.deal.currency}")
        )

    def swap(self, given: str, taken: str) -> Action:
        """The offer of a trade of things with these names."""
        return self._action(self._forms.trade.format(given=given, taken=taken))

    def accept(self) -> Action:
        """The acceptance of the last offer to this seat."""
        return self._action(self._forms.accept)

    def _action(self, words: str) -> Action:
        return Action(ActionKind.SPEAK if self.are_spoken else ActionKind.ACTION, words)

    def instructions(self, seat: int) -> str:
        """How a seat makes a deal or a trade, for its prompt; "" if it has none to make."""
        deal, swap, forms = self.scene.deal, self.scene.swap, self._forms
        offers: list[str] = []
        if deal is not None and seat in deal.parties:
            offers.append(forms.price.format(verb="offer", price=f"NUMBER {deal.currency}"))
        if swap is not None and any(thing.owner == seat for thing in swap.things):
            offers.append(forms.trade.format(given="THING", taken="THING"))
        if not offers:
            return ""
        answers = f"{forms.accept} (the last offer to you)", f"{forms.withdraw} (your own offer)"
        mark = "" if self.are_spoken else f"[{ActionKind.ACTION}] "
        return (
            "Only these messages, without further words, make and accept offers: "
            f"{'; '.join(mark + form for form in (*offers, *answers))}. All others are talk."
        )

    def form_note(self, action: Action, seat: int) -> str:
        """A note to a seat whose action looks like an act and is not in its form; else ""."""
        if self.are_spoken or action.kind is not ActionKind.ACTION:
            return ""
        if _VERBS.match(action.argument) is None or self.read(action, seat) is not None:
            return ""
        how = self.instructions(seat)
        return f"this counts as talk, and not as an offer or an answer. {how}" if how else ""


def _normalized(text: str) -> str:
    return " ".join(text.casefold().split()).removesuffix(".")


class Offer(NamedTuple):
    """The terms that a seat offers to another, and the turn."""

    seat: int
    to: int
    terms: float | Trade
    turn: int


class Bargains(NamedTuple):
    """The state of the bargains between the seats.

    Attributes:
        open: the last offer of each seat, if it is still open.
        prices: all prices that each seat has offered, in order.
        price, trade: the first ones agreed on.
    """

    open: dict[int, Offer]
    prices: dict[int, list[float]]
    price: float | None = None
    trade: Trade | None = None

    def price_of(self, seat: int) -> float | None:
        """The price in the open offer of a seat."""
        terms = self.open[seat].terms if seat in self.open else None
        return None if isinstance(terms, Trade) else terms


def bargains_of(state: SceneState) -> Bargains:
    """Follow the offers, withdrawals and acceptances in a scene.

    An act counts if the other side notices it. A seat has one open offer at most: its next one, its
    withdrawal, or a counteroffer ends it. An acceptance takes the last open offer of an earlier
    turn. Within a turn, offers and withdrawals come before acceptances, and two seats that accept
    each other's offers agree on nothing. The first price and the first trade agreed on are final.
    """
    deal = state.cast.scene.deal
    open: dict[int, Offer] = {}
    prices: dict[int, list[float]] = {seat: [] for seat in state.cast.seats}
    price: float | None = None
    trade: Trade | None = None
    for turn, events in groupby(state.events, key=lambda event: event.turn):
        acts = [(e, state.acts.read(e.action, e.seat)) for e in events if not e.note]
        for event, act in acts:
            seat = event.seat
            if act == "withdraw" and seat in open and event.reaches(open[seat].to):
                del open[seat]
            if act is None or isinstance(act, str):
                continue
            if isinstance(act, Trade):
                to, is_late = act.taken.owner, trade is not None
            else:
                assert deal is not None
                to, is_late = deal.other(seat), price is not None
            if is_late or not event.reaches(to):
                continue
            answered = open.get(to)
            if answered is not None and answered.to == seat and answered.turn < turn:
                del open[to]
            open[seat] = Offer(seat, to, act, turn)
            if not isinstance(act, Trade):
                prices[seat].append(act)
        found: list[Offer] = []
        for event, act in acts:
            if act == "accept":  # the last offer to this seat that it could see
                offers = (o for o in open.values() if o.to == event.seat and o.turn < turn)
                seen = (offer for offer in offers if event.reaches(offer.seat))
                found += [last] if (last := max(seen, key=lambda o: o.turn, default=None)) else []
        for offer in found:
            if any((other.seat, other.to) == (offer.to, offer.seat) for other in found):
                continue
            if isinstance(offer.terms, Trade):
                trade = trade or offer.terms
            else:
                price = offer.terms
            kind = type(offer.terms)
            open = {seat: o for seat, o in open.items() if type(o.terms) is not kind}
    return Bargains(open, prices, price, trade)
