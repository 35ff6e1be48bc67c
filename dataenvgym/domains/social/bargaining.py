"""Bargaining by acts: the exact forms of offers, acceptances and withdrawals.

Rules decide deals and trades by these acts alone (see `scene.bargains_of`). Every other message is
talk, whatever it says. A scene has one of two sets of forms, each of them a whole message:

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
from typing import Literal, NamedTuple

from dataenvgym.domains.social.actions import Action, ActionKind
from dataenvgym.domains.social.profiles import Scene, Thing

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
