"""Follows the acts of a scene (see `acts`): the open offers, the price and the trade agreed on."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from typing import NamedTuple

from dataenvgym.domains.social.acts import Trade
from dataenvgym.domains.social.scene import Event, SceneState


class Offer(NamedTuple):
    """What a seat offers to another, and the turn."""

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
                to, is_late = sum(deal.parties) - seat, price is not None
            if is_late or not event.reaches(to):
                continue
            answered = open.get(to)
            if answered is not None and answered.to == seat and answered.turn < turn:
                del open[to]
            open[seat] = Offer(seat, to, act, turn)
            if not isinstance(act, Trade):
                prices[seat].append(act)
        taken = [_taken(event, open) for event, act in acts if act == "accept"]
        found = [offer for offer in taken if offer is not None]
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


def _taken(event: Event, open: Mapping[int, Offer]) -> Offer | None:
    """The offer that an acceptance takes: the last one to its seat that it could see."""
    offers = (
        offer
        for offer in open.values()
        if offer.to == event.seat and offer.turn < event.turn and event.reaches(offer.seat)
    )
    return max(offers, key=lambda offer: offer.turn, default=None)
