"""A scene in progress: its rules, its characters, and the events that each seat has seen.

States are values: `SceneState.after` returns the next one and does not change the state. No model
is asked here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from itertools import groupby
from typing import Annotated, Literal, NamedTuple

from annotated_types import Ge, Le
from pydantic import NonNegativeInt

from dataenvgym.domains.social.actions import ALL_KINDS, NOTHING, Action, ActionKind
from dataenvgym.domains.social.bargaining import Acts, Trade
from dataenvgym.domains.social.profiles import Character, Scene, as_seen_by
from dataenvgym.errors import shorten
from dataenvgym.seeding import derive_seed

Order = Literal["round_robin", "random", "simultaneous"]
Ends = Literal["sotopia", "epo"]
MOST_TURNS = 1000
TurnLimit = Annotated[int, Ge(1), Le(MOST_TURNS)]
_EPO_KINDS = (ActionKind.NONE, ActionKind.SPEAK, ActionKind.LEAVE)


@dataclass(frozen=True, kw_only=True)
class TurnOptions:
    """Whose turn it is, and how long a scene lasts.

    Attributes:
        order: round_robin: one seat after the other; random: any seat that has not left, drawn
            for each turn; simultaneous: all seats in each turn.
        turn_limit: for all seats together.
        most_stale: number of silent moves in a row that do not yet end the scene.
    """

    order: Order = "round_robin"
    turn_limit: TurnLimit = 20
    most_stale: NonNegativeInt = 2


@dataclass(frozen=True, kw_only=True)
class Rules(TurnOptions):
    """How a scene is played.

    Each seat whose turn it is makes one move, in the order of the seats; a move is silent if the
    seat does nothing. Scenes of two seats end where the programs named by `ends` end them:
    "sotopia" is `RuleBasedTerminatedEvaluator` of Sotopia (commit a0aaafb), "epo" the same class in
    EPO's code, which ends one turn later, and in which a seat that waits for its turn makes a
    silent move, too. With three or more seats, a seat that has left still has turns in Sotopia and
    may come back; here it has none.

    Attributes:
        ends: "sotopia" or "epo".
        kinds: the allowed actions.
    """

    ends: Ends = "sotopia"
    kinds: tuple[ActionKind, ...] = ALL_KINDS


def rules_of(name: Ends, options: TurnOptions = TurnOptions()) -> Rules:
    """The rules of that name.

    "epo" has the rules of EPO's published figures (Liu et al., 2025, "EPO: Explicit Policy
    Optimization for Strategic Reasoning in LLMs via RL"): scenes end as in its code, and the
    actions are none, speak and leave.
    """
    turns = {each.name: getattr(options, each.name) for each in fields(TurnOptions)}
    return Rules(**turns, ends=name, kinds=_EPO_KINDS if name == "epo" else ALL_KINDS)


@dataclass(frozen=True)
class Cast:
    """A scene with a character in each seat."""

    scene: Scene
    characters: tuple[Character, ...]

    def __post_init__(self) -> None:
        if len(self.characters) != self.scene.seats:
            raise ValueError(
                f"scene {self.scene.id!r} has {self.scene.seats} seats and "
                f"{len(self.characters)} characters, expected one for each seat"
            )

    @property
    def seats(self) -> range:
        """All seats."""
        return range(self.scene.seats)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The true name of each seat; equal names are numbered."""
        return _told_apart(character.name for character in self.characters)

    @cached_property
    def _labels(self) -> tuple[tuple[str, ...], ...]:
        seen = [
            as_seen_by(self.scene.relationship, character).get("name", f"Person {seat + 1}")
            for seat, character in enumerate(self.characters)
        ]
        return tuple(
            _told_apart([*seen[:viewer], self.characters[viewer].name, *seen[viewer + 1 :]])
            for viewer in self.seats
        )

    def label(self, seat: int, viewer: int) -> str:
        """The viewer's name for a seat: its name, or "Person 2" if they are strangers."""
        return self._labels[viewer][seat]

    def seat_called(self, label: str, viewer: int) -> int | None:
        """The seat that a viewer calls by this name (in any case); None if there is none."""
        wanted = " ".join(label.casefold().split())
        labels = self._labels[viewer]
        return next((seat for seat in self.seats if labels[seat].casefold() == wanted), None)


@dataclass(frozen=True)
class Event:
    """An event in a scene.

    Attributes:
        turn: from 0.
        seat: the actor, or the receiver of a note.
        to: the recipients; empty for everybody.
        gone: the seats that had left before this turn.
        note: a message from the scene to this seat alone; "" for an action.
        strategist: of a note: "wrote" is a strategy for this seat; "reads" is a message for the
            strategist of this seat alone (see `strategies`).
    """

    turn: int
    seat: int
    action: Action = NOTHING
    to: tuple[int, ...] = ()
    gone: tuple[int, ...] = ()
    note: str = ""
    strategist: Literal["", "wrote", "reads"] = ""

    @property
    def is_said(self) -> bool:
        """Whether it is words, also the words of a seat that leaves."""
        return not self.note and self.action.kind in (ActionKind.SPEAK, ActionKind.LEAVE)

    def reaches(self, seat: int) -> bool:
        """Whether a seat notices it: it acts itself, or it is present and a recipient."""
        if self.note:
            return seat == self.seat and self.strategist != "reads"
        if seat == self.seat:
            return True
        return seat in self.to if self.to else seat not in self.gone


