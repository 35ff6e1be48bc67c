"""A finished evaluation.

`rescore_evaluation` judges its samples again, without the student.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass
from pathlib import Path

from dataenvgym.config import build_judge, build_task
from dataenvgym.config.overrides import parse_overrides
from dataenvgym.config.resolved import resolved_yaml
from dataenvgym.errors import EvaluationError, RunDirectoryError
from dataenvgym.evaluation.directory import (
    EVALUATIONS,
    addition_kind,
    evaluation_files,
    settings_to_rescore,
)
from dataenvgym.evaluation.evaluated_run import on_split
from dataenvgym.interfaces import TaskInterface
from dataenvgym.metrics.additions import AddedTable
from dataenvgym.metrics.files import EvaluationFiles
from dataenvgym.metrics.metric import parse_metric, parse_metrics, quoted_metrics
from dataenvgym.metrics.rescoring import RescoringResult, rescore_folder
from dataenvgym.metrics.results import EvaluationResults, completed_of
from dataenvgym.metrics.usage import EvaluationCosts, StudentUsage
from dataenvgym.records import CompletedTaskInstance, PerformanceReport
from dataenvgym.tasks.adapted_task import one_by_one, task_of
from dataenvgym.workspace import opened


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
    added: AddedTable | None
    task: TaskInterface
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
        return task_of(self.task).sampling.temperature

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
