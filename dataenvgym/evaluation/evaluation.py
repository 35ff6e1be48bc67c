"""A finished evaluation."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dataenvgym.errors import EvaluationError
from dataenvgym.interfaces import TaskInterface
from dataenvgym.metrics.additions import AddedTable
from dataenvgym.metrics.files import EvaluationFiles
from dataenvgym.metrics.results import EvaluationResults, completed_of
from dataenvgym.metrics.usage import EvaluationCosts, StudentUsage
from dataenvgym.records import CompletedTaskInstance, PerformanceReport
from dataenvgym.tasks.adapted_task import one_by_one, task_of


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
