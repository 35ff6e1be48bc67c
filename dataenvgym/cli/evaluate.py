"""`dataenvgym eval`: a student on a task, without training."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from dataenvgym import config as configuration
from dataenvgym.cli.quiet import quieten
from dataenvgym.config.overrides import parse_overrides
from dataenvgym.config.run_directory import find_run
from dataenvgym.environments.iterations import (
    IterationFiles,
    finished_iterations,
    write_completed,
)
from dataenvgym.episodes.summary import best_iteration
from dataenvgym.errors import ConfigurationError, RunDirectoryError
from dataenvgym.interfaces import PredictorInterface, TaskInterface, TrainablePredictorInterface
from dataenvgym.records import CompletedTaskInstance, PerformanceReport
from dataenvgym.rollouts import rollout
from dataenvgym.tasks import Task

if TYPE_CHECKING:
    from omegaconf import DictConfig
    from rich.console import Console


def evaluate(arguments: Namespace) -> None:
    """Put the problems to the student; show its scores by skill."""
    from rich.console import Console

    quieten()
    console = Console(highlight=False)
    if arguments.iteration is not None and arguments.run is None:
        raise ConfigurationError("--iteration is one of a run: name it with --run RUN")
    config = configuration.compose(arguments.overrides, config_dir=arguments.config_dir)
    adapter = Path(arguments.adapter).expanduser() if arguments.adapter else None
    student = "the student"
    if arguments.run is not None:
        directory = find_run(arguments.run, str(config.runs_dir))
        config = _as_in_run(config, directory, arguments.overrides)
        iteration, adapter = _student_of(directory, arguments.iteration)
        student = f"iteration {iteration} of {directory.name}"
    elif adapter is not None:
        student = f"the student with {adapter}"

    task = _on_split(configuration.build_task(config), arguments.split)
    predictor = configuration.build_predictor(config, trainable=False)
    if arguments.run is not None or adapter is not None:
        _take_up(adapter, predictor)
    with console.status(f"{student} answers ..."):
        completed = _answer(task, predictor, arguments.limit)
    if arguments.output is not None:
        write_completed(Path(arguments.output).expanduser(), completed)
    report = task.generate_performance_report(completed)
    _show(report, f"{report.task}, {arguments.split} split: {student}", console)
    if arguments.output is not None:
        console.print(f"\ntranscripts: {arguments.output}", soft_wrap=True)


def _as_in_run(config: DictConfig, run: Path, overrides: Sequence[str]) -> DictConfig:
    """`config` with the run's task and student, except where the overrides say otherwise."""
    named = {override.section for override in parse_overrides(overrides)}
    before = configuration.read_config(run)
    for section in ("task", "student", "predictor", "trainer"):
        if section not in named:
            config[section] = before[section]
    return config


def _student_of(run: Path, number: int | None) -> tuple[int, Path | None]:
    """The iteration (the best if None), and the adapter that was active after it."""
    root = run / "iterations"
    results = [files.read_result() for files in finished_iterations(root)]
    if not results:
        raise RunDirectoryError(f"the run {run.name!r} has no finished iteration yet")
    number = best_iteration(results) if number is None else number
    if not 0 <= number < len(results):
        raise RunDirectoryError(
            f"the run {run.name!r} has no iteration {number}, only 0 to {len(results) - 1}"
        )
    active = results[number].adapter
    return number, None if active is None else IterationFiles(root, active).adapter


def _on_split(task: TaskInterface, split: str) -> TaskInterface:
    on = getattr(task, "on", None)
    if on is not None:
        return cast(TaskInterface, on(split))
    if split != "validation":
        raise ConfigurationError(
            f"{type(task).__name__} has no splits (no method `on`), so --split {split} cannot be"
        )
    return task


def _take_up(adapter: Path | None, predictor: PredictorInterface) -> None:
    """Have the student answer with that adapter."""
    if not isinstance(predictor, TrainablePredictorInterface):
        raise ConfigurationError(
            f"predictor is a {type(predictor).__name__}, which answers and learns nothing: leave "
            "out --run or --adapter, or choose a student that can be trained"
        )
    if adapter is not None:
        predictor.load(adapter)


def _answer(
    task: TaskInterface, predictor: PredictorInterface, limit: int | None
) -> Sequence[CompletedTaskInstance]:
    if limit is None:
        return task.evaluate(predictor)
    if limit < 1:
        raise ConfigurationError(f"--limit is {limit}, expected 1 or more")
    if not isinstance(task, Task):
        raise ConfigurationError(
            f"{type(task).__name__} does not offer its instances, so --limit cannot be"
        )
    return rollout(
        predictor,
        task.instances[:limit],
        task.make_environment,
        sampling=task.sampling,
        chunk_size=task.chunk_size,
        threads=task.threads,
    )


def _show(report: PerformanceReport, title: str, console: Console) -> None:
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=None, header_style="bold")
    table.add_column("category")
    table.add_column("skill")
    for name in ("score", "accuracy", "n", "errors"):
        table.add_column(name, justify="right")
    for skill in report.skills:
        if skill.skill:
            table.add_row(
                skill.category or "",
                skill.skill,
                "-" if skill.score is None else f"{skill.score:.3f}",
                "-" if skill.accuracy is None else f"{skill.accuracy:.3f}",
                str(skill.n),
                str(skill.n_errors or ""),
            )
    table.add_row(
        "all",
        "",
        f"{report.score:.3f}",
        f"{report.accuracy:.3f}",
        str(report.n),
        str(report.n_errors or ""),
        style="bold",
    )
    console.print(table)
