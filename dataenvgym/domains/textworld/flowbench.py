"""Workflows with the problems, and their metrics, in FlowBench's form (Xiao et al., 2024).

A workflow is what an expert knows about a kind of problem: steps, some of them repeated until
something is seen. The student reads it before the problem, as text, as code, or as a flow chart
(mermaid). There are two levels of metrics:

    turn      the student takes one turn of the reference solution, after its earlier turns:
              precision and recall of the call (the kind of action) and of its parameters
    session   the student acts to the end: success, and progress: the share of checkpoints that its
              possible actions reach, in their order

The form and the formulas are FlowBench's; the problems are those of this domain.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal
from zlib import crc32

from dataenvgym.domains.textworld.house import APPLIANCES, canonical
from dataenvgym.domains.textworld.household import HouseProblem
from dataenvgym.domains.textworld.shop import SHOP_ACTION, ShopProblem
from dataenvgym.domains.textworld.worlds import Problem, Step

_HOUSE = re.compile(
    r"(go to|open|close|take|put|clean|heat|cool|use|examine|look|inventory)"
    r"(?: (.+?))??(?: (?:from|in/on|with) (.+))?"
)


@dataclass(frozen=True, kw_only=True)
class FlowOptions:
    """The form of problems.

    Attributes:
        workflow: `none`, or how the workflow before each problem is written: `text`, `code` or
            `flowchart`; then there are the metrics of a session, too.
        level: `session`: the student acts to the end; `turn`: it takes one turn of the reference
            solution.
    """

    workflow: Literal["none", "text", "code", "flowchart"] = "none"
    level: Literal["session", "turn"] = "session"


@dataclass(frozen=True)
class FlowStep:
    """A step of a workflow; it is repeated until `until` holds, if that is given."""

    text: str
    code: str
    until: str = ""


@dataclass(frozen=True)
class Call:
    """An action as a call: its kind, and its parameters, each a name and a value."""

    name: str
    parameters: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Flow:
    """The workflow of a problem, and the calls that are its checkpoints.

    A value of a checkpoint is the whole value of a parameter, or its kind: "mug" of "mug 1".
    """

    steps: tuple[FlowStep, ...]
    checkpoints: tuple[Call, ...]

    def written(self, form: str) -> str:
        """The workflow as the student reads it."""
        lines = {"text": self._text, "code": self._code, "flowchart": self._chart}[form]()
        return "\n".join(("Workflow:", *lines))

    def _text(self) -> Iterator[str]:
        for number, step in enumerate(self.steps, 1):
            again = f" Repeat this until {step.until}." if step.until else ""
            yield f"{number}. {step.text}.{again}"

    def _code(self) -> Iterator[str]:
        yield "def workflow():"
        for step in self.steps:
            if step.until:
                yield f"    while not {re.sub(r'[^a-z]+', '_', step.until)}():"
            yield f"    {'    ' if step.until else ''}{step.code}"

    def _chart(self) -> Iterator[str]:
        yield "flowchart TD"
        for number, step in enumerate(self.steps, 1):
            after = f"S{number + 1}" if number < len(self.steps) else "E((end))"
            yield f'    S{number}["{step.text}"]'
            if step.until:
                yield f'    S{number} --> C{number}{{"{step.until}?"}}'
                yield f"    C{number} -- no --> S{number}"
                yield f"    C{number} -- yes --> {after}"
            else:
                yield f"    S{number} --> {after}"

    def progress(self, calls: Sequence[Call]) -> float:
        """The share of the checkpoints that the calls reach in their order."""
        reached = 0
        for call in calls:
            if reached < len(self.checkpoints) and _reaches(call, self.checkpoints[reached]):
                reached += 1
        return reached / len(self.checkpoints)


def _reaches(call: Call, wanted: Call) -> bool:
    given = dict(call.parameters)
    return call.name == wanted.name and all(
        given.get(name, "") == value or given.get(name, "").rpartition(" ")[0] == value
        for name, value in wanted.parameters
    )


def flow_of(problem: Problem) -> Flow:
    """The workflow of a problem in a house or a shop."""
    return _of_house(problem) if isinstance(problem, HouseProblem) else _of_shop(problem)


def _of_house(problem: HouseProblem) -> Flow:
    goal = problem.goal
    thing, target = goal.object, goal.target
    find = FlowStep(
        "Go to a receptacle where you have not been, and open it if it is closed",
        "go_to(next_receptacle()); open_if_closed()",
        f"you see a {thing}",
    )
    take = FlowStep(f"Take the {thing}", f"take({thing!r}, from_here())")
    steps, checkpoints = [find, take], [_call("take", thing)]
    if goal.type == "look":
        steps += [
            FlowStep(f"Go to where a {target} is", f"go_to(place_of({target!r}))"),
            FlowStep(f"Use the {target}", f"use({target!r})"),
        ]
        return Flow(tuple(steps), (*checkpoints, _call("use", target)))
    if (place := APPLIANCES.get(goal.type)) is not None:
        steps += [
            FlowStep(f"Go to the {place}", f"go_to({place!r})"),
            FlowStep(
                f"{goal.type.capitalize()} the {thing} with the {place}",
                f"{goal.type}({thing!r}, with_={place!r})",
            ),
        ]
        checkpoints.append(_call(goal.type, thing, place))
    steps += [
        FlowStep(
            f"Go to a {target}, and open it if it is closed", f"go_to({target!r}); open_if_closed()"
        ),
        FlowStep(f"Put the {thing} in or on it", f"put({thing!r}, {target!r})"),
    ]
    checkpoints.append(_call("put", thing, target))
    return Flow(tuple(steps) * goal.count, tuple(checkpoints) * goal.count)


def _of_shop(problem: Problem) -> Flow:
    assert isinstance(problem, ShopProblem)
    wanted = problem.wanted
    _, product, chosen = problem.best
    steps = (
        FlowStep("Search for what is wanted, with its attributes", "search(words_of(request))"),
        FlowStep(
            "Read the results, and click [Next >] if none fits",
            "click('Next >')",
            "you see a product that fits",
        ),
        FlowStep("Click the product", "click(product)"),
        *(
            FlowStep(f"Choose the {name} that is wanted", f"click(wanted[{name!r}])")
            for name in wanted.options
        ),
        FlowStep("Buy it", "click('Buy Now')"),
    )
    buttons = (product.asin, *chosen.values(), "Buy Now")
    clicks = (Call("click", (("button", button.lower()),)) for button in buttons)
    return Flow(steps, (Call("search"), *clicks))


def _call(name: str, *values: str) -> Call:
    return Call(name, tuple(zip(("1", "2"), values, strict=False)))


def call_of(action: str) -> Call:
    """The call that an action is; the words of a search are parameters of their own."""
    if found := SHOP_ACTION.fullmatch(action.strip()):
        name, value = found[1].lower(), found[2].strip().lower()
        if name == "search":
            return Call(name, tuple(("word", word) for word in re.findall(r"\w+", value)))
        return Call(name, (("button", value),))
    if found := _HOUSE.fullmatch(canonical(action)):
        return _call(found[1], *(value for value in found.groups()[1:] if value))
    return Call(canonical(action))


def turn_scores(gold: Call, made: Call | None) -> Mapping[str, float]:
    """Precision and recall of one turn's call, and of its parameters.

    A precision without anything that was said, and a recall without anything to say, do not exist.
    Parameters of another call are wrong.
    """
    right = made is not None and made.name == gold.name
    wanted = Counter(gold.parameters)
    given = Counter(made.parameters if made else ())
    shared = (wanted & given).total() if right else 0
    shares = {
        "call_precision": (int(right), int(made is not None)),
        "call_recall": (int(right), 1),
        "parameter_precision": (shared, given.total()),
        "parameter_recall": (shared, wanted.total()),
    }
    return {name: part / whole for name, (part, whole) in shares.items() if whole}


def split_at_turn(problem: Problem, id: str) -> tuple[tuple[Step, ...], Step]:
    """The earlier turns of the reference solution, and the one that an instance asks for."""
    steps = tuple(problem.solution())
    at = crc32(id.encode()) % len(steps)
    return steps[:at], steps[at]
