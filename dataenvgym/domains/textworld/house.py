"""A house: one room with receptacles and objects, and household tasks in ALFWorld's form.

The student stands before one receptacle at a time, holds at most one object, and sees what is on
a receptacle, or in it if it is open. Commands and observations are worded as in ALFWorld's text
games (Shridhar et al., 2021); the rooms are our own. Unlike there, any object may be put anywhere,
and nothing can be sliced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Literal, Self, get_args

from pydantic import model_validator

from dataenvgym.domains.textworld.worlds import Seen, World, impossible
from dataenvgym.records.model import Model
from dataenvgym.tasks.worlds import Row, State, Table

TaskType = Literal["pick", "look", "clean", "heat", "cool", "pick_two"]
TASK_TYPES: tuple[TaskType, ...] = get_args(TaskType)
OPENABLE = frozenset({"cabinet", "drawer", "fridge", "microwave", "safe"})
LAMPS = frozenset({"desklamp", "floorlamp"})
APPLIANCES: Mapping[str, str] = {"clean": "sinkbasin", "heat": "microwave", "cool": "fridge"}


@dataclass(frozen=True)
class Kind:
    """A kind of object: where it usually is, and what can be done with it."""

    places: tuple[str, ...]
    allows: frozenset[str]


def _kind(places: str, allows: str = "") -> Kind:
    return Kind(tuple(places.split()), frozenset(allows.split()))


KINDS: Mapping[str, Kind] = {
    "alarmclock": _kind("sidetable desk dresser shelf"),
    "apple": _kind("countertop fridge diningtable", "clean heat cool"),
    "book": _kind("desk bed shelf sofa coffeetable"),
    "bowl": _kind("cabinet countertop diningtable", "clean cool"),
    "bread": _kind("countertop diningtable", "heat cool"),
    "candle": _kind("countertop toilet shelf"),
    "cd": _kind("desk drawer shelf safe"),
    "cellphone": _kind("bed desk sidetable sofa"),
    "cloth": _kind("cabinet countertop bathtubbasin", "clean"),
    "creditcard": _kind("desk dresser sidetable sofa coffeetable"),
    "cup": _kind("cabinet countertop sinkbasin", "clean heat cool"),
    "desklamp": _kind("desk sidetable"),
    "egg": _kind("fridge countertop sinkbasin", "clean heat cool"),
    "floorlamp": _kind("armchair sofa sidetable"),
    "fork": _kind("drawer countertop diningtable", "clean"),
    "keychain": _kind("dresser drawer safe sofa armchair sidetable"),
    "knife": _kind("drawer countertop diningtable", "clean"),
    "laptop": _kind("desk bed sofa coffeetable"),
    "lettuce": _kind("fridge countertop diningtable", "clean cool"),
    "mug": _kind("cabinet countertop coffeemachine desk", "clean heat cool"),
    "newspaper": _kind("sofa coffeetable armchair"),
    "pan": _kind("stoveburner countertop cabinet", "clean cool"),
    "pen": _kind("desk drawer sidetable shelf"),
    "pencil": _kind("desk drawer shelf"),
    "pillow": _kind("bed sofa armchair"),
    "plate": _kind("cabinet countertop diningtable", "clean heat cool"),
    "pot": _kind("stoveburner cabinet countertop", "clean cool"),
    "potato": _kind("fridge countertop diningtable", "clean heat cool"),
    "remotecontrol": _kind("coffeetable sofa armchair"),
    "saltshaker": _kind("cabinet countertop diningtable drawer"),
    "soapbar": _kind("bathtubbasin countertop toilet sinkbasin", "clean"),
    "soapbottle": _kind("countertop cabinet toilet"),
    "spoon": _kind("drawer countertop diningtable", "clean"),
    "spraybottle": _kind("cabinet toilet countertop"),
    "statue": _kind("dresser shelf coffeetable sidetable"),
    "toiletpaper": _kind("cabinet toilet countertop"),
    "tomato": _kind("fridge countertop diningtable", "clean heat cool"),
    "vase": _kind("dresser shelf coffeetable sidetable"),
    "watch": _kind("dresser coffeetable shelf safe"),
}


_WORDS: Mapping[TaskType, tuple[str, str]] = {
    "pick": ("put some {thing} on {target}.", "put a {thing} in {target}."),
    "look": ("look at {thing} under the {target}.", "examine the {thing} with the {target}."),
    "clean": ("put a clean {thing} in {target}.", "clean some {thing} and put it in {target}."),
    "heat": ("put a hot {thing} in {target}.", "heat some {thing} and put it in {target}."),
    "cool": ("put a cool {thing} in {target}.", "cool some {thing} and put it in {target}."),
    "pick_two": ("put two {thing} in {target}.", "find two {thing} and put them in {target}."),
}


class Place(Row):
    """A receptacle; `is_open` counts only if its kind can be opened."""

    is_open: bool = False


class Thing(Row):
    """An object: its receptacle (None: the student holds it) and its condition."""

    place: str | None = None
    is_clean: bool = False
    is_hot: bool = False
    is_cool: bool = False
    is_on: bool = False


class House(State):
    """A room; names are a kind and a number, such as "cabinet 2".

    Attributes:
        at: the receptacle before which the student stands; None in the middle of the room.
    """

    places: Table[Place]
    things: Table[Thing]
    at: str | None = None

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if unknown := [name for name in self.things if kind_of(name) not in KINDS]:
            raise ValueError(f"there is no kind of {unknown[0]!r}, expected such as 'mug 1'")
        where = {"at": self.at} | {name: thing.place for name, thing in self.things.items()}
        for name, place in where.items():
            if place is not None and place not in self.places:
                raise ValueError(f"{name} is {place!r}, expected one of {', '.join(self.places)}")
        held = [name for name, thing in self.things.items() if thing.place is None]
        if len(held) > 1:
            raise ValueError(f"{' and '.join(held)} have no place, expected at most one, in hand")
        return self

    @property
    def held(self) -> str | None:
        """The object in the student's hand."""
        return next((name for name, thing in self.things.items() if thing.place is None), None)

    def is_visible(self, place: str) -> bool:
        """Whether its contents can be seen from before it."""
        return kind_of(place) not in OPENABLE or self.places[place].is_open

    def contents(self, place: str) -> list[str]:
        return [name for name, thing in self.things.items() if thing.place == place]

    def of_kind(self, kind: str, names: Iterable[str]) -> list[str]:
        return [name for name in names if kind_of(name) == kind]


