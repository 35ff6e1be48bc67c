"""Refuses a study before anything runs.

Reasons: it is impossible, it would not be fair, or it would lose earlier results.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from dataenvgym.config.run_directory import check_run
from dataenvgym.episodes.summary import read_summary
from dataenvgym.episodes.texts import several
from dataenvgym.errors import ConfigurationError, DataEnvGymError
from dataenvgym.executors import build_executor
from dataenvgym.executors.interface import build_episode
from dataenvgym.storage import read_json, write_json
from dataenvgym.studies.fairness import (
    Difference,
    allowed,
    check_allowed_keys,
    config_differences,
)
from dataenvgym.studies.plan import Cell, StudyPlan
from dataenvgym.workspace import FORMAT, check_format


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
        "format": FORMAT,
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


def check_study(plan: StudyPlan) -> list[Difference]:
    """Check a study, and return the allowed differences between strategies; touch no file.

    Raises:
        ConfigurationError: names the impossible strategy, the differences between strategies, or
            earlier episodes that the study would lose.
        ConfigChangedError: if a run has done more iterations than this study requests.
        NewerFormatError: if a newer dataenvgym wrote the study or one of its runs.
    """
    _refuse_less(plan)
    build_executor(plan.cells[0].config)
    check_allowed_keys(plan.allow_unequal, [cell.config for cell in plan.cells])
    differences = _config_differences(plan)
    allowed(differences, plan.allow_unequal)
    tried: set[tuple[str, str, str]] = set()
    for cell in plan.cells:
        check_run(cell.config)
        kind = (cell.role, cell.strategy, cell.task)
        if kind not in tried and not cell.is_finished:
            tried.add(kind)
            try:
                build_episode(cell.config, cell.directory)[0].close()
            except DataEnvGymError as error:
                raise ConfigurationError(
                    f"{cell.strategy} on {cell.task} cannot run: {error}"
                ) from error
    return differences


def has_result(cell: Cell) -> bool:
    """True if the episode is finished and has a result; a ceiling without records has none."""
    if not cell.is_finished:
        return False
    return cell.role != "ceiling" or read_summary(cell.directory).iterations[-1].n_records_total > 0


def _refuse_less(plan: StudyPlan) -> None:
    """Refuse a study without some of its earlier episodes: its tables would lose them."""
    check_format(plan.directory)
    path = plan.directory / "study.json"
    runs = {cell.directory.name for cell in plan.cells}
    before = read_json(path)["episodes"] if path.exists() else []
    before = [e for e in before if e["role"] == "strategy"]
    if lost := [e for e in before if e["run"] not in runs]:
        names = ", ".join(f"{e['strategy']} (seed {e['seed']})" for e in lost[:3])
        names += f" and {len(lost) - 3} more" if len(lost) > 3 else ""
        raise ConfigurationError(
            f"the study {plan.name!r} has {several(len(before), 'episode')}. These are "
            f"missing from this command: {names}. Ask for them too, with the same options "
            "(study.json has the command), choose another --name, or remove "
            f"{plan.directory}"
        )


def _config_differences(plan: StudyPlan) -> list[Difference]:
    found: list[Difference] = []
    for task in plan.grid.tasks:
        for seed in plan.grid.seeds:
            cells = [c for c in plan.cells if (c.task, c.seed) == (task.name, seed)]
            taught = {c.strategy: c.config for c in cells if c.role == "strategy"}
            found += config_differences(taught, budget=True)
            bound = {"ceiling": c.config for c in cells if c.role == "ceiling"}  # noqa: B035
            found += config_differences({**taught, **bound}, budget=False)
    return found
