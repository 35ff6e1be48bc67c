"""The skills of pocket tools: requests in the village, and the calls that fulfill them.

A phrasing names its operands: `{a}`, `{b}`, `{c}` are goods, `{x}` and `{y}` places, `{k}`, `{m}`
and `{n}` digits. A solution is a generator: it yields calls, receives their results, and returns
the final answer, or None if no answer is required.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dataenvgym.domains.tool_use.village import GOODS, PLACES
from dataenvgym.records import ToolCall
from dataenvgym.tasks.operand_family import Operands, OperandSkill

POOLS = {"a": GOODS, "b": GOODS, "c": GOODS, "x": PLACES, "y": PLACES}
Solving = Generator[ToolCall, str, str | None]


@dataclass(frozen=True)
class PocketToolsSkill(OperandSkill):
    """A request in the village, and the calls that fulfill it."""

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


def call(tool: str, **arguments: Any) -> ToolCall:
    """A gold call."""
    return ToolCall(name=tool, arguments=arguments)


def in_order(calls: Callable[..., Sequence[ToolCall]]) -> Callable[..., Solving]:
    """Make calls that do not depend on results; no answer is required."""

    def solve(**operands: Any) -> Solving:
        for each in calls(**operands):  # noqa: UP028  a list cannot receive the results
            yield each
        return None

    return solve


# --- questions: the result of a call is the answer, or is compared --------------------------------


def _asked(tool: str) -> Callable[..., Solving]:
    def solve(a: str, x: str) -> Solving:
        return (yield call(tool, item=a, place=x))

    return solve


def _located(a: str, b: str) -> Solving:
    first = yield call("find", item=a)
    second = yield call("find", item=b)
    return f"{first} {second}"


def _compared(tool: str, combine: Callable[[Iterable[int]], int]) -> Callable[..., Solving]:
    def solve(a: str, x: str, y: str) -> Solving:
        first = yield call(tool, item=a, place=x)
        second = yield call(tool, item=a, place=y)
        return str(combine((int(first), int(second))))

    return solve


# --- chains: the result of a call is an argument of the next one ----------------------------------


def _joined(a: str, b: str) -> Solving:
    place = yield call("find", item=b)
    yield call("carry", item=a, place=place)
    return None


def _paid(a: str, x: str) -> Solving:
    price = yield call("price", item=a, place=x)
    yield call("pay", amount=int(price))
    return None


def _matched(a: str, x: str) -> Solving:
    amount = yield call("count", item=a, place=x)
    yield call("add", item=a, amount=int(amount))
    return None


def _released(a: str, n: int) -> Solving:
    place = yield call("find", item=a)
    yield call("gate", place=place, open=True)
    yield call("drop", item=a, amount=n)
    return None


def _bought(a: str, x: str) -> Solving:
    yield from _paid(a, x)
    yield call("add", item=a)
    return None


_SKILLS = (
    PocketToolsSkill("carried", "errands", "carry", (
        "Carry the {a} to the {x}.", "Please carry the {a} to the {x}.",
        "To the {x} carry the {a}.",
    ), in_order(lambda a, x: [call("carry", item=a, place=x)])),
    PocketToolsSkill("added", "errands", "add", (
        "Add {n} of the {a}.", "Please add {n} of the {a}.", "Of the {a} add {n}.",
    ), in_order(lambda a, n: [call("add", item=a, amount=n)])),
    PocketToolsSkill("dropped", "errands", "drop", (
        "Get rid of {n} of the {a}.", "Throw out {n} of the {a}.",
        "Lose {n} of the {a}.",
    ), in_order(lambda a, n: [call("drop", item=a, amount=n)])),
    PocketToolsSkill("packed", "errands", "pack", (
        "Pack the {a} then the {b} then the {c}.", "Pack these: {a} and {b} and {c}.",
        "Into the box pack {a} and {b} and {c}.",
    ), in_order(lambda a, b, c: [call("pack", items=[a, b, c])])),
    PocketToolsSkill("rung", "errands", "ring", (
        "Wake us at {k} and {m} and {n}.", "Sound the alarm at {k} and {m} and {n}.",
        "We get up at {k} and {m} and {n}.",
    ), in_order(lambda k, m, n: [call("ring", hours=[k, m, n])])),
    PocketToolsSkill("counted", "questions", "count", (
        "How much {a} has the {x}?", "Say how much {a} the {x} has.",
        "Tell me how much {a} there is at the {x}.",
    ), _asked("count")),
    PocketToolsSkill("priced", "questions", "price", (
        "What is {a} worth at the {x}?", "Tell me the value of {a} at the {x}.",
        "What would {a} set me back at the {x}?",
    ), _asked("price")),
    PocketToolsSkill("located", "questions", "find", (
        "Track down the {a} and the {b}.", "Look for {a} and {b}.",
        "In which spots are {a} and {b}?",
    ), _located),
    PocketToolsSkill("totaled", "comparisons", "total", (
        "How much {a} have the {x} and the {y} together?",
        "Say how much {a} the {x} and the {y} have together.",
        "Together how much {a} have the {x} and the {y}?",
    ), _compared("count", sum)),
    PocketToolsSkill("most", "comparisons", "most", (
        "What is the most {a} that the {x} or the {y} has?",
        "Say the most {a} that the {x} or the {y} has.",
        "Of the {x} and the {y} what is the most {a} one has?",
    ), _compared("count", max)),
    PocketToolsSkill("cheapest", "comparisons", "least", (
        "Name the best deal on {a}, the {x} or the {y}.",
        "What is the least that the {x} or the {y} asks for {a}?",
        "Which bargain on {a} do the {x} and the {y} offer?",
    ), _compared("price", min)),
    PocketToolsSkill("joined", "chains", "join", (
        "Carry the {a} to where the {b} is.", "Find the {b} and carry the {a} there.",
        "Please carry the {a} to where the {b} is.",
    ), _joined),
    PocketToolsSkill("paid", "chains", "pay", (
        "Pay for {a} at the {x}.", "Please pay for {a} at the {x}.", "At the {x} pay for {a}.",
    ), _paid),
    PocketToolsSkill("matched", "chains", "match", (
        "Take all {a} off the {x}.", "Whatever {a} the {x} has is ours.",
        "Clear the {x} of {a}.",
    ), _matched),
    PocketToolsSkill("released", "chains", "free", (
        "Release {n} of the {a}.", "Set free {n} of the {a}.",
        "Hand out {n} of the {a}.",
    ), _released),
    PocketToolsSkill("topped", "plans", "top", (
        "Add some {a} and some {b}.", "Please add some {a} and some {b}.",
        "I need you to add some {a} and some {b}.",
    ), in_order(lambda a, b: [call("add", item=a), call("add", item=b)])),
    PocketToolsSkill("shared", "plans", "both", (
        "Carry both {a} and {b} to the {x}.", "Please carry both {a} and {b} to the {x}.",
        "To the {x} carry both {a} and {b}.",
    ), in_order(lambda a, b, x: [call("carry", item=i, place=x) for i in (a, b)])),
    PocketToolsSkill("gated", "plans", "gates", (
        "Let people into the {x} but not the {y}.", "Visitors may see the {x} and never the {y}.",
        "The {x} receives guests while the {y} rests.",
    ), in_order(
        lambda x, y: [call("gate", place=x, open=True), call("gate", place=y, open=False)]
    )),
    PocketToolsSkill("stowed", "plans", "stow", (
        "Hide the {a} safely in the {x}.", "The {a} must vanish into the {x}.",
        "Secure the {a} inside the {x}.",
    ), in_order(
        lambda a, x: [call("carry", item=a, place=x), call("gate", place=x, open=False)]
    )),
    PocketToolsSkill("bought", "plans", "buy", (
        "Get me {a} from the {x}.", "I want {a} that the {x} sells.",
        "Spend money on {a} at the {x}.",
    ), _bought),
)  # fmt: skip

SKILLS: dict[str, PocketToolsSkill] = {skill.name: skill for skill in _SKILLS}
