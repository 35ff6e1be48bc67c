"""`run_evaluation`: evaluates a student on the problems of a task.

`rescore_evaluation` judges its samples again, without the student.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypedDict, Unpack

from omegaconf import DictConfig, OmegaConf

from dataenvgym.environments.episode_directory import identity_of
from dataenvgym.errors import (
    ConfigurationError,
    EvaluationError,
    InvalidInstanceError,
    RunDirectoryError,
)
from dataenvgym.interfaces import PredictorInterface
from dataenvgym.options import refuse_unknown
from dataenvgym.records import CompletedTaskInstance, PerformanceReport
from dataenvgym.runs.config import build_judge, build_predictor, build_task, compose, find_run
from dataenvgym.runs.config.building import check_stored, ledger_of
from dataenvgym.runs.config.overrides import parse_overrides
from dataenvgym.runs.config.values import resolved_yaml
from dataenvgym.runs.config.workspaces import warn_of_changes
from dataenvgym.runs.evaluation.directory import (
    EVALUATIONS,
    addition_kind,
    evaluation_directory,
    evaluation_files,
    evaluation_settings,
    fingerprint,
    settings_to_rescore,
)
from dataenvgym.runs.evaluation.evaluated_run import (
    Student,
    compose_for_run,
    default_split,
    on_split,
    problems_of,
    student_of,
)
from dataenvgym.tasks.adapted_task import one_by_one
from dataenvgym.tasks.base import Task
from dataenvgym.tasks.domain import warn_of_unread
from dataenvgym.tasks.metrics.files import EvaluationFiles
from dataenvgym.tasks.metrics.judged_samples import JudgedSamples, judge_samples
from dataenvgym.tasks.metrics.metric import parse_metric, parse_metrics, quoted_metrics
from dataenvgym.tasks.metrics.rescoring import RescoringResult, rescore_folder
from dataenvgym.tasks.metrics.results import EvaluationResults, completed_of, sum_up
from dataenvgym.tasks.metrics.sampling import check_samples, draw_samples, instances_of
from dataenvgym.tasks.metrics.usage import EvaluationCosts, StudentUsage, usage_of, write_costs
from dataenvgym.tasks.rollouts import close_speakers, student_speakers
from dataenvgym.tasks.rollouts.speakers import FORMER
from dataenvgym.workspace import opened, refuse_another


@dataclass(frozen=True)
class Evaluation:
    """A finished evaluation.

    Attributes:
        directory: its folder.
        results: metrics, and scores by skill.
        usage: tokens and seconds of the student; None if an earlier version drew the samples.
        costs: tokens, money and seconds of each speaker; None if they are unknown.
        added: the table that the task's domain adds, such as that of scenes; else None.
        task: the task, on the split.
        split: the split of the problems; "all" for all problems.
        student: the student's name.
        problems: which part of the task's problems was used, in words; None for all of them.
        was_finished: True if nothing was left to do.
        doubt: a note on an evaluation that was already finished (see `_doubt`), or None.
    """

    directory: Path
    results: EvaluationResults
    usage: StudentUsage | None
    costs: EvaluationCosts | None
    added: Any
    task: Task
    split: str
    student: str
    problems: str | None
    was_finished: bool
    doubt: str | None
    _files: EvaluationFiles

    @property
    def samples(self) -> int:
        """The number of samples of each problem."""
        return self.results.samples

    @property
    def temperature(self) -> float:
        """The temperature of the samples."""
        return self.task.sampling.temperature

    @property
    def can_be_extended(self) -> bool:
        """True if more samples would differ from these."""
        return one_by_one(self.task) is not None and self.temperature > 0.0

    @property
    def report(self) -> PerformanceReport:
        """Scores by skill; EvaluationError if no sample could be scored."""
        if self.results.report is None:
            reason = next(self._files.read_samples(self.samples)).error
            raise EvaluationError(
                f"no sample could be scored: {reason}; once the cause is gone, the same command "
                "with --retry-errors draws them again"
            )
        return self.results.report

    def completed(self) -> list[CompletedTaskInstance]:
        """Every sample, as a completed instance."""
        return completed_of(self._files, self.samples)


class Prepared(NamedTuple):
    """An evaluation before its student is asked; nothing of it is on disk."""

    config: DictConfig
    settings: DictConfig
    student: Student
    task: Task
    addition: Any
    directory: Path
    files: EvaluationFiles


class EvaluationOptions(TypedDict, total=False):
    """The student and the problems of an evaluation.

    Attributes:
        run: name or folder of the run with the task and the student.
        iteration: of the run; None takes the best one.
        adapter: the folder of an adapter for the student, in place of a run.
        split: train, validation, test or all. None takes all for a task with one source, unless the
            student was trained on it; else validation.
        limit: the most problems: only the first ones are used.
        fresh: start over, and remove existing files.
        config_dir: a folder with your own YAML files.
        trust: run any code that the run's config.yaml names (see `config.workspaces`).
    """

    run: str | None
    iteration: int | None
    adapter: str | Path | None
    split: str | None
    limit: int | None
    fresh: bool
    config_dir: str | Path | None
    trust: bool


def prepare_evaluation(
    overrides: Sequence[str] | DictConfig = (), **options: Unpack[EvaluationOptions]
) -> Prepared:
    """Check the options of an evaluation and build its task; see `run_evaluation`."""
    refuse_unknown(options, EvaluationOptions, "an evaluation")
    run, iteration = options.get("run"), options.get("iteration")
    adapter, config_dir = options.get("adapter"), options.get("config_dir")
    if iteration is not None and run is None:
        raise ConfigurationError("--iteration is an iteration of a run: name it with --run RUN")
    if run is not None and adapter is not None:
        raise ConfigurationError("an adapter and a run are two students: leave one of them out")
    adapter = None if adapter is None else Path(adapter).expanduser()
    student = Student("the student" if adapter is None else f"the student with {adapter}", adapter)
    asked: list[str] | None = None
    found: Path | None = None
    if isinstance(overrides, DictConfig):
        config = copy.deepcopy(overrides)
        found = None if run is None else find_run(run, str(config.runs_dir))
    else:
        asked = [quoted_metrics(text) for text in overrides]
        if run is None:
            config = compose(asked, config_dir=config_dir, name="eval")
        else:
            config, found = compose_for_run(
                run, asked, config_dir=config_dir, trust=options.get("trust", False)
            )
    if found is not None:
        student = student_of(found, iteration)
    # several samples of a greedy task get a temperature, if none was chosen
    key = "task.sampling.temperature"
    typed = {override.key: override.value for override in parse_overrides(asked or ())}
    if config.samples != 1 and key not in typed and OmegaConf.select(config, key) == 0.0:
        OmegaConf.update(config, key, float(config.sample_temperature))
    kind = addition_kind(config)
    addition = None if kind is None else kind.of(config, asked, student.adapter)
    task = build_task(config)
    learned = [student.run, student.adapter, config.student.get("adapter")]
    split = options.get("split") or default_split(
        task, config, [Path(path) for path in learned if path]
    )
    task = on_split(task, split)
    settings = evaluation_settings(
        config, split=split, limit=options.get("limit"), adapter=student.adapter
    )
    samples = int(settings.samples)
    if any(s.adapter == FORMER for s in student_speakers(task.others).values()):
        settings.former = fingerprint(student.former)
    parse_metrics(settings.metrics, samples)
    sign = "" if "sampling" in config.task else "+"
    check_samples(task, samples, sign=sign)
    if "seed" in typed and task.sampling.temperature != 0.0:
        raise ConfigurationError(
            f"seed={typed['seed']} changes nothing in an evaluation: "
            f"{sign}task.sampling.seed={typed['seed']} draws other samples"
        )
    directory = evaluation_directory(config, settings)
    if not options.get("fresh"):
        EVALUATIONS.check(directory, settings)
    files = evaluation_files(directory, settings)
    return Prepared(config, settings, student, task, addition, directory, files)


def run_evaluation(
    overrides: Sequence[str] | DictConfig = (),
    *,
    retry_errors: bool = False,
    on_begin: Callable[[Path], object] = lambda directory: None,
    **options: Unpack[EvaluationOptions],
) -> Evaluation:
    """Run or resume an evaluation, to its end.

    Args:
        overrides: Hydra's, such as "task=pocket_math" or "samples=4"; or a configuration from
            `compose(name="eval")`.
        retry_errors: draw samples whose infrastructure failed again.
        on_begin: is called with the evaluation's folder before the student is asked; not for a
            finished evaluation.
        options: the student and the problems, see `EvaluationOptions`.

    Raises:
        ConfigurationError: for an impossible option.
        RunDirectoryError: if the folder began with other settings, another student or other
            problems; if another process writes to it; if there is no such run.
    """
    prepared = prepare_evaluation(overrides, **options)
    return run_prepared(prepared, options, retry_errors=retry_errors, on_begin=on_begin)


def run_prepared(
    prepared: Prepared,
    options: EvaluationOptions,
    *,
    retry_errors: bool = False,
    on_begin: Callable[[Path], object] = lambda directory: None,
    build: Callable[[Prepared], PredictorInterface] = lambda p: p.student.build(p.config),
) -> Evaluation:
    """Run or resume a prepared evaluation; see `run_evaluation`.

    Args:
        options: those that it was prepared with.
        build: builds the student; a suite shares it.
    """
    config, settings, student, task, addition, directory, files = prepared
    fresh, limit = options.get("fresh", False), options.get("limit")
    if not fresh:
        warn_of_changes(config, directory)
    split, samples = str(settings.split), int(settings.samples)
    metrics = parse_metrics(settings.metrics, samples)
    # built first, so that errors are raised before the student is asked
    judge = build_judge(settings.judge, directory) if "judge" in settings else None
    was_drawn = files.has(samples) and not (fresh or retry_errors)
    doubt = _doubt(files, task, config) if was_drawn else None
    if not was_drawn:
        instances = instances_of(task, samples, limit)
        settings.problems = problems_of(task, limit)
        predictor = build(prepared)
        if addition is not None:
            addition.check(task, predictor, instances or ())
        with ExitStack() as stack:
            # they were made with the task, and are not asked any more
            stack.callback(close_speakers, getattr(task, "others", None) or {})
            identity = identity_of("evaluation", task, predictor, {})
            stack.enter_context(
                EVALUATIONS.opened(directory, settings, fresh=fresh, identity=identity)
            )
            if (ledger := ledger_of(task)) is not None:
                ledger.directory = directory
            if addition is not None:
                addition.begin(task, directory)
            on_begin(directory)
            draw_samples(files, task, predictor, instances, samples, retry_errors=retry_errors)
    check_stored(task, directory)
    judged: JudgedSamples | None = None
    if judge is not None:
        settings.problems = EVALUATIONS.read(directory).get("problems")
        with closing(judge), EVALUATIONS.opened(directory, settings):
            judged = judge_samples(files, judge, completed_of(files, samples), samples)
    results = sum_up(files, task, metrics, samples, judged)
    if results.report is not None:
        parts = task.parts.values()
        warn_of_unread(results.report, [part.domain.answer_form for part in parts])
    return Evaluation(
        directory=directory,
        results=results,
        usage=usage_of(files, samples),
        costs=write_costs(files, samples, () if judged is None else judged.costs),
        added=None if addition is None else addition.sum_up(files, samples, was_drawn=was_drawn),
        task=task,
        split=split,
        student=student.name,
        problems=EVALUATIONS.read(directory).get("problems"),
        was_finished=was_drawn and (judged is None or not judged.n_asked),
        doubt=doubt,
        _files=files,
    )


def _doubt(files: EvaluationFiles, task: Task, config: DictConfig) -> str | None:
    """Refuse to show a finished evaluation of other problems or another student; note doubts.

    They are that files for the comparison are missing, or that a store gets no episodes.
    """
    try:
        instances_of(task, 1)
        predictor = build_predictor(config, trainable=False)
    except (ConfigurationError, InvalidInstanceError) as error:
        return f"Whether student and problems are still the same cannot be seen: {error}"
    identity = identity_of("evaluation", task, predictor, {})
    refuse_another(files.directory, identity, EVALUATIONS.way_out)
    if OmegaConf.select(config, "store._target_"):
        return "store= keeps episodes as they are played, and all were: --fresh plays them again"
    return None


def rescore_evaluation(
    evaluation: str,
    overrides: Sequence[str] = (),
    *,
    evaluations_dir: str | Path = "evaluations",
    trust: bool = False,
) -> RescoringResult:
    """Judge the samples again, and write the new scores beside the old ones.

    Args:
        evaluation: its name, or the path of its folder.
        overrides: other metrics, a judge for them (`teacher=...`, `judge.rubric=...`), or changes
            to the task that affect judging.
        evaluations_dir: the folder of evaluations.
        trust: run any code that the evaluation's config.yaml names (see `config.workspaces`).

    Raises:
        ConfigurationError: for an option that does not affect judging.
        RunDirectoryError: if there is no such evaluation, or no sample in it is complete.
    """
    directory = EVALUATIONS.find(evaluation, evaluations_dir)
    before = EVALUATIONS.read(directory)
    files = evaluation_files(directory, before)
    overrides = [quoted_metrics(text) for text in overrides]
    settings = settings_to_rescore(directory, overrides, trust=trust)
    asked = any(override.key == "metrics" for override in parse_overrides(overrides))
    task = on_split(build_task(settings), settings.split)
    with opened(directory):
        samples = files.count_complete()
        if not samples:
            raise RunDirectoryError(
                f"{directory} has no complete sample of every problem yet: the `dataenvgym eval` "
                "that began it resumes it"
            )
        names = settings.metrics
        if not asked:  # those of the evaluation that this number of samples allows
            names = [name for name in names or () if parse_metric(name).k <= samples] or None
        metrics = parse_metrics(names, samples)
        needs_judge = any(metric.needs_judge for metric in metrics)
        judge = build_judge(settings.judge, directory) if needs_judge else None
        kind = addition_kind(settings)
        addition = None if kind is None else kind.again(settings, directory)
        with closing(judge) if judge is not None else nullcontext():
            return rescore_folder(
                files,
                task,
                metrics,
                samples,
                settings=resolved_yaml(settings, secrets=False),
                judge=judge,
                asked=int(settings.samples),
                addition=addition,
            )
