"""Deals: finds prices and agreements in utterances, and scores the price agreed on."""

from __future__ import annotations

import re
from typing import NamedTuple

from dataenvgym.tasks.social.evaluators import DIMENSIONS
from dataenvgym.tasks.social.profiles import Deal
from dataenvgym.tasks.social.scene import Event, SceneState

_NUMBER = r"(\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)"
_WITH_CURRENCY = re.compile(
    rf"(?:€|\$|£|\beur\s|\busd\s)\s*{_NUMBER}(?![\d,.]*\d)"
    rf"|(?<![\w.,]){_NUMBER}\s*(?:€|\$|£|euros?\b|eur\b|dollars?\b|usd\b|pounds?\b)",
    re.IGNORECASE,
)
_BARE = re.compile(rf"(?<![\w.,]){_NUMBER}(?=\s*(?:[.!?;,](?!\d)|$))", re.MULTILINE)
_ACCEPTS = re.compile(
    r"(?:^|[.!,;:\n]\s*)(?:(?:ok|okay|yes|good|fine|well|then)[,.!]?\s+)?"
    r"(?:deal|agreed|accepted|sold|done)(?=\s*(?:[.!,;:\n]|$|\bat\b|\bfor\b|\bthen\b))"
    r"|\b(?:it's|it is|that's|that is|you have|we have|you've got|we've got) a deal\b"
    r"|\bi(?:'ll| will| do)? (?:gladly )?(?:accept|agree|take it|take that)\b"
)
_DENIES = re.compile(r"\b(?:no|not|cannot|never|nor|without|unless|if)\b|n't\b|\?")


class Offer(NamedTuple):
    """A price that a seat named, and the turn."""

    price: float
    turn: int


def price_in(text: str) -> float | None:
    """The price in a text; None if it has none, or several.

    Numbers with a currency count. If there are none, numbers that end a clause do ("What about
    120?").
    """
    found = [one or other for one, other in _WITH_CURRENCY.findall(text)] or _BARE.findall(text)
    prices = {float(number.replace(",", "")) for number in found if len(number) <= 15}
    return prices.pop() if len(prices) == 1 else None


def accepts(text: str) -> bool:
    """True if the text agrees to an offer: "Deal.", but neither "No deal." nor "Deal?"."""
    words = text.casefold().replace("\u2019", "'")
    return _ACCEPTS.search(words) is not None and _DENIES.search(words) is None


class Talks(NamedTuple):
    """The state of the negotiation between seller and buyer.

    Attributes:
        price: the last price that both agreed on, or None.
        offers: each seat's last price, unless the other seat made a counteroffer.
    """

    price: float | None
    offers: dict[int, Offer]


def talks_of(state: SceneState, deal: Deal) -> Talks:
    """Follow the negotiation between seller and buyer.

    A seat agrees by accepting (see `accepts`) the other's last offer, if it saw that offer, without
    naming another price. A counteroffer ends the offer that it answers. A seat's claims about
    the words of others do not count.
    """
    other = {deal.seller: deal.buyer, deal.buyer: deal.seller}
    agreed: float | None = None
    offers: dict[int, Offer] = {}
    for event in state.events:
        seat = event.seat
        if not _is_said_to(event, other.get(seat)):
            continue
        text = event.action.argument
        price, open_offer = price_in(text), offers.get(other[seat])
        has_seen = open_offer is not None and open_offer.turn < event.turn
        if open_offer and has_seen and accepts(text) and price in (None, open_offer.price):
            agreed = open_offer.price
            offers.clear()
        elif price is not None:
            if has_seen:
                del offers[other[seat]]
            offers[seat] = Offer(price, event.turn)
    return Talks(agreed, offers)


def _is_said_to(event: Event, other: int | None) -> bool:
    return other is not None and event.is_said and event.reaches(other)


def goal_of_deal(deal: Deal, seat: int, price: float | None) -> float | None:
    """The goal score (0..10) of a seat for a price; None if it neither sells nor buys.

    A price beyond the seat's own limit earns 0, its own limit 5, the other's limit 10; prices
    between the limits earn points in proportion. If a deal could have served both, no deal earns
    0. Otherwise no deal earns 10, and so does a price within the seat's own limit.
    """
    if seat not in (deal.seller, deal.buyer):
        return None
    highest = float(DIMENSIONS["goal"].high)
    if price is None:
        return 0.0 if deal.is_possible else highest
    gained = price - deal.seller_least if seat == deal.seller else deal.buyer_most - price
    if gained < 0:
        return 0.0
    span = deal.buyer_most - deal.seller_least
    return highest if span <= 0 else highest * (0.5 + 0.5 * min(gained / span, 1.0))
