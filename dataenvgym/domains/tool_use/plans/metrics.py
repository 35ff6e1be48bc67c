"""The metrics of plans, after m&m's evaluation.

A plan has labels of four kinds:

    tools             for each call: its tool
    argument_names    for each call: its tool and the names of its arguments, sorted
    argument_values   for each call: its tool and its arguments with their values in lower case
    edges             for each two consecutive calls: their tools

Plan accuracy is the share of plans whose list of labels equals the gold list. It is a mean over
plans, and exists for the first three kinds. All other metrics use the *set* of labels of each plan,
pooled over all plans: with the labels in both (TP), only in the prediction (FP) and only in the
gold plan (FN), F1 = 2 TP / (2 TP + FP + FN). For tools it is a macro average over all tools in any
gold or predicted plan. The precision of a tool that is never predicted is 0, and so is the recall
of a tool in no gold plan. A predicted name that is not in the tool list counts as a tool.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from math import fsum
from typing import Literal, get_args

from dataenvgym.domains.tool_use.plans.plan import Plan, Step, comparable, tools_of

Level = Literal["tools", "argument_names", "argument_values"]
Pair = tuple[Plan, Plan]
"""A gold plan and a predicted one."""


def labels(plan: Plan, level: Level) -> tuple[str, ...]:
    """The label of each call, such as `image_captioning(image='a.jpg')`."""
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