class Goal(Model):
    """What is to be done.

    Attributes:
        type: `pick`: put an object on a receptacle; `clean`, `heat`, `cool`: do that to it before;
            `pick_two`: put two; `look`: hold an object before a lamp that is on.
        object: its kind.
        target: the kind of receptacle; for `look`, that of the lamp.
        phrasing: 0 or 1: one of two wordings.
    """

    type: TaskType
    object: str
    target: str
    phrasing: Literal[0, 1] = 0

    @property
    def count(self) -> int:
        return 2 if self.type == "pick_two" else 1

    def is_met(self, house: House) -> bool:
        if self.type == "look":
            lit = [n for n, t in house.things.items() if t.is_on and t.place == house.at]
            holds = house.held is not None and kind_of(house.held) == self.object
            return holds and bool(house.of_kind(self.target, lit))
        placed = [
            thing
            for name, thing in house.things.items()
            if kind_of(name) == self.object and thing.place and kind_of(thing.place) == self.target
        ]
        wanted = {"clean": "is_clean", "heat": "is_hot", "cool": "is_cool"}.get(self.type)
        fit = [thing for thing in placed if wanted is None or getattr(thing, wanted)]
        return len(fit) >= self.count

    @property
    def words(self) -> str:
        """The task in one of ALFWorld's two wordings."""
        words = _WORDS[self.type][self.phrasing]
        return words.format(thing=self.object, target=self.target)


def kind_of(name: str) -> str:
    """The kind in a name: "mug" of "mug 1"."""
    return name.rpartition(" ")[0]


def _listed(names: Iterable[str]) -> str:
    found = [f"a {name}" for name in names]
    return ", ".join([*found[:-1], f"and {found[-1]}"] if len(found) > 1 else found) or "nothing"


