"""Verifiers with deliberate errors, and whether attempts at a problem reveal them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Literal

from dataenvgym.domains.tool_use.components import Ending, score
from dataenvgym.domains.tool_use.problem import Component, ToolUseProblem
from dataenvgym.errors import EvaluationError


@dataclass(frozen=True)
class Mutation:
    """One error of a verifier.

    Attributes:
        of: the dropped component, or the flipped check; "" for a required fact.
    """

    kind: Literal["drops", "flips", "forgets"]
    of: str

    def __str__(self) -> str:
        return {
            "drops": f"drops the component {self.of!r}",
            "flips": f"flips an assertion of the check {self.of!r}",
            "forgets": "forgets something that has to be said",
        }[self.kind]


def _part(problem: ToolUseProblem, component: Component, attempt: Ending) -> float:
    """One component of an attempt's reward."""
    return score(problem.model_copy(update={"basis": (component,)}), attempt)[0]


def noticed_mutations(
    problem: ToolUseProblem, attempts: Iterable[Ending]
) -> Iterator[tuple[Mutation, bool]]:
    """Each mutation of the problem's verifier, and whether it changes an attempt's score."""
    scored = []
    for attempt in attempts:
        try:
            scored.append(
                (attempt, {name: _part(problem, name, attempt) for name in problem.basis})
            )
        except EvaluationError:
            continue  # the audit has noted it
    for name in problem.basis:
        others = [each for each in problem.basis if each != name]
        yield (
            Mutation("drops", name),
            any(prod(parts[o] for o in others) != prod(parts.values()) for _, parts in scored),
        )
    if "assertions" in problem.basis:
        for i, assertion in enumerate(problem.assertions):
            flipped = assertion.model_copy(update={"expected": not assertion.expected})
            assertions = (*problem.assertions[:i], flipped, *problem.assertions[i + 1 :])
            mutant = problem.model_copy(update={"assertions": assertions})
            yield Mutation("flips", assertion.check), _notice(mutant, "assertions", scored)
    if "said" in problem.basis:
        for i in range(len(problem.said)):
            said = (*problem.said[:i], *problem.said[i + 1 :])
            mutant = problem.model_copy(update={"said": said})
            yield Mutation("forgets", ""), _notice(mutant, "said", scored)


def _notice(
    mutant: ToolUseProblem,
    component: Component,
    scored: Sequence[tuple[Ending, dict[Component, float]]],
) -> bool:
    """Whether an attempt's score changes if the mutant evaluates that component."""
    for attempt, parts in scored:
        has_data = component != "said" or mutant.said
        new = _part(mutant, component, attempt) if has_data else 1.0
        if prod({**parts, component: new}.values()) != prod(parts.values()):
            return True
    return False
