"""The summary of an episode: `summary.json`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from operator import not_
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from dataenvgym.environments import PHASES, IterationResult
from dataenvgym.environments.iterations import aim_reached
from dataenvgym.errors import RunDirectoryError
from dataenvgym.records import Model, Refusal, Scores
from dataenvgym.records.model import Frozen
from dataenvgym.records.reports import Faults
from dataenvgym.storage import read_model
from dataenvgym.teachers.budget import TeacherUsage
from dataenvgym.workspace import check_format

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

Status = Literal["running", "finished", "interrupted", "failed"]


class RunWarning(Model):
    """One warning; `iteration` is None if it concerns the whole run."""

    text: str
    iteration: int | None = None


class IterationSummary(Model):
    """One iteration in `summary.json` and for callbacks; 0 is the base student.

    `IterationResult` and its report (see `SkillReport`) describe the fields. A skill whose every
    call failed has the score None. `seconds` has all phases and the total, rounded.
    """

    iteration: int
    val_score: float
    n_val: int
    n_errors: int
    n_records: int
    n_records_total: int
    dropped: Frozen[dict[str, int]]
    seconds: Frozen[dict[str, float]]
    val_score_by_skill: Frozen[dict[str, float | None]]
    named_scores: Scores = {}
    no_answer_rate: float | None = Field(default=None, exclude_if=lambda rate: rate is None)
    answered_score: float | None = Field(default=None, exclude_if=lambda score: score is None)
    faults: Faults = Field(default={}, exclude_if=not_)
    refused: Refusal | None = Field(default=None, exclude_if=not_)

    @classmethod
    def of(cls, result: IterationResult) -> IterationSummary:
        """Summarize a finished iteration."""
        report = result.report
        known = dict(report) | dict(result)
        known |= {"val_score": report.score, "n_val": report.n, "named_scores": report.scores}
        known["val_score_by_skill"] = {skill.skill: skill.score for skill in report.skills}
        known["seconds"] = {n: round(result.seconds.get(n, 0), 4) for n in (*PHASES, "total")}
        return cls.model_validate({name: known[name] for name in cls.model_fields})


class Summary(Model):
    """The summary of one episode.

    Attributes:
        status: "finished" once the test split is scored.
        best_iteration: the earliest iteration with the best validation score.
        test_score_before, test_score_after: of the base student, and of `best_iteration`; None
            before the end, or if the task has no test split.
        test_scores: of each iteration, if all were asked for; otherwise empty.
        test_no_answer_rates, test_answered_scores: by iteration, of those that were scored on the
            test split; empty if the task does not tell.
        ended: why a finished episode ended before its last iteration, such as a spent budget.
        teacher: the teacher's requests and cost, or None without a teacher.
        error: why a failed episode failed.
        problems: for each split that is only a part of its source, which part: {"validation":
            "2 of 20 problems (validation is 10%)"}.
        warnings: the warnings to the user.
    """

    task: str
    agent: str
    seed: int
    status: Status
    iterations: tuple[IterationSummary, ...]
    best_iteration: int
    test_score_before: float | None = None
    test_score_after: float | None = None
    test_scores: tuple[float, ...] = Field(default=(), exclude_if=not_)
    test_no_answer_rates: Frozen[dict[int, float]] = Field(default={}, exclude_if=not_)
    test_answered_scores: Frozen[dict[int, float]] = Field(default={}, exclude_if=not_)
    ended: str | None = None
    teacher: TeacherUsage | None = None
    error: str | None = None
    problems: Frozen[dict[str, str]] = {}
    warnings: tuple[RunWarning, ...] = ()

    @property
    def title(self) -> str:
        """The task, the agent and the seed."""
        return f"{self.task}, taught by {self.agent}, seed {self.seed}"

    @property
    def dropped(self) -> dict[str, int]:
        """The number of dropped records of all iterations, by reason."""
        return dict(sum((Counter(one.dropped) for one in self.iterations), Counter[str]()))

    @property
    def n_refused(self) -> int:
        """The number of iterations whose student the gate refused."""
        return sum(one.refused is not None for one in self.iterations)

    @property
    def nothing_trained(self) -> bool:
        """True if the agent has acted, or the run is over, and no record was trained on."""
        if not self.iterations or self.iterations[-1].n_records_total:
            return False
        return len(self.iterations) > 1 or self.status == "finished"

    @property
    def score_names(self) -> list[str]:
        """The named scores that any iteration has, such as `tests_passed`, sorted."""
        return sorted({name for one in self.iterations for name in one.named_scores})

    @property
    def best(self) -> IterationSummary:
        """The earliest iteration with the highest validation score."""
        return self.iterations[self.best_iteration]

    @property
    def val_score_gain(self) -> float:
        """The best iteration's validation score minus the base student's."""
        return self.best.val_score - self.iterations[0].val_score

    def to_pandas(self) -> pd.DataFrame:
        """One row for each iteration, with columns such as `val_score` and `named_scores.f1`.

        Raises:
            ConfigurationError: if pandas is not installed.
        """
        from dataenvgym.runs.episodes.outcome import to_frame

        return to_frame(self)

    def plot(self, path: str | Path | None = None) -> Figure:
        """Draw the learning curve, overall and by skill, as a matplotlib figure.

        Args:
            path: also write it to this file, in the format of its suffix (.png, .svg, .pdf).
        """
        from dataenvgym.runs.episodes.plots import curve_figure

        figure = curve_figure(self)
        if path is not None:
            figure.savefig(path)
        return figure

    def _repr_html_(self) -> str:
        """The summary as a notebook shows it."""
        from dataenvgym.runs.episodes.outcome import to_html

        return to_html(self)


def best_iteration(iterations: Sequence[IterationResult | IterationSummary]) -> int:
    """The earliest iteration with the best validation score."""
    return max(iterations, key=lambda i: (i.val_score, -i.iteration)).iteration


def is_finished(
    directory: Path,
    iterations: int,
    *,
    target_score: float | None = None,
    max_records: int | None = None,
    tested: bool = False,
    test_each: bool = False,
    or_ended: bool = False,
) -> bool:
    """True if the run in a folder is finished and has reached one of the first three limits.

    Args:
        iterations, target_score, max_records: of the episode; see `TeachingOptions`.
        tested: a test split is scored at the end.
        test_each: if it is, each iteration is scored on it.
        or_ended: also accept an episode that ended early because its teacher's budget was spent.
    """
    summary = whole_summary(directory)
    if summary is None or summary.status != "finished":
        return False
    if len(summary.iterations) != count_iterations(directory):  # some were removed, to be redone
        return False
    if tested and summary.test_score_after is None:
        return False
    has_test = summary.test_score_after is not None
    if test_each and has_test and len(summary.test_scores) != len(summary.iterations):
        return False
    last = summary.iterations[-1]
    if or_ended and summary.ended is not None:
        return True
    return last.iteration >= iterations or aim_reached(
        last.val_score, last.n_records_total, target_score, max_records
    )


def count_iterations(directory: Path) -> int:
    """The number of finished iterations of a run, with the base student's evaluation."""
    return len(list(directory.glob("iterations/*/iteration.json")))


