"""The score of a conversation: its components, multiplied over the problem's basis.

state       the final state equals the state after the gold calls, those of the user included: a
            world keeps the stores of both seats in one state
assertions  the problem's assertions hold in the final state; outside of its `may_differ`, the
            state equals the one after the gold calls
said        the student told the user the required facts, each in one message (see
            `fact_matching`), or a judge decides it (see `judges`), and nothing of `not_said`;
            messages with calls count, too
calls       each gold call was made and succeeded; additional calls are allowed

A component of the basis that cannot be evaluated is an error; it never holds by default.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from dataenvgym.domains.tool_use.fact_matching import says
from dataenvgym.domains.tool_use.matching import GoldCall, most_pairs
from dataenvgym.domains.tool_use.problem import Component, ToolUseProblem
from dataenvgym.errors import EvaluationError
from dataenvgym.records import ToolCall
from dataenvgym.tasks.worlds.state import WorldState
from dataenvgym.tasks.worlds.world import World

Evaluates = Callable[[ToolUseProblem, "Ending"], bool | None]
Components = Mapping[Component, Evaluates]
"""How to evaluate each component; the result is None if it cannot be evaluated."""


@dataclass(frozen=True)
class Ending:
    """The end of a conversation.

    Attributes:
        world: in its final state.
        gold: the state after the gold calls.
        said: the student's messages to the user.
        calls: the student's calls that succeeded.
        judged_said: whether a judge found all required facts; None if it was not asked.
    """

    world: World[Any]
    gold: WorldState
    said: Sequence[str]
    calls: Sequence[ToolCall]
    judged_said: bool | None = None


def score(
    problem: ToolUseProblem, ending: Ending, components: Components | None = None
) -> tuple[float, dict[str, float]]:
    """The reward, and each component of the basis by name, all of them 1.0 or 0.0.

    Args:
        components: how to evaluate each; None uses those described above.

    Raises:
        EvaluationError: if a component cannot be evaluated.
    """
    components = components or COMPONENTS
    parts: dict[str, float] = {}
    for name in problem.basis:
        holds = components[name](problem, ending) if name in components else None
        if not isinstance(holds, bool):
            raise EvaluationError(
                f"component {name!r} of the basis was not evaluated (its value is {holds!r}): give "
                "the problem what it needs, or take it out of the basis"
            )
        parts[name] = float(holds)
    if not parts:
        raise EvaluationError("the basis is empty, expected at least one component")
    return prod(parts.values()), parts


def _assertions(problem: ToolUseProblem, ending: Ending) -> bool | None:
    found = [ending.world.holds(a.check, a.arguments) == a.expected for a in problem.assertions]
    free = problem.may_differ
    if free is not None and not ending.world.state.equals(ending.gold, but=free):
        return False
    return all(found) if found else None


def _said(problem: ToolUseProblem, ending: Ending) -> bool | None:
    if any(says(text, other) for text in ending.said for other in problem.not_said):
        return False
    if not problem.said or problem.asks_judge:
        return ending.judged_said
    return all(any(says(text, wanted) for text in ending.said) for wanted in problem.said)


def _calls(problem: ToolUseProblem, ending: Ending) -> bool | None:
    if not problem.gold:
        return None
    return most_pairs(ending.calls, list(map(GoldCall.of, problem.gold))) == len(problem.gold)


COMPONENTS: Components = {
    "state": lambda problem, ending: bool(ending.world.state == ending.gold),
    "assertions": _assertions,
    "said": _said,
    "calls": _calls,
}
