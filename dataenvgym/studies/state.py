"""`study.json`: the request, and the state of each episode."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from dataenvgym.format_version import FORMAT, FORMAT_KEY
from dataenvgym.storage import write_json
from dataenvgym.studies.plan import Cell, StudyPlan


def study_command(plan: StudyPlan) -> str:
    """The command that runs this study."""
    words = ["dataenvgym", "study", *plan.overrides, "--name", plan.name]
    for strategy in plan.named_strategies:
        words += ["--strategy", strategy]
    words += ["--baseline", plan.baseline]
    if plan.test is not None:
        words += ["--test", plan.test]
    for key in plan.allow_unequal:
        words += ["--allow-unequal", key]
    if not any(cell.role != "strategy" for cell in plan.cells):
        words.append("--no-bounds")
    return shlex.join(words)


def write_state(plan: StudyPlan, *, unfinished: Iterable[tuple[Cell, str]]) -> None:
    """Write the file.

    Args:
        unfinished: the episodes without a result, and why.
    """
    reasons = {cell.directory: reason for cell, reason in unfinished}
    grid = plan.grid
    state = {
        FORMAT_KEY: FORMAT,
        "name": plan.name,
        "command": study_command(plan),
        "strategies": [{"name": s.name, "overrides": list(s.overrides)}
                       for s in grid.strategies],
        "tasks": [{"name": t.name, "overrides": list(t.overrides)} for t in grid.tasks],
        "seeds": list(grid.seeds),
        "fixed": list(grid.fixed),
        "baseline": plan.baseline,
        "allow_unequal": list(plan.allow_unequal),
        "episodes": [
            {
                "role": cell.role,
                "strategy": cell.strategy,
                "task": cell.task,
                "seed": cell.seed,
                "run": cell.directory.name,
                "status": "unfinished" if cell.directory in reasons else "finished",
                "reason": reasons.get(cell.directory),
            }
            for cell in plan.cells
        ],
    }  # fmt: skip
    write_json(plan.directory / "study.json", state)
