"""A plan: steps in order, each a tool with named arguments.

An argument's value is JSON. In its texts, `<node-k>.key` refers to the result `key` of the step at
place k, counted from 0, and `<node-k>` to its whole result. An invalid reference is `<node-?>`.

A plan is made of steps given as JSON values, `{"id": 0, "name": "tool", "args": {...}}`. If `id` is
missing, it is the step's place. References are renumbered from ids to places, so two plans that
differ only in their ids are equal. Spaces in a tool's name become underscores.

The metrics are those of m&m's evaluation.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import fsum
from typing import Any, Literal, get_args

from pydantic import JsonValue

from dataenvgym import exact_json

REFERENCE = re.compile(r"<node-(?P<id>[0-9]{1,9})>(?:\.(?P<key>[A-Za-z0-9_]+))?")
NOWHERE = "<node-?>"
DEEPEST = 50
"""Largest depth of lists and objects in an argument."""
_LARGEST = 2**63


@dataclass(frozen=True)
class Step:
    """One call of a tool."""

    name: str
    args: Mapping[str, JsonValue]


Plan = tuple[Step, ...]


class PlanError(ValueError):
    """The text is not a plan; the message has the value found and the one expected."""


@dataclass(frozen=True)
class Reading:
    """The result of parsing a reply.

    Attributes:
        plan: empty if the reply has no valid plan.
        problem: why it could not be parsed, or None.
    """

    plan: Plan
    problem: str | None = None


@dataclass(frozen=True)
class Form:
    """How plans are written, and parsed from replies.

    Attributes:
        name: "json" or "code" (`task.form`).
        how_to_write: the instructions for the student.
        read: parses the plan in a reply; raises nothing.
        write: the plan as the gold answer of a record; raises `PlanError` if the form cannot
            express it.
    """

    name: str
    how_to_write: str
    read: Callable[[str], Reading]
    write: Callable[[Plan], str]


def tools_of(plan: Plan) -> tuple[str, ...]:
    """The tools in the order of their calls."""
    return tuple(step.name for step in plan)


def comparable(value: JsonValue) -> str:
    """The value as text in lower case, for comparisons: 5 is "5"."""
    if not isinstance(value, str):
        value = exact_json.dumps(value, option=exact_json.SORT_KEYS).decode()
    return value.lower()


def plan_of(steps: Any, *, strict: bool = False) -> Plan:
    """Make a plan of a list of steps.

    Args:
        strict: also refuse duplicate ids, and references to steps that do not come before;
            otherwise such a reference becomes `<node-?>`.

    Raises:
        PlanError: naming the step, and the field or argument.
    """
    if not isinstance(steps, list):
        raise PlanError(f"found {shown(steps)}, expected a list of steps")
    places: dict[int, int] = {}
    plan: list[Step] = []
    for place, step in enumerate(steps):
        where = f"step {place}"
        if not isinstance(step, dict):
            raise PlanError(f"{where} is {shown(step)}, expected an object with name and args")
        args, name, number = step.get("args"), step.get("name"), step.get("id")
        if args is None:
            args = {} if not any(isinstance(value, dict) for value in step.values()) else None
        if not isinstance(args, dict):
            raise PlanError(f"{where}, field 'args': found {shown(args)}, expected an object")
        cleaned = {
            key: clean(value, places, f"{where}, argument {key!r}", strict=strict)
            for key, value in ((_unicode(key), value) for key, value in args.items())
        }
        if not isinstance(name, str) or not name.strip():
            raise PlanError(
                f"{where}, field 'name': found {shown(name)}, expected the name of a tool"
            )
        plan.append(Step(tool_name(name), cleaned))
        if number is None:
            number = place
        elif isinstance(number, str) and number.isdecimal() and len(number) < 10:
            number = int(number)
        if type(number) is not int or (strict and number in places):
            raise PlanError(f"{where}, field 'id': found {number!r:.60}, expected a new number")
        places[number] = place
    return tuple(plan)


def clean(
    value: Any, places: Mapping[int, int], where: str, *, strict: bool = False, depth: int = 0
) -> JsonValue:
    """The value as valid JSON, its references renumbered by `places`.

    Numbers that JSON lacks become texts, and invalid Unicode in a text is escaped.

    Raises:
        PlanError: for deep nesting; with `strict`, for a reference to no earlier step.
    """
    if depth > DEEPEST:
        raise PlanError(f"{where}: nested more than {DEEPEST} levels deep")
    if isinstance(value, list | tuple):
        return [clean(v, places, where, strict=strict, depth=depth + 1) for v in value]
    if isinstance(value, dict):
        return {
            _unicode(str(k)): clean(v, places, where, strict=strict, depth=depth + 1)
            for k, v in value.items()
        }
    if isinstance(value, str):
        return _renumbered(_unicode(value), places, where, strict=strict)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float) and abs(value) < _LARGEST:  # False for NaN
        return value
    return str(value)


def _renumbered(text: str, places: Mapping[int, int], where: str, *, strict: bool) -> str:
    if "<node-" not in text:
        return text
    parts, end = [], 0
    for found in REFERENCE.finditer(text):
        place = places.get(int(found["id"]))
        if place is None and strict:
            known = ", ".join(f"<node-{number}>" for number in places)
            raise PlanError(
                f"{where} refers to {found[0]}, expected a step before it: {known or 'none is'}"
            )
        key = f".{found['key']}" if found["key"] else ""
        parts += [text[end : found.start()], NOWHERE if place is None else f"<node-{place}>", key]
        end = found.end()
    return "".join([*parts, text[end:]])


def tool_name(name: str) -> str:
    """The name in the form of plans: with underscores for spaces."""
    return _unicode("_".join(name.split()))


def _unicode(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


def shown(value: Any) -> str:
    """The value in a few words."""
    if value is None:
        return "nothing"
    if isinstance(value, list | dict):
        return f"a {type(value).__name__} of {len(value)}"
    return f"{value!r:.60}"


Level = Literal["tools", "argument_names", "argument_values"]
Pair = tuple[Plan, Plan]
"""A gold plan and a predicted one."""


def labels(plan: Plan, level: Level) -> tuple[str, ...]:
    """The label of each call, such as `image_captioning(image='a.jpg')`.

    It is the tool; with the names of its arguments, sorted; or with their values in lower case.
    """
    return tuple(_label(step, level) for step in plan)


def edges(plan: Plan) -> tuple[tuple[str, str], ...]:
    """The tools of each two consecutive calls."""
    return tuple(pairwise(tools_of(plan)))


def plan_scores(gold: Plan, predicted: Plan) -> dict[str, float]:
    """Whether two plans are equal, 1.0 or 0.0, at each level: `plan_tools` and so on."""
    return {f"plan_{k}": float(labels(gold, k) == labels(predicted, k)) for k in get_args(Level)}


def best_match(golds: Sequence[Plan], predicted: Plan) -> Plan:
    """The gold plan whose tools have the highest F1 with the predicted ones; the first if tied."""
    return max(golds, key=lambda gold: _pooled([(gold, predicted)], tools_of) or 0.0)


def corpus_scores(pairs: Sequence[Pair]) -> dict[str, float]:
    """The metrics over sets of labels, each from 0 to 1; the order of plans does not matter.

    The sets of all plans are pooled: with the labels in both (TP), only in the prediction (FP) and
    only in the gold plan (FN), F1 = 2 TP / (2 TP + FP + FN). For tools it is a macro average over
    all tools in any gold or predicted plan. The precision of a tool that is never predicted is 0,
    and so is the recall of a tool in no gold plan. A name that is not in the tool list counts.

    A metric without any labels, such as `edge_f1` of plans with one step, is left out.
    """
    scores = {
        **_macro(pairs),
        "argument_name_f1": _pooled(pairs, lambda plan: labels(plan, "argument_names")),
        "argument_value_f1": _pooled(pairs, lambda plan: labels(plan, "argument_values")),
        "edge_f1": _pooled(pairs, edges),
    }
    return {name: value for name, value in scores.items() if value is not None}


def _macro(pairs: Iterable[Pair]) -> dict[str, float | None]:
    hits, gold_counts, predicted_counts = Counter[str](), Counter[str](), Counter[str]()
    for gold, predicted in pairs:
        ours, theirs = set(tools_of(gold)), set(tools_of(predicted))
        hits.update(ours & theirs)
        gold_counts.update(ours)
        predicted_counts.update(theirs)
    tools = gold_counts.keys() | predicted_counts.keys()
    return {
        "tool_macro_f1": _mean(
            2 * hits[tool] / (gold_counts[tool] + predicted_counts[tool]) for tool in tools
        ),
        "tool_precision": _mean(hits[tool] / max(1, predicted_counts[tool]) for tool in tools),
        "tool_recall": _mean(hits[tool] / max(1, gold_counts[tool]) for tool in tools),
    }


def _pooled(pairs: Iterable[Pair], labels_of: Callable[[Plan], Iterable[object]]) -> float | None:
    """The F1 over the labels of all plans together; None if there are none."""
    hits = total = 0
    for gold, predicted in pairs:
        ours, theirs = set(labels_of(gold)), set(labels_of(predicted))
        hits += len(ours & theirs)
        total += len(ours) + len(theirs)
    return 2 * hits / total if total else None


def _mean(values: Iterable[float]) -> float | None:
    found = list(values)
    return fsum(found) / len(found) if found else None


def _label(step: Step, level: Level) -> str:
    if level == "tools":
        return step.name
    shown = {n: n if n.isidentifier() else repr(n) for n in sorted(step.args)}
    if level == "argument_values":
        shown = {n: f"{name}={comparable(step.args[n])!r}" for n, name in shown.items()}
    return f"{step.name}({', '.join(shown.values())})"
