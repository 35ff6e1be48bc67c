"""A study's request and the state of each of its episodes: `study.json`."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import ValidationError

from dataenvgym.errors import BrokenFileError, first_fault
from dataenvgym.records import Model
from dataenvgym.storage import read_json, write_json
from dataenvgym.studies.grid import Choice
from dataenvgym.workspace import FORMAT, refuse_newer

if TYPE_CHECKING:
    from dataenvgym.studies.plan import Cell, StudyPlan

FILE = "study.json"

Role = Literal["strategy", "floor", "ceiling"]


class EpisodeState(Model):
    """An episode of a study.

    Attributes:
        run: the name of its folder.
        status: "stopped" if a race does not need it.
        reason: why it has no result.
    """

    role: Role
    strategy: str
    task: str
    seed: int
    run: str
    status: Literal["finished", "unfinished", "stopped"]
    reason: str | None = None


class StudyState(Model):
    """A study as it was last run.

    Attributes:
        race: results chose which of its runs there are.
    """

    format: int = FORMAT
    name: str
    command: str
    strategies: tuple[Choice, ...]
    tasks: tuple[Choice, ...]
    seeds: tuple[int, ...]
    fixed: tuple[str, ...]
    baseline: str
    allow_unequal: tuple[str, ...]
    race: bool = False
    episodes: tuple[EpisodeState, ...]


def read_state(directory: Path) -> StudyState | None:
    """The state of the study in this folder; None without a study.

    Raises:
        BrokenFileError: if its file is damaged.
        NewerFormatError: if a newer dataenvgym wrote it.
    """
    path = directory / FILE
    if not path.exists():
        return None
    content = read_json(path)
    refuse_newer(path, content)
    try:
        return StudyState.model_validate(content)
    except ValidationError as error:
        raise BrokenFileError(
            f"{path} is damaged: {first_fault(error)}. The runs beside it are not: remove the file "
            "and repeat the study's command"
        ) from error


def write_state(
    plan: StudyPlan, *, unfinished: Iterable[tuple[Cell, str]], stopped: Iterable[Cell] = ()
) -> None:
    """Write the file.

    A race that goes on as a study remains one until all its episodes have run.

    Args:
        unfinished: the episodes without a result, and why.
        stopped: those that a race does not need.
    """
    reasons = {cell.directory: reason for cell, reason in unfinished}
    not_needed = {cell.directory for cell in stopped}
    grid, before = plan.grid, read_state(plan.directory)
    episodes = [
        EpisodeState(
            role=cell.role,
            strategy=cell.strategy,
            task=cell.task,
            seed=cell.seed,
            run=cell.directory.name,
            status="stopped" if cell.directory in not_needed
            else "unfinished" if cell.directory in reasons else "finished",
            reason=reasons.get(cell.directory),
        )
        for cell in plan.cells
    ]  # fmt: skip
    state = StudyState(
        name=plan.name,
        command=study_command(plan),
        strategies=grid.strategies,
        tasks=grid.tasks,
        seeds=grid.seeds,
        fixed=grid.fixed,
        baseline=plan.baseline,
        allow_unequal=plan.allow_unequal,
        race=plan.race or bool(before and before.race and reasons),
        episodes=tuple(episodes),
    )
    write_json(plan.directory / FILE, state.model_dump(mode="json"))


def study_command(plan: StudyPlan) -> str:
    """The command that runs this study."""
    words = ["dataenvgym", "study", *plan.overrides]
    for option, values in (
        ("--name", [plan.name]),
        ("--strategy", plan.named_strategies),
        ("--baseline", [None if plan.race else plan.baseline]),
        ("--test", [plan.test]),
        ("--looking-for", [plan.looking_for]),
        ("--allow-unequal", plan.allow_unequal),
    ):
        words += [str(w) for value in values if value is not None for w in (option, value)]
    words += ["--race"] if plan.race else []
    if not any(cell.role != "strategy" for cell in plan.cells):
        words.append("--no-bounds")
    return shlex.join(words)
