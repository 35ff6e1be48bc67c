"""The score of a conversation: its components, multiplied over the problem's basis.

state       the final state equals the state after the gold calls, those of the user included: a
            world keeps the stores of both seats in one state
assertions  the problem's assertions hold in the final state; outside of its `may_differ`, the
            state equals the one after the gold calls
said        the student told the user the required facts, each in one message (see
            `fact_matching`), or the speaker "judge" decides it, and nothing of `not_said`;
            messages with calls count, too
calls       each gold call was made and succeeded; additional calls are allowed

A component of the basis that cannot be evaluated is an error; it never holds by default.

The speaker "judge" decides whether the student told the user the required facts, in any words;
whether assertions in natural language hold (tau2); and, for a conversation that is not solved
although no rule was broken, whether the user, played by a model, is at fault.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import prod
from typing import Any, Literal, Self

from pydantic import Field, create_model, model_validator

from dataenvgym.domains.tool_use.fact_matching import says
from dataenvgym.domains.tool_use.matching import GoldCall, most_pairs
from dataenvgym.domains.tool_use.problem import Component, ToolUseProblem
from dataenvgym.errors import EvaluationError, SpeakerError
from dataenvgym.interfaces import Ask, Reply
from dataenvgym.records import Message, Model, Text, ToolCall
from dataenvgym.tasks.judging import Unscored, conversation_text, dialogue_text, judge_ask, question
from dataenvgym.tasks.worlds.state import WorldState
from dataenvgym.tasks.worlds.world import World


class _Numbered(Model):
    """One entry for each numbered thing, in one field."""

    @property
    def entries(self) -> tuple[Any, ...]:
        """The entries, in the judge's order."""
        (found,) = vars(self).values()
        return tuple(found)

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        numbers = [entry.number for entry in self.entries]
        if sorted(numbers) != [*range(1, len(numbers) + 1)]:
            raise ValueError(f"the numbers are {numbers}, expected each once")
        return self


_NAMES = {
    "said": ("SaidVerdict", "things", "SaidThing", "was_said"),
    "statements": ("StatementsVerdict", "statements", "Statement", "holds"),
}
"""By the name of the question: the verdict, its field, an entry, and whether that one holds."""


@cache
def numbered_verdict(asked: str, n: int) -> type[Any]:
    """A verdict with a reason on each of `n` things."""
    name, field, entry, holds = _NAMES[asked]
    number: Any = Literal[tuple(range(1, n + 1))]
    fields: dict[str, Any] = {"number": (number, ...), "reason": (Text, ...), holds: (bool, ...)}
    one = create_model(entry, __base__=Model, **fields)
    several: dict[str, Any] = {field: (tuple[one, ...], Field(min_length=n, max_length=n))}  # type: ignore[valid-type]
    return create_model(name, __base__=_Numbered, **several)


def _each_holds(asked: str, n: int, data: Mapping[str, str]) -> Generator[Ask, Reply, bool]:
    verdict = numbered_verdict(asked, n)
    found = yield from judge_ask(question(asked, verdict, data=data), verdict)
    if isinstance(found, Unscored):
        raise found.error()
    return all(getattr(entry, _NAMES[asked][-1]) for entry in found.entries)


def said_by_judge(wanted: Sequence[str], said: Sequence[str]) -> Generator[Ask, Reply, bool]:
    """Whether the speaker "judge" finds all required facts in the student's messages.

    The judge is not asked if there are no messages.

    Raises:
        SpeakerError: if the judge gives no verdict.
    """
    if not any(text.strip() for text in said):
        return False
    data = {
        "messages": dialogue_text([("assistant", text) for text in said]),
        "wanted": "\n".join(f"{number}. {text}" for number, text in enumerate(wanted, 1)),
    }
    return (yield from _each_holds("said", len(wanted), data))


def all_hold(
    statements: Sequence[str], conversation: Sequence[Message]
) -> Generator[Ask, Reply, bool]:
    """Whether all statements hold of the conversation, which is given from the student's view.

    Raises:
        SpeakerError: if the judge gives no verdict on each of them.
    """
    talk = tuple(message for message in conversation if message.role != "system")
    data = {
        "conversation": conversation_text(talk),
        "statements": "\n".join(f"{n}. {text}" for n, text in enumerate(statements, start=1)),
    }
    return (yield from _each_holds("statements", len(statements), data))


class FaultVerdict(Model):
    """Who is at fault, and why."""

    reason: Text
    at_fault: Literal["assistant", "user"]


def judged(
    problem: ToolUseProblem, view: Sequence[Message], instructions: str
) -> Generator[Ask, Reply, str]:
    """The speaker "judge"'s reason why the assistant is at fault.

    Args:
        view: the conversation from the user's view.

    Raises:
        SpeakerError: if the user is at fault, or if the judge gives no verdict.
    """
    asked = question(
        "user_fault",
        FaultVerdict,
        data={
            "instructions": instructions,
            "gold": _listed(problem.gold) or "none",
            "user_gold": _listed(problem.user_gold) or "none",
            "conversation": dialogue_text(list(_turns(view))),
        },
    )
    verdict = yield from judge_ask(asked, FaultVerdict)
    if isinstance(verdict, Unscored):
        raise verdict.error()
    if verdict.at_fault == "user":
        raise SpeakerError(f"user: the judge says: {verdict.reason}")
    return verdict.reason


def _listed(calls: Sequence[ToolCall]) -> str:
    return "\n".join(f"{call.name}({json.dumps(call.arguments)})" for call in calls)


def _turns(view: Sequence[Message]) -> Iterator[tuple[str, str]]:
    names = {"assistant": "User", "user": "Assistant", "tool": "Result"}
    for message in view:
        if message.role in names and (message.content or not message.tool_calls):
            yield names[message.role], message.content
        if message.tool_calls:
            yield "User calls", _listed(message.tool_calls)


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
