"""The score of a conversation: components, multiplied over the problem's basis.

state       the final state equals the state after the gold calls
assertions  the problem's assertions hold in the final state
said        the student said what the user has to know
calls       each gold call was made, whatever else was
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import prod
from typing import Any

from dataenvgym.records import ToolCall
from dataenvgym.tasks.tool_use.problem import Component, ToolUseProblem
from dataenvgym.tasks.tool_use.state import State
from dataenvgym.tasks.tool_use.world import World

_NUMBER = re.compile(r"(?<![\w.])-?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?![\d,]*\d)(?!\w)")


@dataclass(frozen=True)
class Ending:
    """What a conversation came to.

    Attributes:
        world: in its final state.
        gold: the state after the gold calls.
        said: the student's messages to the user.
        calls: the student's calls that succeeded.
    """

    world: World[Any]
    gold: State
    said: Sequence[str]
    calls: Sequence[ToolCall]


def score(problem: ToolUseProblem, ending: Ending) -> tuple[float, dict[str, float]]:
    """The reward, and each component of the basis by name, all of them 1.0 or 0.0."""
    parts: dict[str, float] = {
        name: float(_COMPONENTS[name](problem, ending)) for name in problem.basis
    }
    return prod(parts.values()), parts


def _state(problem: ToolUseProblem, ending: Ending) -> bool:
    return bool(ending.world.state == ending.gold)


def _assertions(problem: ToolUseProblem, ending: Ending) -> bool:
    return all(ending.world.holds(a.check, a.arguments) == a.expected for a in problem.assertions)


def _said(problem: ToolUseProblem, ending: Ending) -> bool:
    text = "\n".join(ending.said)
    return all(says(text, each) for each in problem.said)


def _calls(problem: ToolUseProblem, ending: Ending) -> bool:
    left = list(ending.calls)
    for call in problem.gold:
        if call not in left:
            return False
        left.remove(call)
    return True


_COMPONENTS: Mapping[Component, Callable[[ToolUseProblem, Ending], bool]] = {
    "state": _state,
    "assertions": _assertions,
    "said": _said,
    "calls": _calls,
}


def says(text: str, wanted: str) -> bool:
    """Whether a text has these words, whatever the case and the space between them.

    Numbers are compared by value: "10" is in "10.00 dollars", not in "100".
    """
    if _NUMBER.fullmatch(wanted.strip()):
        return _value(wanted) in map(_value, _NUMBER.findall(text))
    words = r"\s+".join(map(re.escape, wanted.split()))
    return re.search(rf"(?<!\w){words}(?!\w)", text, re.IGNORECASE) is not None


def _value(number: str) -> Decimal:
    return Decimal(number.strip().replace(",", ""))
