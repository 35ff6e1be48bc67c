"""`dataenvgym eval`: a student on a task, without training."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dataenvgym import config as configuration
from dataenvgym.cli.console import open_console, showing_warnings
from dataenvgym.cli.quiet import quieten
from dataenvgym.cli.splits import ALL, default_split, on_split, problems_of
from dataenvgym.config.evaluated_run import compose_for_run
from dataenvgym.config.evaluation_directory import (
    check_evaluation,
    evaluation_directory,
    evaluation_files,
    evaluation_settings,
    hold_evaluation,
    keep_settings,
    read_evaluation,
)
from dataenvgym.config.overrides import parse_overrides
from dataenvgym.environments.identity import (
    identity_of,
    read_identity,
    refuse_another,
    write_identity,
)
from dataenvgym.environments.iterations import (
    IterationFiles,
    finished_iterations,
    write_completed,
)
from dataenvgym.episodes.summary import best_iteration
from dataenvgym.episodes.texts import several
from dataenvgym.errors import (
    ConfigurationError,
    EvaluationError,
    InvalidInstanceError,
    RunDirectoryError,
)
from dataenvgym.evaluation.drawing import (
    check_samples,
    draw_samples,
    instances_of,
)
from dataenvgym.evaluation.files import EvaluationFiles
from dataenvgym.evaluation.metrics import parse_metrics, quoted_metrics
from dataenvgym.evaluation.results import EvaluationResults, completed_of, sum_up
from dataenvgym.format_version import raise_format
from dataenvgym.interfaces import (
    PredictorInterface,
    TaskInterface,
    TrainablePredictorInterface,
)
from dataenvgym.progress import listening
from dataenvgym.tasks.adapted import one_by_one, task_of

if TYPE_CHECKING:
    from omegaconf import DictConfig
    from rich.console import Console


def evaluate(arguments: Namespace) -> None:
    """Put the problems to the student, as often as is asked for; show its scores and metrics."""
    quieten()
    console = open_console()
    with showing_warnings(console):
        _evaluate(arguments, console)


def _evaluate(arguments: Namespace, console: Console) -> None:
    from rich.text import Text

    if arguments.iteration is not None and arguments.run is None:
        raise ConfigurationError("--iteration is one of a run: name it with --run RUN")
    overrides = [quoted_metrics(text) for text in arguments.overrides]
    adapter = Path(arguments.adapter).expanduser() if arguments.adapter else None
    student = "the student" if adapter is None else f"the student with {adapter}"
    run: Path | None = None
    if arguments.run is None:
        config = configuration.compose(overrides, config_dir=arguments.config_dir, name="eval")
    else:
        config, run = compose_for_run(
            arguments.run, overrides, config_dir=arguments.config_dir, trust=arguments.trust
        )
        iteration, adapter = _student_of(run, arguments.iteration)
        student = f"iteration {iteration} of {run.name}"

    _draw_if_greedy(config, overrides)
    task = configuration.build_task(config)
    learned = [run, adapter, config.student.get("adapter")]
    students = [Path(path) for path in learned if path is not None]
    split = arguments.split or default_split(task, config, students)
    task = on_split(task, split)
    settings = evaluation_settings(config, split=split, limit=arguments.limit, adapter=adapter)
    samples = int(settings.samples)
    metrics = parse_metrics(settings.metrics, samples)
    sign = "" if "sampling" in config.task else "+"
    check_samples(task, samples, sign=sign)
    _refuse_seed(task, overrides, sign)
    directory = evaluation_directory(config, settings)
    if not arguments.fresh:
        check_evaluation(directory, settings)
    files = evaluation_files(directory, settings)
    was_finished = files.has(samples) and not (arguments.fresh or arguments.retry_errors)
    doubt = _changed(files, task, config) if was_finished else None
    if not was_finished:
        instances = instances_of(task, samples, arguments.limit)
        settings.problems = problems_of(task, arguments.limit)
        predictor = configuration.build_predictor(config, trainable=False)
        if arguments.run is not None or adapter is not None:
            _take_up(adapter, predictor)
        with (
            hold_evaluation(directory, settings, fresh=arguments.fresh) as files,
            console.status(Text(said := f"{student} answers ...")) as status,
        ):
            identity = _known(files, task, predictor)
            keep_settings(directory, settings)
            if files.is_begun:
                raise_format(directory)
            else:
                write_identity(directory, identity)
            with listening(lambda text: status.update(Text(f"{said} {text}"))):
                draw_samples(
                    files,
                    task,
                    predictor,
                    instances,
                    samples,
                    retry_errors=arguments.retry_errors,
                )
    results = sum_up(files, task, metrics, samples)
    if arguments.output is not None:
        write_completed(Path(arguments.output).expanduser(), completed_of(files, samples))
    title = f"{'all problems' if split == ALL else f'{split} split'}: {student}"
    if samples > 1:
        temperature = task_of(task).sampling.temperature
        title += f", {samples} samples of each problem at temperature {temperature}"
    problems = read_evaluation(directory).get("problems")
    if problems is not None and split != ALL and task_of(task).has_one_source:
        problems += f"; --split {ALL} takes all"
    _show(results, files, title, problems, console)
    if arguments.output is not None:
        console.print(f"transcripts: {arguments.output}", soft_wrap=True)
    if was_finished:
        tried = one_by_one(task)
        drawn = tried is not None and tried.sampling.temperature > 0.0
        extend = "more samples extend it (samples=...), " if drawn else ""
        said = f"This evaluation was finished already: {extend}--fresh starts anew."
        console.print(said, soft_wrap=True)
    if doubt is not None:
        console.print(doubt, soft_wrap=True)


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
    if active is None:
        return number, None
    files = IterationFiles(root, active)
    files.check_adapter()
    return number, files.adapter


def _take_up(adapter: Path | None, predictor: PredictorInterface) -> None:
    """Have the student answer with that adapter."""
    if not isinstance(predictor, TrainablePredictorInterface):
        raise ConfigurationError(
            f"predictor is a {type(predictor).__name__}, which answers and learns nothing: leave "
            "out --run or --adapter, or choose a student that can be trained"
        )
    if adapter is not None:
        predictor.load(adapter)


def _draw_if_greedy(config: DictConfig, overrides: Sequence[str]) -> None:
    """Give several samples of a greedy task a temperature, if none was asked for."""
    from omegaconf import OmegaConf

    key = "task.sampling.temperature"
    asked = any(override.key == key for override in parse_overrides(overrides))
    if config.samples != 1 and not asked and OmegaConf.select(config, key) == 0.0:
        OmegaConf.update(config, key, float(config.sample_temperature))


def _refuse_seed(task: TaskInterface, overrides: Sequence[str], sign: str) -> None:
    """Refuse a seed that would change nothing where samples are drawn."""
    if task_of(task).sampling.temperature == 0.0:
        return
    for override in parse_overrides(overrides):
        if override.key == "seed":
            raise ConfigurationError(
                f"seed={override.value} changes nothing in an evaluation: "
                f"{sign}task.sampling.seed={override.value} draws other samples"
            )


def _changed(files: EvaluationFiles, task: TaskInterface, config: DictConfig) -> str | None:
    """Refuse to show an evaluation of other problems or another student; None if it is the same.

    Where that cannot be seen any more, because the files are gone, what can be said of it.
    """
    try:
        instances_of(task, 1)
        predictor = configuration.build_predictor(config, trainable=False)
    except (ConfigurationError, InvalidInstanceError) as error:
        return f"Whether student and problems are still the same cannot be seen: {error}"
    _known(files, task, predictor)
    return None


def _known(
    files: EvaluationFiles, task: TaskInterface, predictor: PredictorInterface
) -> dict[str, object]:
    """Who answers what; refuse to go on with other problems or another student."""
    directory = files.directory
    identity = identity_of("evaluation", task, predictor, {})
    if not files.is_begun:
        return identity
    try:
        refuse_another(directory, identity)
    except RunDirectoryError as error:
        before = read_identity(directory)
        if before is None or any(before.get(key) != identity[key] for key in identity
                                 if key != "instances"):  # fmt: skip
            raise
        raise RunDirectoryError(
            f"{error}. The problems are others than then: `dataenvgym rescore {directory}` judges "
            "the samples that are there by those of today, without the student; --fresh draws "
            "them anew"
        ) from error
    return identity


def _show(
    results: EvaluationResults,
    files: EvaluationFiles,
    title: str,
    problems: str | None,
    console: Console,
) -> None:
    from rich.text import Text

    from dataenvgym.cli.evaluation_tables import metric_table, skill_table

    again = "once the cause is gone, the same command with --retry-errors draws them again"
    if results.report is None:
        reason = next(files.read_samples(results.samples)).error
        raise EvaluationError(f"no sample could be scored: {reason}; {again}")
    named = Text(f"{results.report.task}, {title}", style="italic")
    console.print(named, soft_wrap=True)
    if problems is not None:
        console.print(Text(problems), soft_wrap=True)
    console.print(skill_table(results.report))
    console.print()
    console.print(metric_table(results.metrics), crop=False)
    console.print(f"\nsamples: {files.directory}", soft_wrap=True)
    if failed := results.report.n_errors:
        console.print(f"{several(failed, 'sample')} failed; {again}", soft_wrap=True)
