"""`run_adaptation`: compares arms by a configuration, in a folder that the same call continues.

adaptations/NAME/{config.yaml, environment.json, results.json, report.md}
adaptations/NAME/seed-N/round-M/    edits, inner loops and results; of RestEM's round M also
records.jsonl, training/ and student/, the merged student
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from omegaconf import DictConfig, OmegaConf
from pydantic import PositiveInt

from dataenvgym.adaptation.arms import ArmResult, Arms
from dataenvgym.adaptation.continual import Continual, SequenceResult
from dataenvgym.adaptation.report import AdaptationReport, write_report
from dataenvgym.adaptation.rest_em import RestEM, StudentOf
from dataenvgym.environments.episode_directory import identity_of
from dataenvgym.errors import ConfigurationError
from dataenvgym.interfaces import TeacherInterface, TrainablePredictorInterface, can
from dataenvgym.runs.config import build_predictor, build_task, build_teacher, compose
from dataenvgym.runs.config.groups import options_by_group
from dataenvgym.runs.config.identity import task_name
from dataenvgym.runs.config.instantiation import (
    build_section,
    build_value,
    check_value,
    imported,
    section_target,
)
from dataenvgym.runs.config.overrides import parse_overrides
from dataenvgym.runs.config.workspaces import Workspaces
from dataenvgym.tasks.adapted_task import attemptable
from dataenvgym.tasks.base import Task
from dataenvgym.tasks.edits import WritesEdits
from dataenvgym.tasks.rollouts import close_speakers
from dataenvgym.teachers.teacher import StudentTeacher

_SECTIONS = ("task", "student", "predictor", "trainer", "teacher", "arms", "rest_em")
_ENGINE = "agent.engine"


ADAPTATIONS = Workspaces(
    "adaptation",
    "adaptations_dir=...",
    (*_SECTIONS, "engine"),
    begun="seed-*/*/*",
    free=frozenset({"seeds", "arms.names", "arms.replays"}),
)


class Adaptation(NamedTuple):
    """A finished run of arms.

    Attributes:
        was_finished: True if nothing was left to do.
    """

    directory: Path
    report: AdaptationReport
    was_finished: bool


class Prepared(NamedTuple):
    """The parts of a run, which fit; no model was asked, and no file of the run was touched."""

    directory: Path
    settings: DictConfig
    task: Task
    arms: Arms | Continual
    rest_em: RestEM
    engine: WritesEdits
    first: TrainablePredictorInterface
    student: StudentOf
    teacher: TeacherInterface | None
    seeds: range


def run_adaptation(
    overrides: Sequence[str] | DictConfig = (),
    *,
    config_dir: str | Path | None = None,
    continual: bool = False,
    fresh: bool = False,
    retry_errors: bool = False,
    on_begin: Callable[[Path], object] = lambda directory: None,
) -> Adaptation:
    """Run or continue arms, to their end.

    Args:
        overrides: Hydra's, such as "task=pocket_knowledge" or "arms.edits=3"; or a configuration
            from `compose(name="adapt")`.
        config_dir: a folder with your own YAML files.
        continual: run sequences of contexts (`Continual`) in place of `Arms`.
        fresh: start over, and remove existing files.
        retry_errors: try again what failed calls left open.
        on_begin: is called with the folder before any model is asked.

    Raises:
        ConfigurationError: for an impossible option, or a task without contexts.
        RunDirectoryError: if the folder began with another configuration, student or problems, or
            another process writes to it.
    """
    if isinstance(overrides, DictConfig):
        config = copy.deepcopy(overrides)
    else:
        config = adaptation_config(overrides, config_dir, continual=continual)
    with prepared_adaptation(config, fresh=fresh, retry_errors=retry_errors) as parts:
        directory, settings, arms = parts.directory, parts.settings, parts.arms
        identity = identity_of("adaptation", parts.task, parts.first, {})
        with ADAPTATIONS.opened(directory, settings, fresh=fresh, identity=identity):
            on_begin(directory)
            results: list[ArmResult | SequenceResult] = []
            for seed in parts.seeds:
                results += arms.run(
                    parts.task,
                    parts.engine,
                    parts.student,
                    directory / f"seed-{seed}",
                    rest_em=parts.rest_em,
                    teacher=parts.teacher,
                    seed=seed,
                    retry_errors=retry_errors,
                )
            report = AdaptationReport.of(parts.task.name, results)
            file = directory / "results.json"
            before = file.read_bytes() if file.exists() else None
            write_report(directory, report, results)
            return Adaptation(directory, report, before == file.read_bytes())


@contextmanager
def prepared_adaptation(
    config: DictConfig, *, fresh: bool = False, retry_errors: bool = False
) -> Iterator[Prepared]:
    """Build the parts of a run and check that they fit; its students are closed after the block.

    Raises:
        ConfigurationError, RunDirectoryError: as `run_adaptation`.
    """
    check_value(seeds := config.seeds, PositiveInt, "seeds")
    engine_options = _plain(config.agent.engine)
    settings = ADAPTATIONS.settings(config, engine=engine_options, seed=config.seed, seeds=seeds)
    directory = ADAPTATIONS.directory(config, settings, task_name(settings))
    if not fresh:
        ADAPTATIONS.check(directory, settings)
    arms: Arms | Continual = build_section(config, "arms")
    rest_em: RestEM = build_section(config, "rest_em")
    with ExitStack() as stack:
        task = attemptable(build_task(config, directory))
        stack.callback(close_speakers, task.others)
        task = task.on(arms.split)
        first = build_predictor(config, task=task)
        if can(first, "close"):
            stack.callback(first.close)

        def student(folder: Path | None) -> TrainablePredictorInterface:
            of_round = config if folder is None else _with_student(config, folder, first)
            made = build_predictor(of_round, task=task)
            if can(made, "close"):
                stack.callback(made.close)
            return made

        teacher = build_teacher(config, first, directory)
        given = {"task": task, "teacher": teacher or StudentTeacher(first)}
        engine: WritesEdits = build_value(engine_options, _ENGINE, given)
        arms.check(engine, teacher, retry_errors=retry_errors)
        if "rest_em" in arms.names:  # refused now, not after the first round
            _with_student(config, directory, first)
        each = range(config.seed, config.seed + seeds)
        for seed in each:  # all that follows raises before any model is asked
            (context, *_), _ = arms.chosen(task, engine, rest_em, seed)
            if arms.writes:
                engine.edit_prompt(context)
        yield Prepared(
            directory, settings, task, arms, rest_em, engine, first, student, teacher, each
        )


def adaptation_config(
    overrides: Sequence[str], config_dir: str | Path | None, *, continual: bool = False
) -> DictConfig:
    """The configuration, with the task's own engine of self-edits unless one was chosen."""
    name = "continual" if continual else "adapt"
    return compose(with_engine(overrides, config_dir, name), config_dir=config_dir, name=name)


