"""Takes the student and the task of a run for an evaluation.

A section of the run (task, student, predictor, trainer) is taken unchanged, with given options
applied to it. Only a section that is chosen (`task=gsm8k`) is composed again. `student=...` may
choose its predictor, so the predictor is composed again with it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from omegaconf import DictConfig, OmegaConf

from dataenvgym.environments.episode_directory import identity_of
from dataenvgym.environments.iterations import IterationFiles, finished_iterations, former_of
from dataenvgym.errors import ConfigurationError, RunDirectoryError, did_you_mean
from dataenvgym.interfaces import (
    PredictorInterface,
    TrainablePredictorInterface,
    can,
)
from dataenvgym.runs.config.building import build_predictor, build_task
from dataenvgym.runs.config.composition import compose, overlay
from dataenvgym.runs.config.groups import read_with_bases, sources_by_group
from dataenvgym.runs.config.identity import short_name
from dataenvgym.runs.config.overrides import new_speakers, parse_overrides
from dataenvgym.runs.config.received import refuse_untrusted
from dataenvgym.runs.config.run_directory import find_run, read_config
from dataenvgym.runs.config.values import literal
from dataenvgym.runs.episodes.summary import best_iteration
from dataenvgym.tasks.adapted_task import known_instances
from dataenvgym.tasks.base import Task
from dataenvgym.tasks.source import SPLITS, Split
from dataenvgym.workspace import is_hand_made, read_identity

SECTIONS = ("task", "student", "predictor", "trainer")
"""The sections taken from a run."""


def compose_for_run(
    run: str, overrides: Sequence[str], *, config_dir: str | Path | None = None, trust: bool = False
) -> tuple[DictConfig, Path]:
    """Compose an evaluation with the run's task and student; also return the run's folder.

    Args:
        run: its name, or the path of its folder.
        overrides, config_dir: as for `compose`.
        trust: accept any class or program that the run's folder names (see `workspaces`).

    Raises:
        ConfigurationError: as `compose`; options are checked against the section they change. Also
            for an untrusted section of the run, and for another speaker of the run's task.
        RunDirectoryError: if there is no such run; or if it was made in Python, with another task
            or student than that of `overrides`.
    """
    parsed = parse_overrides(overrides)
    # `task=...` or `trainer/method=...`, not `task.limit=...`
    chosen = {
        o.section for o in parsed if o.section in SECTIONS and (o.key == o.section or "/" in o.key)
    }
    if "student" in chosen:
        chosen.add("predictor")
    if (named := new_speakers(parsed)) and "task" not in chosen:
        raise ConfigurationError(
            f"task.others.{named[0]} would be a new speaker, and --run takes the task with the "
            "speakers of the run: choose the task, too (such as task=social)"
        )
    taken = [section for section in SECTIONS if section not in chosen]
    anew = [o.text for o in parsed if o.section not in taken]
    config = compose(anew, config_dir=config_dir, name="eval")
    directory = find_run(run, str(config.runs_dir))
    if is_hand_made(directory):
        config = compose(overrides, config_dir=config_dir, name="eval")
        _refuse_another(directory, config, chosen)
        return config, directory
    before = read_config(directory)
    for section in taken:
        config[section] = before[section]
    if not trust:
        file = directory / "config.yaml"
        refuse_untrusted(config, taken, file, parsed, config_dir=config_dir)
    _relink(config, [s for s in taken if s in ("predictor", "trainer")], config_dir)
    return overlay(config, [o.text for o in parsed if o.section in taken]), directory


@dataclass(frozen=True)
class Student:
    """The evaluated student: the predictor of the configuration, perhaps with an adapter.

    Attributes:
        name: for titles.
        run: the folder of its run.
        former: for a run, the folder of its adapter before the last training; None for none.
        is_taught: True if the predictor must be able to load an adapter.
    """

    name: str
    adapter: Path | None = None
    run: Path | None = None
    former: Path | None = None

    @property
    def is_taught(self) -> bool:
        return self.run is not None or self.adapter is not None

    def build(self, config: DictConfig) -> PredictorInterface:
        """Build the predictor, and load its adapter."""
        predictor = build_predictor(config, trainable=False)
        if not self.is_taught:
            return predictor
        if not isinstance(predictor, TrainablePredictorInterface):
            raise ConfigurationError(
                f"predictor is a {type(predictor).__name__}, which answers and learns nothing: "
                "leave out --run or --adapter, or choose a student that can be trained"
            )
        if self.adapter is not None:
            predictor.load(self.adapter)
            if self.run is not None and can(predictor, "with_adapter"):
                predictor.remember_former(self.former)
        return predictor


def student_of(run: Path, number: int | None) -> Student:
    """The student after an iteration (the best one if None), with its active adapter."""
    root = run / "iterations"
    results = [files.read_result() for files in finished_iterations(root)]
    if not results:
        raise RunDirectoryError(f"the run {run.name!r} has no finished iteration yet")
    number = best_iteration(results) if number is None else number
    if not 0 <= number < len(results):
        raise RunDirectoryError(
            f"the run {run.name!r} has no iteration {number}, only 0 to {len(results) - 1}"
        )
    name, active = f"iteration {number} of {run.name}", results[number].adapter
    if active is None:
        return Student(name, run=run)
    files = IterationFiles(root, active)
    files.check_adapter()
    return Student(name, files.adapter, run, former_of(root, active))


def _refuse_another(directory: Path, config: DictConfig, chosen: Collection[str]) -> None:
    """Refuse another task or student than those of a run made in Python, unless it was chosen.

    Such a run has no configuration, but descriptions of both.
    """
    known = read_identity(directory)
    task = build_task(config)
    found = identity_of("", task, build_predictor(config, trainable=False, task=task), {})
    for section, key, ways in (
        ("task", "instances", "task=NAME task.KEY=VALUE"),
        ("predictor", "predictor", "student=NAME, predictor=NAME or model=KIND/NAME"),
    ):
        before, now = (identity.get(key) for identity in (known, found))
        if section == "predictor":  # without its training
            before, now = ({**(one or {}), "training": None} for one in (before, now))
        if section not in chosen and before != now:
            raise RunDirectoryError(
                f"{directory} was made in Python, so it has no config.yaml that names its "
                f"{section}, and it is not {short_name(config[section])!r} as composed here: "
                f"name it ({ways}; your own class as {section}=my_module.MyClass), or "
                "evaluate in Python: predictor.load(ADAPTER), then task.evaluate(predictor)"
            )


def _relink(config: DictConfig, sections: Sequence[str], config_dir: str | Path | None) -> None:
    """Restore references between values, such as that of `predictor.student` to `student.path`.

    A run saves them resolved. A value that differs from its reference was given by the user, and
    stays.
    """
    groups = sources_by_group(config_dir)
    for section in sections:
        files = groups.get(section, {})
        for option in files:
            raw = read_with_bases(option, files)
            if raw.get("_target_") != config[section].get("_target_"):
                continue
            for name, value in raw.items():
                follows = isinstance(value, str) and "${" in value
                if not follows or not isinstance(name, str) or name not in config[section]:
                    continue
                before = config[section][name]
                config[section][name] = value
                if OmegaConf.select(config, f"{section}.{name}") != before:
                    config[section][name] = literal(before)


ALL = "all"
"""The split that means all problems of a task with one source."""


def on_split(task: Task, split: str) -> Task:
    """The task on this split, or with all its problems; ConfigurationError if it has none such."""
    names = (*SPLITS, ALL)
    if split not in names:
        raise ConfigurationError(
            f"--split is {split!r}, expected one of {', '.join(names)}.{did_you_mean(split, names)}"
        )
    return task.whole() if split == ALL else task.on(cast(Split, split))


def default_split(task: Task, config: DictConfig, students: Iterable[Path]) -> str:
    """All problems of a task with one source, unless a student (a run, or its adapter) knows it."""
    if not task.has_one_source:
        return "validation"
    sources = _sources(config)
    learned = any(_sources(run) == sources for path in students if (run := _run_of(path)))
    return "validation" if learned else ALL


def problems_of(task: Task, limit: int | None) -> str | None:
    """Say which part of the task's problems is used: "2 of 20 problems (validation is 10%)".

    None for all problems, or if it is unknown.
    """
    part, n = task.share(), len(known_instances(task))
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