class HouseWorld(World):
    """A house in play; done when the goal is met."""

    def __init__(self, house: House, goal: Goal) -> None:
        self.house = house
        self.goal = goal

    @property
    def actions(self) -> tuple[str, ...]:
        return tuple(self._effects())

    def act(self, action: str) -> Seen:
        effect = self._effects().get(canonical(action))
        if effect is None:
            return Seen(impossible(action), is_valid=False)
        text = effect()
        done = self.goal.is_met(self.house)
        return Seen(text, done=done, reward=float(done))

    def _effects(self) -> dict[str, Callable[[], str]]:
        """What each possible action does."""
        house, at, held = self.house, self.house.at, self.house.held
        found: dict[str, Callable[[], str]] = {
            f"go to {place}": partial(self._go, place) for place in house.places if place != at
        }
        things = [held] if held else []
        if at is not None:
            found[f"examine {at}"] = partial(self._shown, at)
            if kind_of(at) in OPENABLE:
                is_open = house.places[at].is_open
                name = "close" if is_open else "open"
                found[f"{name} {at}"] = partial(self._turn, at, not is_open)
            for thing in house.contents(at) if house.is_visible(at) else ():
                things.append(thing)
                if kind_of(thing) in LAMPS:
                    found[f"use {thing}"] = partial(self._use, thing)
                elif held is None:
                    found[f"take {thing} from {at}"] = partial(self._take, thing, at)
            if held is not None:
                if house.is_visible(at):
                    found[f"put {held} in/on {at}"] = partial(self._put, held, at)
                for name, appliance in APPLIANCES.items():
                    if kind_of(at) == appliance and name in KINDS[kind_of(held)].allows:
                        found[f"{name} {held} with {at}"] = partial(self._treat, name, held, at)
        found |= {f"examine {thing}": partial(self._condition, thing) for thing in things}
        return {**found, "look": self._look, "inventory": self._inventory}

    def _change(self, thing: str, **changes: object) -> None:
        self.house.things[thing] = self.house.things[thing].changed(**changes)

    def _go(self, place: str) -> str:
        self.house.at = place
        return f"You arrive at {place}. {self._shown(place)}"

    def _turn(self, place: str, is_open: bool) -> str:
        self.house.places[place] = Place(is_open=is_open)
        return (
            f"You open the {place}. {self._shown(place)}" if is_open else f"You close the {place}."
        )

    def _take(self, thing: str, place: str) -> str:
        self._change(thing, place=None)
        return f"You pick up the {thing} from the {place}."

    def _put(self, thing: str, place: str) -> str:
        self._change(thing, place=place)
        return f"You put the {thing} in/on the {place}."

    def _treat(self, how: str, thing: str, place: str) -> str:
        heat = {"is_hot": how == "heat", "is_cool": how == "cool"}
        self._change(thing, **({"is_clean": True} if how == "clean" else heat))
        return f"You {how} the {thing} using the {place}."

    def _use(self, lamp: str) -> str:
        is_on = not self.house.things[lamp].is_on
        self._change(lamp, is_on=is_on)
        return f"You turn {'on' if is_on else 'off'} the {lamp}."

    def _shown(self, place: str) -> str:
        house = self.house
        if not house.is_visible(place):
            return f"The {place} is closed."
        seen = _listed(house.contents(place))
        if kind_of(place) in OPENABLE:
            return f"The {place} is open. In it, you see {seen}."
        return f"On the {place}, you see {seen}."

    def _condition(self, name: str) -> str:
        thing = self.house.things[name]
        if kind_of(name) in LAMPS:
            return f"This {name} is {'on' if thing.is_on else 'off'}."
        how = [w for w in ("hot", "cool", "clean") if getattr(thing, f"is_{w}")]
        return (
            f"This is a {' and '.join(how)} {name}."
            if how
            else (f"There's nothing special about {name}.")
        )

    def _look(self) -> str:
        if self.house.at is None:
            places = _listed(self.house.places)
            return f"You are in the middle of a room. Looking quickly around you, you see {places}."
        return f"You are facing the {self.house.at}. Next to it, you see nothing."

    def _inventory(self) -> str:
        held = self.house.held
        return f"You are carrying: a {held}." if held else "You are not carrying anything."


def canonical(action: str) -> str:
    """The action as `HouseWorld.actions` has it: "move X to Y" and "put X on Y" are a put."""
    text = " ".join(action.lower().split()).removesuffix(".")
    verb, _, rest = text.partition(" ")
    for word, between in (("move", " to "), ("put", " in/on "), ("put", " in "), ("put", " on ")):
        if verb == word and between in rest:
            thing, _, place = rest.partition(between)
            return f"put {thing} in/on {place}"
    return text
