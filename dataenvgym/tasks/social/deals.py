"""What two seats agreed on: prices in what they say, and the goal score that a price earns."""

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
    """A price that a seat named, and in which turn."""

    price: float
    turn: int


def price_in(text: str) -> float | None:
    """The one price that a text names; None if it names none, or several.

    Numbers with a currency count; without any, those that end a clause ("What about 120?").
    """
    found = [one or other for one, other in _WITH_CURRENCY.findall(text)] or _BARE.findall(text)
    prices = {float(number.replace(",", "")) for number in found if len(number) <= 15}
    return prices.pop() if len(prices) == 1 else None


def accepts(text: str) -> bool:
    """True if the text agrees to something: "Deal.", but neither "No deal." nor "Deal?"."""
    words = text.casefold().replace("\u2019", "'")
    return _ACCEPTS.search(words) is not None and _DENIES.search(words) is None


class Talks(NamedTuple):
    """How far seller and buyer have come.

    Attributes:
        price: the last one that both agreed on, or None.
        offers: of each seat, the last price that it named and nobody answered with another one.
    """

    price: float | None
    offers: dict[int, Offer]


def talks_of(state: SceneState, deal: Deal) -> Talks:
    """Follow what seller and buyer say to each other.

    A seat agrees by accepting (see `accepts`) the other's last offer, which it has seen, without
    naming another price. A counteroffer ends the offer that it answers. What a seat's text claims
    that others said does not count.
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

    A price beyond its own limit earns 0, its own limit 5, the other's limit 10, and what is between
    them in proportion. No deal earns 0 if a deal could have served both, else 10; then a price
    within its own limit earns 10, too.
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
