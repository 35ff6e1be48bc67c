"""Checks a world and its problems: each problem must be solvable, and not solvable by chance.

    loads         the world can pose the problem, and its gold calls succeed
    gold          the gold calls, and the words that go with them, earn the full reward
    same twice    calls, played again, give the same results and state, also in other processes; no
                  tool asks for a clock, chance or the machine
    outside       tools change nothing but their state, and read no environment variables
    nothing       doing nothing earns 0
    argument      a gold plan with one argument of a writing call changed earns 0
    order         two neighboring writes in the other order earn the full reward as well, unless the
                  request names an order
    constant reply
                  words alone that list everything, or answer another problem, earn 0
    extra write   the gold calls and a further call that changes the state earn 0
    random calls  50 random legal calls earn 0; if they changed the state, also with the right words
    said          the gold calls with words of the request, the policy or any answer earn 0
    verifier      a verifier that drops a component, flips an assertion or omits a required fact
                  is noticed: at least one attempt at one problem gets another score
    tools         tools raise only ToolError and are quick, their results are not cut, and reading
                  tools do not change the state

`audit` runs all checks and lists the violations. Checks without problems are in
`dataenvgym.tasks.worlds.audit`; `problem` has those on one problem.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from math import prod
from random import Random
from typing import Any

from dataenvgym.domains.tool_use.audit.problem import ProblemAudit
from dataenvgym.domains.tool_use.components import Ending, score
from dataenvgym.domains.tool_use.domain import ToolUseDomain
from dataenvgym.domains.tool_use.problem import Component, ToolUseProblem
from dataenvgym.errors import ConfigurationError, DataEnvGymError, EvaluationError
from dataenvgym.records import TaskInstance
from dataenvgym.seeding import derive_seed
from dataenvgym.tasks.worlds import State, World
from dataenvgym.tasks.worlds.audit import Audit, Violation
from dataenvgym.tasks.worlds.audit.legal_values import LegalValues
from dataenvgym.tasks.worlds.audit.processes import compare_processes
from dataenvgym.tasks.worlds.audit.tools import ToolsAudit

__all__ = ["Audit", "Violation", "audit"]


def audit(world: World[Any], problems: Iterable[TaskInstance], *, seed: int = 0) -> Audit:
    """Run all checks on a world with its problems.

    No judge is asked: facts that a judge would recognize must be said literally here.

    Args:
        seed: selects the random calls.

    Raises:
        ConfigurationError: for a world that does not show its state, or whose state is not a
            `State`.
    """
    if not world.shows_state or not isinstance(world.state, State):
        raise ConfigurationError(
            f"world {world.name!r} does not show its state, and an audit replays calls on forks of "
            "it: audit a world with a state of its own"
        )
    done = Audit(world.name)
    values = LegalValues(world.state)
    domain = ToolUseDomain(world)
    mutations: dict[str, bool] = {}
    tools = ToolsAudit(done, world)
    tools.try_each(values, Random(derive_seed(seed, "audit", "tools")))
    audits: list[ProblemAudit] = []
    for instance in problems:
        problem = instance
        if instance.data.get("said_by") == "judge":
            problem = instance.model_copy(update={"data": {**instance.data, "said_by": "text"}})
        done.tried["problems"] += 1
        try:
            prepared = domain.prepared(problem)
            _ = prepared.gold_state
        except DataEnvGymError as error:
            done.violations.append(Violation("loads", problem.id, str(error)))
            continue
        own = prepared.problem.world == world.name and not prepared.problem.state
        checked = ProblemAudit(
            done,
            domain,
            problem,
            prepared,
            values if own else LegalValues(prepared.state),
            Random(derive_seed(seed, "audit", problem.id)),
            tools,
        )
        audits.append(checked)
        for mutation, is_noticed in _mutations(prepared.problem, checked.attempts()).items():
            mutations[mutation] = mutations.get(mutation, False) or is_noticed
    for checked in audits:
        checked.try_constant_replies(audits)
    tools.note_slow()
    compare_processes(tools)
    done.tried["mutations"] += len(mutations)
    done.violations += [
        Violation("verifier", "", f"no problem notices a verifier that {mutation}")
        for mutation, is_noticed in mutations.items()
        if not is_noticed
    ]
    done.violations = list(dict.fromkeys(done.violations))
    return done


def _mutations(problem: ToolUseProblem, attempts: Iterable[Ending]) -> dict[str, bool]:
    """Each error that the problem's verifier may have, and whether it changes an attempt's score.

    The verifier drops a component, flips an assertion, or omits a required fact.
    """
    scored: list[tuple[Ending, dict[Component, float]]] = []
    for attempt in attempts:
        with suppress(EvaluationError):  # the audit has noted it
            scored.append((attempt, {n: _part(problem, n, attempt) for n in problem.basis}))
    mutants: list[tuple[str, Component, ToolUseProblem | None]] = [
        (f"drops the component {name!r}", name, None) for name in problem.basis
    ]
    for i, one in enumerate(problem.assertions if "assertions" in problem.basis else ()):
        flipped = one.model_copy(update={"expected": not one.expected})
        changed = (*problem.assertions[:i], flipped, *problem.assertions[i + 1 :])
        mutant = problem.model_copy(update={"assertions": changed})
        mutants.append((f"flips an assertion of the check {one.check!r}", "assertions", mutant))
    for i in range(len(problem.said) if "said" in problem.basis else 0):
        said = (*problem.said[:i], *problem.said[i + 1 :])
        mutant = problem.model_copy(update={"said": said})
        mutants.append(("forgets something that has to be said", "said", mutant if said else None))
    noticed: dict[str, bool] = {}
    for error, component, wrong in mutants:
        noticed[error] = noticed.get(error, False)
        for attempt, parts in scored:
            part = 1.0 if wrong is None else _part(wrong, component, attempt)
            noticed[error] |= prod({**parts, component: part}.values()) != prod(parts.values())
    return noticed


def _part(problem: ToolUseProblem, component: Component, attempt: Ending) -> float:
    """One component of an attempt's reward."""
    return score(problem.model_copy(update={"basis": (component,)}), attempt)[0]
