"""Audits all problems of a world."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random
from typing import Any

from dataenvgym.domains.tool_use.audit.legal_values import LegalValues
from dataenvgym.domains.tool_use.audit.mutations import Mutation, noticed_mutations
from dataenvgym.domains.tool_use.audit.problem import ProblemAudit
from dataenvgym.domains.tool_use.audit.processes import compare_processes
from dataenvgym.domains.tool_use.audit.tools import ToolsAudit
from dataenvgym.domains.tool_use.audit.violations import Audit, Violation
from dataenvgym.domains.tool_use.domain import ToolUseDomain
from dataenvgym.domains.tool_use.world import World
from dataenvgym.errors import ConfigurationError, DataEnvGymError
from dataenvgym.records import TaskInstance
from dataenvgym.seeding import derive_seed


def audit(world: World[Any], problems: Iterable[TaskInstance], *, seed: int = 0) -> Audit:
    """Run all checks on a world with its problems.

    No judge is asked: facts that a judge would recognize must be said literally here.

    Args:
        seed: selects the random calls.

    Raises:
        ConfigurationError: for a world that does not show its state.
    """
    if not world.shows_state:
        raise ConfigurationError(
            f"world {world.name!r} does not show its state, and an audit replays calls on forks of "
            "it: audit a world with a state of its own"
        )
    done = Audit(world.name)
    values = LegalValues(world.state)
    domain = ToolUseDomain(world)
    mutations: dict[Mutation, bool] = {}
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
        for mutation, is_noticed in noticed_mutations(prepared.problem, checked.attempts()):
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


def audited(
    world: World[Any], problems: Sequence[TaskInstance], *, seed: int = 0
) -> Sequence[TaskInstance]:
    """The problems, if all checks pass.

    Raises:
        InvalidInstanceError: naming the problem and the failed check.
    """
    audit(world, problems, seed=seed).refuse()
    return problems
