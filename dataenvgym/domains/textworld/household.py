"""Household tasks: the problem with its reference policy, and how houses are drawn.

A house is a kitchen, a bedroom, a bathroom or a living room. The split of a task is a hash of its
object and target, so no two splits share both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from dataenvgym.domains.textworld.house import (
    APPLIANCES,
    KINDS,
    LAMPS,
    Goal,
    House,
    HouseWorld,
    Place,
    Thing,
    kind_of,
)
from dataenvgym.domains.textworld.worlds import Problem, Step
from dataenvgym.tasks.pocket import split_by_hash
from dataenvgym.tasks.source import Split
from dataenvgym.tasks.worlds import Table


class HouseProblem(Problem):
    """A household task; the data are `{"house": {...}, "goal": {...}}`."""

    house: House
    goal: Goal

    @property
    def skill(self) -> str:
        return self.goal.type

    @property
    def instruction(self) -> str:
        start = HouseWorld(self.house, self.goal)
        return f"{start.act('look').text}\n\nYour task is to: {self.goal.words}"

    def world(self) -> HouseWorld:
        return HouseWorld(self.house.fork(), self.goal)

    def fault(self) -> str | None:
        goal, house = self.goal, self.house
        takable = house.of_kind(goal.object, house.things) if goal.object not in LAMPS else []
        if len(takable) < goal.count:
            return f"it needs {goal.count} {goal.object} that can be taken, and has {len(takable)}"
        if goal.is_met(house):
            return "its goal is met at the start"
        where = house.things if goal.type == "look" else house.places
        if not house.of_kind(goal.target, where) or (goal.type == "look") != (goal.target in LAMPS):
            return f"there is no {goal.target}"
        appliance = APPLIANCES.get(goal.type)
        if appliance is None:
            return None
        if goal.type not in KINDS[goal.object].allows:
            return f"a {goal.object} cannot be {goal.type}ed"
        if not house.of_kind(appliance, house.places):
            return f"there is no {appliance} to {goal.type} it with"
        return None

    def solution(self) -> Iterator[Step]:
        """Search the receptacles, the likely ones first, and do what the goal asks."""
        world, goal = self.world(), self.goal
        house = world.house
        visited: set[str] = set()
        taken: set[str] = set()

        def do(thought: str, action: str) -> Iterator[Step]:
            yield Step(thought, action)
            world.act(action)

        def visit(place: str, why: str) -> Iterator[Step]:
            if house.at != place:
                yield from do(why, f"go to {place}")
            if not house.is_visible(place):
                yield from do(f"The {place} is closed.", f"open {place}")
            visited.add(place)

        def find(kind: str) -> Iterator[Step]:
            """Visit receptacles until one that has been visited has such an object."""
            likely = KINDS[kind].places
            ranks = {place: i for i, place in enumerate(likely)}
            order = sorted(house.places, key=lambda p: ranks.get(kind_of(p), len(likely)))
            for place in order:
                if known(kind):
                    return
                if place not in visited:
                    yield from visit(place, f"I look for a {kind}.")

        def known(kind: str) -> list[str]:
            return [
                name
                for name in house.of_kind(kind, house.things)
                if name not in taken and house.things[name].place in visited
            ]

        if house.held and kind_of(house.held) != goal.object:
            place = next(iter(house.places))
            yield from visit(place, "I need a free hand.")
            yield from do("I need a free hand.", f"put {house.held} in/on {place}")
        for _ in range(goal.count):
            if house.held is None:
                yield from find(goal.object)
                thing = known(goal.object)[0]
                place = house.things[thing].place or ""
                yield from visit(place, f"The {thing} is there.")
                yield from do(f"I found a {goal.object}.", f"take {thing} from {place}")
            thing = house.held or ""
            taken.add(thing)
            if goal.type == "look":
                yield from find(goal.target)
                lamp = known(goal.target)[0]
                yield from visit(house.things[lamp].place or "", f"The {lamp} is there.")
                if not goal.is_met(house):
                    yield from do(f"I need light for the {thing}.", f"use {lamp}")
                return
            if goal.type in APPLIANCES:
                (place, *_) = house.of_kind(APPLIANCES[goal.type], house.places)
                if house.at != place:
                    yield from do(f"I {goal.type} the {thing} there.", f"go to {place}")
                yield from do(f"I {goal.type} the {thing}.", f"{goal.type} {thing} with {place}")
            (place, *_) = house.of_kind(goal.target, house.places)
            yield from visit(place, f"The {thing} belongs there.")
            yield from do(f"I put the {thing} there.", f"put {thing} in/on {place}")


@dataclass(frozen=True)
class Room:
    """A kind of room: the least and the most receptacles of each kind, and its objects."""

    places: Mapping[str, tuple[int, int]]
    things: tuple[str, ...]


ROOMS: Mapping[str, Room] = {
    "kitchen": Room(
        {"cabinet": (2, 3), "countertop": (1, 2), "drawer": (1, 2), "stoveburner": (1, 1),
         "fridge": (1, 1), "microwave": (1, 1), "sinkbasin": (1, 1), "diningtable": (1, 1)},
        ("apple", "bowl", "bread", "cup", "egg", "fork", "knife", "lettuce", "mug", "pan", "plate",
         "pot", "potato", "saltshaker", "soapbottle", "spoon", "tomato"),
    ),
    "bedroom": Room(
        {"bed": (1, 1), "desk": (1, 1), "drawer": (1, 4), "dresser": (1, 1), "shelf": (1, 3),
         "sidetable": (1, 2), "safe": (1, 1), "garbagecan": (1, 1)},
        ("alarmclock", "book", "cd", "cellphone", "creditcard", "desklamp", "floorlamp",
         "keychain", "laptop", "pen", "pencil", "pillow", "statue"),
    ),
    "bathroom": Room(
        {"bathtubbasin": (1, 1), "cabinet": (2, 4), "countertop": (1, 1), "garbagecan": (1, 1),
         "sinkbasin": (1, 1), "toilet": (1, 1), "shelf": (1, 1)},
        ("candle", "cloth", "soapbar", "soapbottle", "spraybottle", "toiletpaper"),
    ),
    "living room": Room(
        {"armchair": (1, 2), "coffeetable": (1, 1), "drawer": (1, 3), "dresser": (1, 1),
         "safe": (1, 1), "shelf": (1, 1), "sidetable": (1, 2), "sofa": (1, 1)},
        ("book", "creditcard", "desklamp", "floorlamp", "keychain", "laptop", "newspaper",
         "pillow", "remotecontrol", "statue", "vase", "watch"),
    ),
}  # fmt: skip


@cache
def _choices(type: str, split: Split) -> tuple[tuple[str, str, str], ...]:
    """The rooms, objects and targets of such tasks in a split."""
    found = []
    for name, room in ROOMS.items():
        targets = LAMPS.intersection(room.things) if type == "look" else room.places
        for thing in room.things:
            if thing in LAMPS or (type in APPLIANCES and type not in KINDS[thing].allows):
                continue
            if type in APPLIANCES and APPLIANCES[type] not in room.places:
                continue
            found += [
                (name, thing, target)
                for target in sorted(targets)
                if target != APPLIANCES.get(type) and split_by_hash(f"{thing} {target}") == split
            ]
    return tuple(found)


def draw(
    skill: str, split: Split, rng: np.random.Generator
) -> tuple[str, Callable[[], Mapping[str, Any]]]:
    """A random task for a `ProceduralSource`."""
    choices = _choices(skill, split)
    room, thing, target = choices[int(rng.integers(len(choices)))]
    phrasing = int(rng.integers(2))
    goal = Goal.model_validate(
        {"type": skill, "object": thing, "target": target, "phrasing": phrasing}
    )
    problem = HouseProblem(house=_house(ROOMS[room], goal, rng), goal=goal)
    return problem.instruction, lambda: {
        "category": room,
        "data": problem.model_dump(mode="json", exclude_defaults=True),
    }


def _house(room: Room, goal: Goal, rng: np.random.Generator) -> House:
    """A room of that kind in which the goal can be met, and is not yet."""
    places = {
        f"{kind} {i + 1}": Place()
        for kind, (least, most) in room.places.items()
        for i in range(int(rng.integers(least, most + 1)))
    }
    counts = {goal.object: goal.count + int(rng.integers(2))}
    others = [kind for kind in room.things if kind != goal.object]
    for kind in rng.permutation(others)[: int(rng.integers(5, 9))].tolist():
        counts[kind] = 1 if kind in LAMPS else int(rng.integers(1, 3))
    counts |= {goal.target: 1} if goal.type == "look" else {}
    things: dict[str, Thing] = {}
    for kind, count in counts.items():
        for i in range(count):
            free = [p for p in places if kind != goal.object or kind_of(p) != goal.target]
            usual = [p for p in free if kind_of(p) in KINDS[kind].places] or free
            things[f"{kind} {i + 1}"] = Thing(place=usual[int(rng.integers(len(usual)))])
    return House(places=Table(places), things=Table(things))
