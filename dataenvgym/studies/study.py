"""A study: its folder, its episodes, and their results.

    studies/<name>/study.json     the request, and the state of each episode
                   runs/<run>/    the episodes, ordinary runs
                   results.json   all numbers
                   table.md, curves.png, study.md

The runs are the state. Called again, a study resumes from them: finished ones are taken as they
are, so that more seeds or strategies extend it, and a finished study just shows its table.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from dataenvgym.episodes.report import write_missing_report
from dataenvgym.episodes.summary import read_summary
from dataenvgym.episodes.texts import counts
from dataenvgym.errors import RunDirectoryError
from dataenvgym.executors import Episode, EpisodeOutcome, build_executor
from dataenvgym.executors.in_process import InProcessExecutor
from dataenvgym.studies.checks import check_study, has_result
from dataenvgym.studies.expected_time import ExpectedTime, run_seconds
from dataenvgym.studies.fairness import Difference, record_budget
from dataenvgym.studies.measures import RunMeasures, measure_run
from dataenvgym.studies.plan import Cell, StudyOptions, StudyPlan, plan_study
from dataenvgym.studies.report import write_results
from dataenvgym.studies.results import MissingRun, StrategyRuns, StudyResults
from dataenvgym.studies.state import study_command, write_state
from dataenvgym.studies.summing import TaskRuns, sum_up
from dataenvgym.workspace import opened

if TYPE_CHECKING:
    from rich.console import Console


def run_study(
    overrides: Sequence[str] = (),
    *,
    console: Console | None = None,
    **options: Unpack[StudyOptions],
) -> StudyResults:
    """Run or resume a study to its end, and write its table, plot and numbers.

    Args:
        overrides, options: see `plan_study`.
        console: shows how far it is; None shows nothing.

    Returns:
        The content of `results.json`. Failed episodes are missing in it, each with a reason.

    Raises:
        ConfigurationError: for whatever cannot be, or would not be fair, before anything runs.
        RunDirectoryError: if a run is there that does not fit, or another process is at it.
    """
    study = Study(plan_study(overrides, **options))
    study.check()
    study.run(console)
    return study.finish()


class Study:
    """A planned study and its folder."""

    def __init__(self, plan: StudyPlan) -> None:
        self.plan = plan
        self.directory = plan.directory
        self._failures: dict[Path, str] = {}
        self._differences: list[Difference] = []

    @property
    def command(self) -> str:
        """The command that makes this study."""
        return study_command(self.plan)

    def unfinished(self) -> list[Cell]:
        """The episodes that are left to do."""
        return [cell for cell in self.plan.cells if not cell.is_finished]

    def expected_time(self) -> ExpectedTime:
        """How long what is left takes, as far as finished episodes of this study tell."""
        executor = build_executor(self.plan.cells[0].config)
        is_alone = isinstance(executor, InProcessExecutor)
        expected = ExpectedTime(1 if is_alone else getattr(executor, "workers", None))
        for cell in self.plan.cells:
            try:
                summary = read_summary(cell.directory)
                done = len(summary.iterations)
            except RunDirectoryError:
                summary, done = None, 0
            if summary is not None and summary.status == "finished":
                expected.measured(cell.kind, done, run_seconds(summary, cell.directory))
            if not cell.is_finished:
                expected.plan(cell.kind, max(1, int(cell.config.episode.iterations) + 1 - done))
        return expected

    def missing(self) -> list[tuple[Cell, str]]:
        """The episodes without a result, and why."""
        return [(cell, self._reason(cell)) for cell in self.plan.cells if not has_result(cell)]

    def check(self) -> None:
        """Refuse what cannot be, or would not be fair; no file is touched.

        Raises:
            ConfigurationError: naming the strategy, what differs between strategies, or episodes
                that the study had before and would lose.
            ConfigChangedError: if a run has done more iterations than this study asks for.
        """
        self._differences = check_study(self.plan)

    def run(self, console: Console | None = None) -> list[EpisodeOutcome]:
        """Run what is left to do. One that fails holds up none of the others.

        Raises:
            RunDirectoryError: if another process is at this study.
            KeyboardInterrupt: after Ctrl-C; all episodes are then ended.
        """
        with opened(self.directory, below=False):  # the runs have locks of their own
            return self._run(console)

    def _run(self, console: Console | None) -> list[EpisodeOutcome]:
        cells = self.unfinished()
        write_state(self.plan, unfinished=self.missing())
        if not cells:
            return []
        executor = build_executor(cells[0].config)
        progress: Any = nullcontext()
        if console is not None:
            from dataenvgym.studies.progress import StudyProgress

            total = len(self.plan.cells)
            done, expected = total - len(cells), self.expected_time()
            tasks = self.plan.grid.tasks
            prefix = f"{tasks[0].name}: " if len(tasks) == 1 else ""
            progress = StudyProgress(
                console, total=total, done=done, expected=expected, prefix=prefix
            )
        with progress:
            watched = partial(_watched, progress if console is not None else None)
            outcomes = executor.run([watched(cell) for cell in cells])
        for cell, outcome in zip(cells, outcomes, strict=True):
            if outcome.error is not None:
                self._failures[cell.directory] = _described(outcome.error)
        return outcomes

    def finish(self) -> StudyResults:
        """Sum up what is finished, and write it down; missing reports of its runs, too.

        Raises:
            ConfigurationError: if the runs differ where they must agree.
            RunDirectoryError: if another process is at this study.
        """
        with opened(self.directory, below=False):  # the runs have locks of their own
            write_state(self.plan, unfinished=self.missing())
            for cell in self.plan.cells:
                if cell.is_finished:
                    write_missing_report(cell.directory)
            results = self.results()
            write_results(results, self.directory)
        return results

    def results(self) -> StudyResults:
        """The results of the finished runs; no file is touched."""
        return sum_up(
            [self._task_runs(task.name) for task in self.plan.grid.tasks],
            name=self.plan.name,
            command=self.command,
            baseline=self.plan.baseline,
            test=self.plan.test,
            allow_unequal=self.plan.allow_unequal,
            differences=self._differences,
        )

    # --- the runs ---

    def _task_runs(self, task: str) -> TaskRuns:
        cells = [cell for cell in self.plan.cells if cell.task == task]
        names = dict.fromkeys((cell.role, cell.strategy) for cell in cells if cell.role != "floor")
        order = sorted(names, key=lambda key: key[0] == "ceiling")
        return TaskRuns(
            task=task,
            strategies=[
                self._strategy_runs([c for c in cells if (c.role, c.strategy) == key])
                for key in order
            ],
            floor=[_measures(c) for c in cells if c.role == "floor" and c.is_finished],
            budgets={c.strategy: record_budget(c.config) for c in cells if c.role == "strategy"},
        )

    def _strategy_runs(self, cells: Sequence[Cell]) -> StrategyRuns:
        role = cells[0].role
        return StrategyRuns(
            name=cells[0].strategy,
            role="ceiling" if role == "ceiling" else "strategy",
            runs={cell.seed: _measures(cell) for cell in cells if has_result(cell)},
            missing=[
                MissingRun(seed=cell.seed, reason=self._reason(cell))
                for cell in cells
                if not has_result(cell)
            ],
        )

    def _reason(self, cell: Cell) -> str:
        """Why an episode has no result."""
        if cell.directory in self._failures:
            return self._failures[cell.directory]
        try:
            summary = read_summary(cell.directory)
        except RunDirectoryError:
            return "not run yet"
        if cell.is_finished:
            return (
                "a ceiling with no record to train on is not a ceiling: the task's train split "
                f"gave none that was accepted ({counts(summary.dropped)} dropped). Mend the task, "
                f"and remove {cell.directory}; or leave the bounds out (--no-bounds)"
            )
        return f"{summary.status}: {summary.error}" if summary.error else summary.status


def _watched(progress: Any, cell: Cell) -> Episode:
    return Episode(cell.config, [] if progress is None else [progress.watch(cell.label, cell.kind)])


def _measures(cell: Cell) -> RunMeasures:
    return measure_run(cell.directory, iterations=int(cell.config.episode.iterations))


def _described(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
