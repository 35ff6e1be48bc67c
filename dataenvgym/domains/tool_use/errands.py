"""Errands: one or two calls in a village, a shop or a calendar, for small language models.

Requests are plain, and name the ids that the calls need. A student has only the tools that an
errand needs and a few others, so that prompts are short. Solved errands of the same skill may come
first, because a small language model cannot derive the form of a call from the tools alone. The
state of the world decides; no words are required.

Training, validation and test never share operands.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from pydantic import NonNegativeInt, PositiveInt

from dataenvgym.domains.tool_use.pocket import (
    DONE,
    PocketTools,
    PocketToolsDomain,
    PocketToolsOptions,
    PocketToolsProblem,
)
from dataenvgym.domains.tool_use.pocket_skills import PocketToolsSkill, call, in_order
from dataenvgym.domains.tool_use.village import GOODS, PLACES, Village, VillageState
from dataenvgym.domains.tool_use.worlds.calendar import Calendar, CalendarState
from dataenvgym.domains.tool_use.worlds.shop import Shop, ShopState
from dataenvgym.interfaces import SamplingParameters
from dataenvgym.options import takes
from dataenvgym.records import Conversation, Message, TaskInstance, Tool
from dataenvgym.records.tool_formats import as_reply
from dataenvgym.seeding import derive_rng
from dataenvgym.tasks.base import Task
from dataenvgym.tasks.operand_family import Operands
from dataenvgym.tasks.pocket import Exercise
from dataenvgym.tasks.prompt_template import PLAIN, PromptTemplate
from dataenvgym.tasks.worlds.world import Seat, World

ORDERS = tuple(f"order_{number}" for number in range(1, 41))
EVENTS = tuple(f"event_{number}" for number in range(1, 41))
POOLS = {
    "a": GOODS,
    "b": GOODS,
    "x": PLACES,
    "y": PLACES,
    "o": ORDERS,
    "c": ("Oslo", "Bergen", "Lyon", "Porto", "Turin", "Ghent", "Brno", "Graz", "Lima", "Kyoto"),
    "u": ("Ann", "Bob", "Cleo", "Dan", "Eva", "Finn", "Gus", "Hana", "Ivo", "Jana"),
    "p": ("mug", "bowl", "pan", "lamp", "coffee", "chocolate", "shampoo", "cream", "stool"),
    "e": EVENTS,
    "r": ("Oak", "Elm", "Fir"),
    "m": ("10", "15", "20", "30", "45", "60", "90"),
}


class TownState(VillageState, ShopState, CalendarState):
    """A village, a shop and a calendar."""


class Town(Village, Shop, Calendar):
    """The tools of all three worlds, without the rules of the shop and the calendar.

    Arguments have no descriptions, so that prompts are short.
    """

    name = "town"
    policy = ""

    def initial(self) -> TownState:
        parts = (world.initial() for world in (Village(), Shop(), Calendar()))
        return TownState(**{name: value for part in parts for name, value in part})

    def tools(self, by: Seat = "assistant") -> tuple[Tool, ...]:
        plain = []
        for tool in super().tools(by):
            known: Any = tool.parameters["properties"]
            bare = {n: {k: v for k, v in a.items() if k != "description"} for n, a in known.items()}
            parameters = {**tool.parameters, "properties": bare}
            plain.append(tool.model_copy(update={"parameters": parameters}))
        return tuple(plain)


TOWN: World[Any] = Town()


class ErrandSkill(PocketToolsSkill):
    """A request and its calls."""

    def draw(self, rng: np.random.Generator) -> Operands:
        drawn: dict[str, str | int] = {}
        for name in self.operands:
            pool = POOLS.get(name, tuple("123456789"))
            left = [value for value in pool if value not in map(str, drawn.values())]
            value = left[int(rng.integers(len(left)))]
            drawn[name] = int(value) if value.isdecimal() else value
        return drawn


_SKILLS = (
    ErrandSkill("carry", "village", "carry", (
        "Carry the {a} to the {x}.", "Please bring the {a} to the {x}.",
        "The {a} should be at the {x}. Take it there.",
    ), in_order(lambda a, x: [call("carry", item=a, place=x)])),
    ErrandSkill("add", "village", "add", (
        "Put {n} more of the {a} into the basket.", "Add {n} of the {a} to the basket.",
        "I need {n} more of the {a} in the basket.",
    ), in_order(lambda a, n: [call("add", item=a, amount=n)])),
    ErrandSkill("drop", "village", "drop", (
        "Take {n} of the {a} out of the basket.", "Remove {n} of the {a} from the basket.",
        "There is too much {a} in the basket. Take out {n}.",
    ), in_order(lambda a, n: [call("drop", item=a, amount=n)])),
    ErrandSkill("pack", "village", "pack", (
        "Pack the {a} and the {b}.", "Put the {a} and then the {b} into the box.",
        "Please pack these two goods: {a} and {b}.",
    ), in_order(lambda a, b: [call("pack", items=[a, b])])),
    ErrandSkill("quantity", "shop", "quantity", (
        "Change {o} to {n} pieces.", "Please make it {n} pieces in {o}.",
        "The quantity of {o} should be {n}.",
    ), in_order(lambda n, o: [call("change_quantity", order_id=o, quantity=n)])),
    ErrandSkill("city", "shop", "send", (
        "Send {o} to {c}.", "Please have {o} delivered to {c}.",
        "The customer of {o} moved. It should go to {c} now.",
    ), in_order(lambda c, o: [call("change_city", order_id=o, city=c)])),
    ErrandSkill("buy", "shop", "order", (
        "Order {n} of the product {p} for {u}.", "{u} wants to buy {n} of the product {p}.",
        "Place an order for {u}: product {p}, quantity {n}.",
    ), in_order(lambda n, p, u: [call("place_order", customer=u, product=p, quantity=n)])),
    ErrandSkill("room", "calendar", "room", (
        "Book the room {r} for {e}.", "Please reserve {r} for {e}.",
        "We want to have {e} in the room {r}.",
    ), in_order(lambda e, r: [call("book_room", event_id=e, room=r)])),
    ErrandSkill("length", "calendar", "minutes", (
        "Make {e} {m} minutes long.", "Change the length of {e} to {m} minutes.",
        "From now on {e} takes {m} minutes.",
    ), in_order(lambda e, m: [call("set_length", event_id=e, minutes=m)])),
    ErrandSkill("reminder", "calendar", "remind", (
        "Remind me {m} minutes before {e}.", "Set a reminder for {e}, {m} minutes before.",
        "I want to be reminded of {e} {m} minutes before it begins.",
    ), in_order(lambda e, m: [call("set_reminder", event_id=e, minutes_before=m)])),
    ErrandSkill("gates", "two calls", "gates", (
        "Open the gate of the {x} and close the gate of the {y}.",
        "The gate of the {x} should be open, and the gate of the {y} closed.",
        "Please open the gate of the {x}. Then close the gate of the {y}.",
    ), in_order(
        lambda x, y: [call("gate", place=x, open=True), call("gate", place=y, open=False)]
    )),
    ErrandSkill("stow", "two calls", "stow", (
        "Carry the {a} to the {x} and put {n} more of the {b} into the basket.",
        "Please bring the {a} to the {x}, then add {n} of the {b} to the basket.",
        "The {a} should be at the {x}, and I need {n} more of the {b} in the basket.",
    ), in_order(
        lambda a, b, n, x: [call("carry", item=a, place=x), call("add", item=b, amount=n)]
    )),
    ErrandSkill("resend", "two calls", "resend", (
        "Change {o} to {n} pieces and send it to {c}.",
        "Please make it {n} pieces in {o}, and have it delivered to {c}.",
        "The quantity of {o} should be {n}, and it should go to {c}.",
    ), in_order(
        lambda c, n, o: [
            call("change_quantity", order_id=o, quantity=n),
            call("change_city", order_id=o, city=c),
        ]
    )),
    ErrandSkill("arrange", "two calls", "arrange", (
        "Book the room {r} for {e} and remind me {m} minutes before.",
        "Please reserve {r} for {e}, and set a reminder {m} minutes before.",
        "We want to have {e} in the room {r}, with a reminder {m} minutes before it.",
    ), in_order(
        lambda e, m, r: [
            call("book_room", event_id=e, room=r),
            call("set_reminder", event_id=e, minutes_before=m),
        ]
    )),
)  # fmt: skip

SKILLS: dict[str, ErrandSkill] = {skill.name: skill for skill in _SKILLS}
_TOOLS = {
    "village": ("carry", "add", "drop", "pack", "gate"),
    "shop": ("place_order", "change_quantity", "change_city"),
    "calendar": ("set_length", "book_room", "set_reminder"),
}
"""The tools of errands; those that an errand does not need come from its own world."""


@dataclass(frozen=True)
class ErrandProblem(PocketToolsProblem):
    """An errand with its tools, and the state of the town before it.

    Attributes:
        n_others: how many tools the student has that it does not need.
    """

    n_others: int = 1
    world: ClassVar[World[Any]] = TOWN

    @property
    def data(self) -> dict[str, Any]:
        return {**super().data, "tools": [tool.name for tool in self.tools]}

    @cached_property
    def tools(self) -> tuple[Tool, ...]:
        """Those that the errand needs and others, in the order of the town."""
        steps, _ = self._solution
        needed = {call.name for message in steps for call in message.tool_calls}
        near = next(names for names in _TOOLS.values() if needed <= set(names))
        others = [name for name in near if name not in needed]
        rng = derive_rng(0, "errands", self.skill.name, *map(str, self.operands.values()))
        names = needed | set(rng.permutation(others)[: self.n_others].tolist())
        return tuple(tool for tool in TOWN.tools() if tool.name in names)

    @property
    def steps(self) -> Conversation:
        """All calls in one message, and their results: no call depends on a result."""
        (said, *others), results = super().steps[::2], super().steps[1::2]
        calls = (call for message in (said, *others) for call in message.tool_calls)
        return (said.model_copy(update={"tool_calls": tuple(calls)}), *results)

    @cached_property
    def changes(self) -> dict[str, Any]:
        """A state that the calls change: no good, gate, order or event is as the errand wants."""
        known, changes = self.operands, dict[str, Any]()
        if "x" in known and "a" in known:
            place = PLACES[PLACES.index(str(known["x"])) - 1]
            changes["goods"] = {known["a"]: {"place": place}}
        if "y" in known:
            changes["gates"] = {known["x"]: {"open": False}, known["y"]: {"open": True}}
        if "o" in known:
            quantity = int(known.get("n", 1)) % 9 + 1
            changes["orders"] = {
                known["o"]: {
                    "customer": "Ann",
                    "product": "mug",
                    "quantity": quantity,
                    "price": 8.0,
                    "city": "Rome",
                }
            }
        if "e" in known:
            changes["events"] = {
                known["e"]: {"title": "Meeting", "start": "2026-02-02T10:00:00", "minutes": 25}
            }
        return changes


class Errands(PocketTools):
    """The family; see `OperandFamily`.

    Args:
        n_others: see `ErrandProblem`.
        n_examples: see `ErrandsOptions`.
    """

    name = "errands"
    skills: Mapping[str, ErrandSkill] = SKILLS
    pools = POOLS
    split_key = "errands"
    tools = TOWN.tools()

    def __init__(self, n_others: int = 1, n_examples: int = 0) -> None:
        self._n_others, self._n_examples = n_others, n_examples

    def problem(self, skill: str, operands: Operands) -> ErrandProblem:
        return ErrandProblem(SKILLS[skill], operands, self._n_others)

    def examples(self, problem: ErrandProblem) -> Conversation:
        """Other errands of the same skill with their calls, as earlier turns.

        They are of the training split, whatever the split of the problem. The results of their
        calls are left out, because a small model would imitate them.
        """
        skill, messages = problem.skill.name, list[Message]()
        rng = derive_rng(1, "errands", skill, *map(str, problem.operands.values()))
        while len(messages) < 2 * self._n_examples:
            other = self.pose(skill, "train", rng)
            request = Message(role="user", content=other.worded(self._any_phrasing(skill, rng)))
            if other.operands != problem.operands:
                messages += (request, other.steps[0])
        return tuple(messages)

    def fields(
        self, problem: PocketToolsProblem, question: str, rng: np.random.Generator
    ) -> Mapping[str, Any]:
        assert isinstance(problem, ErrandProblem)
        earlier = [m.model_dump(mode="json") for m in self.examples(problem)]
        known = super().fields(problem, question, rng)
        return {**known, "data": {**problem.data, "earlier": earlier}} if earlier else known

    def conversation(self, exercise: Exercise, template: PromptTemplate = PLAIN) -> Conversation:
        found = self.find(exercise.question)
        assert found is not None, exercise
        problem = found[0]
        assert isinstance(problem, ErrandProblem)
        *before, request = template.conversation(exercise.question)
        first, *others = (*before, *self.examples(problem), request)
        last = Message(role="assistant", content=exercise.output)
        return (first.model_copy(update={"tools": problem.tools}), *others, *exercise.steps, last)


@dataclass(frozen=True, kw_only=True)
class ErrandsOptions(PocketToolsOptions):
    """Options of `ErrandsTask`.

    Attributes:
        n_others: how many tools the student has in each errand that it does not need, from
            the same world; if that has fewer, all of them.
        n_examples: how many other errands of the same skill, with their calls, come before each
            errand as earlier turns.
        sampling: how the student answers; two calls take about 80 tokens.
    """

    n_others: NonNegativeInt = 1
    n_examples: NonNegativeInt = 0
    max_turns: PositiveInt = 4
    sampling: SamplingParameters = SamplingParameters(max_tokens=96)


class ErrandsTask(Task):
    """Errands, with equal shares of the skills."""

    name = "errands"

    @takes(ErrandsOptions)
    def __init__(self, options: ErrandsOptions) -> None:
        family = Errands(options.n_others, options.n_examples)
        source = family.source(options.sizes, seed=options.seed)
        self.set_up(source, ErrandsDomain(TOWN, options, family), options)


class ErrandsDomain(PocketToolsDomain):
    """Errands of a family."""

    def gold_replies(self, instance: TaskInstance) -> Iterator[str]:
        """All gold calls in one message, then the last words."""
        calls = self.prepared(instance).problem.gold
        yield as_reply(Message(role="assistant", content="", tool_calls=calls))
        yield DONE
