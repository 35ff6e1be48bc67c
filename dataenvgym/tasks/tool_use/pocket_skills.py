"""The skills of pocket tools: requests in the village, and the calls that fulfill them.

A phrasing names its operands: `{a}`, `{b}`, `{c}` are goods, `{x}` and `{y}` places, `{k}`, `{m}`
and `{n}` digits. A solution is a generator: it yields calls, receives their results, and returns
the final answer, or None if nothing has to be said.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dataenvgym.records import ToolCall
from dataenvgym.tasks.operand_family import Operands, OperandSkill
from dataenvgym.tasks.tool_use.village import GOODS, PLACES

POOLS = {"a": GOODS, "b": GOODS, "c": GOODS, "x": PLACES, "y": PLACES}
Solving = Generator[ToolCall, str, str | None]


@dataclass(frozen=True)
class PocketToolsSkill(OperandSkill):
    """What is asked for in the village, and the calls that do it."""

    solve: Callable[..., Solving]

    def draw(self, rng: np.random.Generator) -> Operands:
        goods = iter(rng.choice(len(GOODS), 3, replace=False).tolist())
        places = iter(rng.choice(len(PLACES), 2, replace=False).tolist())
        return {
            name: GOODS[next(goods)]
            if name in "abc"
            else PLACES[next(places)]
            if name in "xy"
            else int(rng.integers(1, 10))
            for name in self.operands
        }


def _call(tool: str, **arguments: Any) -> ToolCall:
    return ToolCall(name=tool, arguments=arguments)


# --- errands: one call --------------------------------------------------------------------------


def _carried(a: str, x: str) -> Solving:
    yield _call("carry", item=a, place=x)
    return None


def _added(a: str, n: int) -> Solving:
    yield _call("add", item=a, amount=n)
    return None


def _dropped(a: str, n: int) -> Solving:
    yield _call("drop", item=a, amount=n)
    return None


def _packed(a: str, b: str, c: str) -> Solving:
    yield _call("pack", items=[a, b, c])
    return None


def _rung(k: int, m: int, n: int) -> Solving:
    yield _call("ring", hours=[k, m, n])
    return None


# --- questions: what a call returns is the answer, or is compared ---------------------------------


def _counted(a: str, x: str) -> Solving:
    return (yield _call("count", item=a, place=x))


def _priced(a: str, x: str) -> Solving:
    return (yield _call("price", item=a, place=x))


def _located(a: str, b: str) -> Solving:
    first = yield _call("find", item=a)
    second = yield _call("find", item=b)
    return f"{first} {second}"


def _totaled(a: str, x: str, y: str) -> Solving:
    first = yield _call("count", item=a, place=x)
    second = yield _call("count", item=a, place=y)
    return str(int(first) + int(second))


def _most(a: str, x: str, y: str) -> Solving:
    first = yield _call("count", item=a, place=x)
    second = yield _call("count", item=a, place=y)
    return str(max(int(first), int(second)))


def _cheapest(a: str, x: str, y: str) -> Solving:
    first = yield _call("price", item=a, place=x)
    second = yield _call("price", item=a, place=y)
    return str(min(int(first), int(second)))


# --- chains: what a call returns is an argument of the next one -----------------------------------


def _joined(a: str, b: str) -> Solving:
    place = yield _call("find", item=b)
    yield _call("carry", item=a, place=place)
    return None


def _paid(a: str, x: str) -> Solving:
    price = yield _call("price", item=a, place=x)
    yield _call("pay", amount=int(price))
    return None


def _matched(a: str, x: str) -> Solving:
    amount = yield _call("count", item=a, place=x)
    yield _call("add", item=a, amount=int(amount))
    return None


def _released(a: str, n: int) -> Solving:
    place = yield _call("find", item=a)
    yield _call("gate", place=place, open=True)
    yield _call("drop", item=a, amount=n)
    return None


# --- plans: several calls -------------------------------------------------------------------------


def _topped(a: str, b: str) -> Solving:
    yield _call("add", item=a)
    yield _call("add", item=b)
    return None


def _shared(a: str, b: str, x: str) -> Solving:
    yield _call("carry", item=a, place=x)
    yield _call("carry", item=b, place=x)
    return None


def _gated(x: str, y: str) -> Solving:
    yield _call("gate", place=x, open=True)
    yield _call("gate", place=y, open=False)
    return None


def _stowed(a: str, x: str) -> Solving:
    yield _call("carry", item=a, place=x)
    yield _call("gate", place=x, open=False)
    return None


def _bought(a: str, x: str) -> Solving:
    price = yield _call("price", item=a, place=x)
    yield _call("pay", amount=int(price))
    yield _call("add", item=a)
    return None


_SKILLS = (
    PocketToolsSkill(
        "carried", "errands", "carry",
        ("Carry the {a} to the {x}.", "Please carry the {a} to the {x}.",
         "To the {x} carry the {a}."),
        _carried,
    ),
    PocketToolsSkill(
        "added", "errands", "add",
        ("Add {n} of the {a}.", "Please add {n} of the {a}.", "Of the {a} add {n}."),
        _added,
    ),
    PocketToolsSkill(
        "dropped", "errands", "drop",
        ("Get rid of {n} of the {a}.", "Throw out {n} of the {a}.",
         "Lose {n} of the {a}."),
        _dropped,
    ),
    PocketToolsSkill(
        "packed", "errands", "pack",
        ("Pack the {a} then the {b} then the {c}.", "Pack these: {a} and {b} and {c}.",
         "Into the box pack {a} and {b} and {c}."),
        _packed,
    ),
    PocketToolsSkill(
        "rung", "errands", "ring",
        ("Wake us at {k} and {m} and {n}.", "Sound the alarm at {k} and {m} and {n}.",
         "We get up at {k} and {m} and {n}."),
        _rung,
    ),
    PocketToolsSkill(
        "counted", "questions", "count",
        ("How much {a} has the {x}?", "Say how much {a} the {x} has.",
         "Tell me how much {a} there is at the {x}."),
        _counted,
    ),
    PocketToolsSkill(
        "priced", "questions", "price",
        ("What is {a} worth at the {x}?", "Tell me the value of {a} at the {x}.",
         "What would {a} set me back at the {x}?"),
        _priced,
    ),
    PocketToolsSkill(
        "located", "questions", "find",
        ("Track down the {a} and the {b}.", "Look for {a} and {b}.",
         "In which spots are {a} and {b}?"),
        _located,
    ),
    PocketToolsSkill(
        "totaled", "comparisons", "total",
        ("How much {a} have the {x} and the {y} together?",
         "Say how much {a} the {x} and the {y} have together.",
         "Together how much {a} have the {x} and the {y}?"),
        _totaled,
    ),
    PocketToolsSkill(
        "most", "comparisons", "most",
        ("What is the most {a} that the {x} or the {y} has?",
         "Say the most {a} that the {x} or the {y} has.",
         "Of the {x} and the {y} what is the most {a} one has?"),
        _most,
    ),
    PocketToolsSkill(
        "cheapest", "comparisons", "least",
        ("Name the best deal on {a}, the {x} or the {y}.",
         "What is the least that the {x} or the {y} asks for {a}?",
         "Which bargain on {a} do the {x} and the {y} offer?"),
        _cheapest,
    ),
    PocketToolsSkill(
        "joined", "chains", "join",
        ("Carry the {a} to where the {b} is.", "Find the {b} and carry the {a} there.",
         "Please carry the {a} to where the {b} is."),
        _joined,
    ),
    PocketToolsSkill(
        "paid", "chains", "pay",
        ("Pay for {a} at the {x}.", "Please pay for {a} at the {x}.", "At the {x} pay for {a}."),
        _paid,
    ),
    PocketToolsSkill(
        "matched", "chains", "match",
        ("Take all {a} off the {x}.", "Whatever {a} the {x} has is ours.",
         "Clear the {x} of {a}."),
        _matched,
    ),
    PocketToolsSkill(
        "released", "chains", "free",
        ("Release {n} of the {a}.", "Set free {n} of the {a}.",
         "Hand out {n} of the {a}."),
        _released,
    ),
    PocketToolsSkill(
        "topped", "plans", "top",
        ("Add some {a} and some {b}.", "Please add some {a} and some {b}.",
         "I need you to add some {a} and some {b}."),
        _topped,
    ),
    PocketToolsSkill(
        "shared", "plans", "both",
        ("Carry both {a} and {b} to the {x}.", "Please carry both {a} and {b} to the {x}.",
         "To the {x} carry both {a} and {b}."),
        _shared,
    ),
    PocketToolsSkill(
        "gated", "plans", "gates",
        ("Let people into the {x} but not the {y}.", "Visitors may see the {x} and never the {y}.",
         "The {x} receives guests while the {y} rests."),
        _gated,
    ),
    PocketToolsSkill(
        "stowed", "plans", "stow",
        ("Hide the {a} safely in the {x}.", "The {a} must vanish into the {x}.",
         "Secure the {a} inside the {x}."),
        _stowed,
    ),
    PocketToolsSkill(
        "bought", "plans", "buy",
        ("Get me {a} from the {x}.", "I want {a} that the {x} sells.",
         "Spend money on {a} at the {x}."),
        _bought,
    ),
)  # fmt: skip

SKILLS: dict[str, PocketToolsSkill] = {skill.name: skill for skill in _SKILLS}
CATEGORIES: tuple[str, ...] = tuple(dict.fromkeys(skill.category for skill in _SKILLS))
