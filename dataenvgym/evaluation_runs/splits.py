"""The problems of an evaluation: a split of the task, or all problems of its single file."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from dataenvgym.config.run_directory import read_config
from dataenvgym.errors import ConfigurationError, did_you_mean
from dataenvgym.interfaces import TaskInterface
from dataenvgym.tasks.adapted import AdaptedTask, known_instances, task_of
from dataenvgym.tasks.source import SPLITS, Split

if TYPE_CHECKING:
    from omegaconf import DictConfig

ALL = "all"
"""The split that means all problems of a task with one source."""


def on_split(task: TaskInterface, split: str) -> TaskInterface:
    """The task on this split, or with all its problems.

    Raises:
        ConfigurationError: if it has no such split, or none at all.
    """
    names = (*SPLITS, ALL)
    if split not in names:
        raise ConfigurationError(
            f"--split is {split!r}, expected one of {', '.join(names)}.{did_you_mean(split, names)}"
        )
    found = task_of(task)
    chosen = found.whole() if split == ALL else found.on(cast(Split, split))
    return chosen.inner if isinstance(chosen, AdaptedTask) else chosen


def default_split(task: TaskInterface, config: DictConfig, students: Iterable[Path]) -> str:
    """All problems of a task with one source, unless the student was trained on it.

    Args:
        students: runs of the student, or adapters of runs.
    """
    if not task_of(task).has_one_source:
        return "validation"
    sources = _sources(config)
    learned = any(_sources(run) == sources for path in students if (run := _run_of(path)))
    return "validation" if learned else ALL


def problems_of(task: TaskInterface, limit: int | None) -> str | None:
    """Say which part of the task's problems is used: "2 of 20 problems (validation is 10%)".

    None for all problems, or if it is unknown.
    """
    part, n = task_of(task).share(), len(known_instances(task))
    if limit is None or limit >= n:
        return part
    return f"the first {limit} of {part or f'{n} problems'}"


def _run_of(path: Path) -> DictConfig | None:
    """The configuration of the run in a folder, or of the run with an adapter."""
    for folder in (path, *path.absolute().parents[2:3]):
        if (folder / "config.yaml").exists():
            return read_config(folder)
    return None


def _sources(config: DictConfig) -> Any:
    """The sources of the configured task, with absolute paths."""
    sources = config.task.get("sources")
    return str(Path(sources).expanduser().absolute()) if isinstance(sources, str) else sources
