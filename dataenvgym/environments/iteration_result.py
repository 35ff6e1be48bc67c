"""The result of one iteration."""

from __future__ import annotations

from dataenvgym.environments.marks import FileMark
from dataenvgym.records import Model, PerformanceReport, Scores
from dataenvgym.records.reports import Faults


class IterationResult(Model):
    """The result of one iteration.

    Attributes:
        iteration: its number; 0 is the base student.
        report: the student's results on the validation split, by skill.
        reward: the change in validation score since the iteration before (0.0 for the base).
        n_records: records accepted in this iteration.
        n_records_total: records accepted so far.
        dropped: records that were not accepted, by reason.
        unjudged: records accepted although a quality check could not judge them, by check.
        seconds: by phase, and `total`.
        adapter: iteration whose adapter is active, or None for the base student.
        files: marks (size and hash) of the iteration's files; empty in older runs.
    """

    iteration: int
    report: PerformanceReport
    reward: float = 0.0
    n_records: int = 0
    n_records_total: int = 0
    dropped: dict[str, int] = {}
    unjudged: dict[str, int] = {}
    seconds: dict[str, float] = {}
    adapter: int | None = None
    files: dict[str, FileMark] = {}

    @property
    def val_score(self) -> float:
        """Mean reward on the validation split, failed calls excluded."""
        return self.report.score

    @property
    def n_val(self) -> int:
        """The number of validation instances."""
        return self.report.n

    @property
    def n_errors(self) -> int:
        """The number of validation instances whose call failed."""
        return self.report.n_errors

    @property
    def faults(self) -> Faults:
        """The number of failed instances by cause (see `dataenvgym.records.faults`)."""
        return self.report.faults

    @property
    def val_score_by_skill(self) -> dict[str, float | None]:
        """Mean reward by skill; None if every call failed."""
        return {skill.skill: skill.score for skill in self.report.skills}

    @property
    def named_scores(self) -> Scores:
        """The named scores on the validation split, such as `tests_passed`."""
        return self.report.scores