@dataclass(frozen=True)
class SceneState:
    """A scene in progress.

    Attributes:
        seed: of the random order of turns.
        events: in order; `none` is not recorded.
        present: the seats that have not left, in ascending order.
        n_turns: number of finished turns.
        n_stale: silent moves in a row (see `Rules`).
        last: the seat of the last turn; at first -1.
    """

    cast: Cast
    rules: Rules = field(default_factory=Rules)
    seed: int = 0
    events: tuple[Event, ...] = ()
    present: tuple[int, ...] = ()
    n_turns: int = 0
    n_stale: int = 0
    last: int = -1

    @classmethod
    def begin(cls, cast: Cast, rules: Rules | None = None, *, seed: int = 0) -> SceneState:
        """The scene before any action."""
        return cls(cast, rules or Rules(), seed, present=tuple(cast.seats))

    @cached_property
    def ending(self) -> str | None:
        """Why it is over, or None."""
        if len(self.present) < 2:
            return "fewer than two are left"
        if self.n_turns >= self.rules.turn_limit + (self.rules.ends == "epo"):
            return f"{self.n_turns} turns are over"
        if self.n_stale > self.rules.most_stale:
            return f"{self.n_stale} moves in a row were silent"
        return None

    @cached_property
    def acts(self) -> Acts:
        """The acts of bargaining that the scene knows."""
        return Acts.of(self.cast.scene, self.rules.kinds)

    @cached_property
    def acting(self) -> tuple[int, ...]:
        """The seats whose turn it is; none after the end."""
        if self.ending is not None:
            return ()
        if self.rules.order == "simultaneous":
            return self.present
        if self.rules.order == "random":
            drawn = derive_seed(self.seed, "turn", self.n_turns)
            return (self.present[drawn % len(self.present)],)
        return (next((seat for seat in self.present if seat > self.last), self.present[0]),)

    def after(
        self, actions: Mapping[int, Action], notes: Mapping[int, str] | None = None
    ) -> SceneState:
        """The scene one turn later; it is not over.

        The action of a seat whose turn it is not is not recorded. An action with invalid recipients
        is not recorded either: its seat gets a note. So does the seat of an action that looks like
        an act of bargaining without being one.

        Args:
            actions: of the seats; seats without an action do nothing.
            notes: messages from the scene to single seats in this turn.
        """
        events = [Event(self.n_turns, s, note=text) for s, text in (notes or {}).items()]
        gone = tuple(seat for seat in self.cast.seats if seat not in self.present)
        left: set[int] = set()
        done: set[int] = set()
        for seat in self.acting:
            action = actions.get(seat, NOTHING)
            if action.kind is ActionKind.NONE:
                continue
            to = self._recipients(seat, action)
            if isinstance(to, str):
                events.append(Event(self.n_turns, seat, note=to))
                continue
            done.add(seat)
            events.append(Event(self.n_turns, seat, action, to, gone))
            if form_note := self.acts.form_note(action, seat):
                events.append(Event(self.n_turns, seat, note=form_note))
            if action.kind is ActionKind.LEAVE:
                left.add(seat)
        moving = self.present if self.rules.ends == "epo" else self.acting
        moves = [seat in done for seat in moving]
        return replace(
            self,
            events=(*self.events, *events),
            present=tuple(seat for seat in self.present if seat not in left),
            n_turns=self.n_turns + 1,
            n_stale=moves[::-1].index(True) if any(moves) else self.n_stale + len(moves),
            last=self.acting[-1],
        )

    def _recipients(self, seat: int, action: Action) -> tuple[int, ...] | str:
        """The seats that an action is for, or a note about an invalid one."""
        found: list[int] = []
        for name in action.to:
            other = self.cast.seat_called(name, seat)
            if other is None or other == seat or other not in self.present:
                there = (self.cast.label(s, seat) for s in self.present if s != seat)
                shown = ascii(shorten(" ".join(name.split()), 60))
                return f"invalid recipient: {shown}; there are: {', '.join(there)}"
            found.append(other)
        return tuple(dict.fromkeys(found))


def _told_apart(names: Iterable[str]) -> tuple[str, ...]:
    """The names without markup of the scene, all different: "Ann Lee", "Ann Lee (2)"."""
    found: list[str] = []
    for seat, name in enumerate(names):
        plain = " ".join(name.replace("[", "(").replace("]", ")").replace(";", ",").split())
        taken = {one.casefold() for one in found}
        while plain.casefold() in taken:
            plain = f"{plain} ({seat + 1})"
        found.append(plain)
    return tuple(found)


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