def with_engine(
    overrides: Sequence[str], config_dir: str | Path | None, name: str
) -> Sequence[str]:
    """The overrides, with the task's own engine of self-edits unless one was chosen."""
    parsed = parse_overrides(overrides)
    if any(o.key == f"{_ENGINE}.samples" for o in parsed):
        raise ConfigurationError(
            f"{_ENGINE}.samples is for runs: the number of edits is arms.edits for the contexts "
            "that are evaluated, and rest_em.edits for those from which the writer learns"
        )
    groups = options_by_group(config_dir)
    choices = [o.text for o in parsed if o.key in groups or o.key.endswith("._target_")]
    config = compose(choices, config_dir=config_dir, name=name, allow_missing=True)
    target = config.agent.engine.get("_target_") if config.agent.get("engine") else None
    engine = None if target is None else imported(target, f"{_ENGINE}._target_")
    if not all(hasattr(engine, name) for name in ("contexts", "edit_prompt", "read_edit")):
        own = getattr(section_target(config, "task"), "self_edit_engine", None)
        if own is None or any(o.key == "agent/engine" for o in parsed):
            raise ConfigurationError(
                f"task {task_name(config)!r} has no self-edits, or {_ENGINE} writes none: choose "
                "task=pocket_knowledge, task=knowledge, task=squad or task=few_shot, or an engine "
                "with the methods of dataenvgym.adaptation.WritesEdits (agent/engine=...)"
            )
        return [*overrides, f"agent/engine={own}"]
    return overrides


def _with_student(
    config: DictConfig, folder: Path, first: TrainablePredictorInterface
) -> DictConfig:
    """The configuration with the whole student in a folder in place of its own."""
    if "student" not in config.predictor or not hasattr(first, "student"):
        raise ConfigurationError(
            f"predictor is {config.predictor.get('_target_')}, which has no option `student` for "
            "the merged student of RestEM: use dataenvgym's predictors, or leave rest_em out of "
            "arms.names"
        )
    changed = copy.deepcopy(config)
    values = {"student": str(folder.absolute()), "adapter": None}
    if (tool_format := getattr(first, "tool_format", None)) is not None:
        values["tool_format"] = tool_format  # by default, it depends on the student's name
    for name, value in values.items():
        if name in changed.predictor:
            OmegaConf.update(changed, f"predictor.{name}", value)
    return changed


def _plain(section: DictConfig) -> dict[str, Any]:
    found: Any = OmegaConf.to_container(section, resolve=True)
    assert isinstance(found, dict)
    return found