def whole_summary(directory: Path) -> Summary | None:
    """The summary in a run directory; None if it is missing or damaged.

    A run can write it again from the iterations' results.
    """
    try:
        return read_summary(directory)
    except RunDirectoryError:
        return None


def read_summary(directory: str | Path) -> Summary:
    """The summary in a run directory.

    Raises:
        RunDirectoryError: if there is none, or it cannot be read.
        FormatError: if another version wrote it.
    """
    check_format(Path(directory))
    path = Path(directory) / "summary.json"
    if not path.exists():
        raise RunDirectoryError(
            f"{directory} holds no summary.json, expected the directory of a run "
            "(it has one once the base student is evaluated)"
        )
    way_out = "the command that began the run, or run_episode, writes it again"
    summary = read_model(path, Summary, way_out)
    for one in summary.iterations:
        if not (
            file := Path(directory) / f"iterations/{one.iteration:03d}/iteration.json"
        ).is_file():
            raise RunDirectoryError(f"{file} is missing, which {path} counts; restore it")
    return summary


def warning_lines(warnings: Sequence[RunWarning]) -> list[str]:
    """One line for each text, with the numbers of its iterations first."""
    iterations: dict[str, list[int]] = {}
    for warning in warnings:
        found = iterations.setdefault(warning.text, [])
        if warning.iteration is not None:
            found.append(warning.iteration)
    lines = []
    for text, found in iterations.items():
        noun = "iteration" if len(found) == 1 else "iterations"
        lines.append(f"{noun} {', '.join(map(str, found))}: {text}" if found else text)
    return lines
