"""The bookkeeping of an episode: its summary, its test scores, its warnings and its callbacks.

`summary.json` is kept up to date, with each warning and its iteration; `test/NNN.jsonl` has the
answers of the student of iteration NNN to the test split. `warn_run` may be called anywhere and
from any thread, and a resumed run ends with the same warnings as an uninterrupted one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import Any

from dataenvgym import events
from dataenvgym.environments.checks import reasons_in_words
from dataenvgym.environments.interface import PhaseClock, TeachingEnvironmentInterface
from dataenvgym.environments.iterations import load_adapter
from dataenvgym.errors import DataEnvGymError, RunDirectoryError, escaped
from dataenvgym.events import ProgressMessage, warn_run
from dataenvgym.records import CompletedTaskInstance, PerformanceReport
from dataenvgym.records.checksums import MarkedFolder, phase
from dataenvgym.records.plans import engine_fit
from dataenvgym.runs.episodes.callbacks import EpisodeCallback, EpisodePlan, PhaseEvent
from dataenvgym.runs.episodes.events import EventLog
from dataenvgym.runs.episodes.summary import (
    IterationSummary,
    RunWarning,
    Status,
    Summary,
    best_iteration,
    count_iterations,
    whole_summary,
)
from dataenvgym.runs.texts import several
from dataenvgym.storage import remove_folder, write_json
from dataenvgym.tasks.adapted_task import evaluated_by, report_of
from dataenvgym.tasks.base import Task, attempts_for
from dataenvgym.tasks.domain import warn_of_unread
from dataenvgym.teachers.budget import read_usage


class Bookkeeping:
    """Bookkeeping around the loop of one episode.

    Args:
        teaching: the environment.
        directory: the run directory.
        agent: the agent that teaches; only its name is used here.
        seed: of the episode.
        callbacks: are notified of every event, after `events.jsonl`.
        test_task: is scored at the end, or None.

    Attributes:
        clock: times the phases of the episode, and notifies the callbacks of them.
    """

    def __init__(
        self,
        teaching: TeachingEnvironmentInterface,
        directory: Path,
        agent: object,
        seed: int,
        callbacks: Sequence[EpisodeCallback],
        test_task: Task | None = None,
        test_each: bool = False,
    ) -> None:
        self.teaching = teaching
        self.agent_name = name_of(agent)
        self.seed = seed
        self.directory = directory
        self.clock = PhaseClock()
        self._log = EventLog(directory, waits=True)
        self._callbacks = CallbackList((self._log, *callbacks))
        self._test_each = test_each
        self._tasks = {"validation": teaching.task, "test": test_task}
        self._is_open = False

        def heard(warning: RunWarning) -> None:
            if self._is_open:
                self._write(self._summary("running"))
            self._callbacks.tell("on_warning", warning)

        self.warnings = WarningLog(heard)
        self._writes_nothing = is_spent(agent)
        self._marks: dict[Any, bytes] = {}  # of the test problems
        self._announced = 0
        self._n_before = 0
        self._progress_error: Exception | None = None

    def refuse_another_agent(self) -> None:
        """Raise RunDirectoryError if another agent began this episode."""
        before = whole_summary(self.directory)
        if before is not None and before.agent != self.agent_name:
            raise RunDirectoryError(
                f"{self.directory} was begun with agent = {before.agent!r}, "
                f"not {self.agent_name!r}; "
                "give the environment another directory"
            )

    @contextmanager
    def watched(self, iterations: int, *, resumes: bool) -> Iterator[None]:
        """Notify the callbacks of the start, of phases, of warnings and of a failure.

        Args:
            resumes: True if the run in the directory is resumed.
        """
        plan = EpisodePlan(
            name=self.directory.name,
            task=name_of(self.teaching.task),
            agent=self.agent_name,
            seed=self.seed,
            n_iterations=iterations,
            n_finished=count_iterations(self.directory),
            directory=self.directory,
            problems=self._problems,
            environment=type(self.teaching).__name__,
        )
        self._n_before = plan.n_finished if resumes else 0
        if resumes and (self.directory / "iterations" / "000" / "completed.jsonl").exists():
            before = whole_summary(self.directory)
            if before is not None:  # without the one that is derived again at the end
                kept = (w for w in before.warnings if w != _nothing_trained(before))
                self.warnings.kept = tuple(kept)
        self.clock.listeners.append(self._on_phase)
        try:
            with events.hearing_warnings(self.warnings.hear), events.hearing_progress(self._hear):
                self._callbacks.start(plan)
                yield
        except SystemExit:  # a job at its time limit, which goes on in another one
            raise
        except BaseException as error:
            if not self._callbacks.has_ended:
                self._end_badly(error)
            raise
        finally:
            self.clock.listeners.remove(self._on_phase)

    def begun(self) -> None:
        """Called when the environment has claimed the directory."""
        self._open()
        self.warnings.iteration = len(self.teaching.results) - 1
        if (gone := self._n_before - len(self.teaching.results)) > 0:
            warn_run(
                f"{several(gone, 'finished iteration')} in {self.directory} will be done again: "
                f"{type(self.teaching).__name__} began a new episode although it was asked to "
                "resume. Its reset() must follow the option 'resume' (see "
                "TeachingEnvironmentInterface)"
            )
            if (answered := self.directory / "test").exists():  # in the earlier try
                remove_folder(answered)

    def announce(self) -> None:
        """Report the iterations that were finished since the last call."""
        for result in self.teaching.results[self._announced :]:
            self._callbacks.tell("on_iteration", IterationSummary.of(result))
            if result.iteration == 0:
                parts = self.teaching.task.parts.values()
                warn_of_unread(result.report, [part.domain.answer_form for part in parts])
        self._announced = len(self.teaching.results)
        self._write(self._summary("running"))

    def conclude(self, ended: str | None) -> Summary:
        """Score the base student and the best iteration on the test split, and finish the summary.

        With `test_each`, the other iterations too; a student that did not change is scored once.

        Args:
            ended: why the episode ended early, or None.
        """
        best = best_iteration(self.teaching.results)
        self.warnings.iteration = None
        self._warn_of_untaught()
        scores: dict[str, Any] = {}
        if (test_task := self._tasks["test"]) is not None:
            reports = {n: self._test_report(test_task, n) for n in (0, best)}
            scores["test_score_before"] = reports[0].score
            scores["test_score_after"] = reports[best].score
            if self._test_each:
                first: dict[int | None, int] = {}
                for result in self.teaching.results:
                    same = first.setdefault(result.adapter, result.iteration)
                    reports[result.iteration] = self._test_report(test_task, same)
                scores["test_scores"] = tuple(reports[n].score for n in sorted(reports))
            for name in ("no_answer_rate", "answered_score"):
                found = {n: getattr(report, name) for n, report in sorted(reports.items())}
                scores[f"test_{name}s"] = {n: x for n, x in found.items() if x is not None}
        self._load_student(len(self.teaching.results) - 1)
        summary = self._summary("finished", **scores, ended=ended)
        self._write(summary)
        self._callbacks.end(summary)
        return summary

    def _warn_of_untaught(self) -> None:
        """Warn of gathered records at an early end (see `generations_per_training`)."""
        if getattr(self.teaching, "generations_per_training", 1) == 1:
            return
        results = self.teaching.results
        trained = [r.iteration for r in results if r.adapter == r.iteration or r.refused]
        untaught = sum(r.n_records for r in results if r.iteration > max(trained, default=0))
        if untaught:
            warn_run(f"{several(untaught, 'record')} at the end were gathered and not trained on")

    def _test_report(self, task: Task, iteration: int) -> PerformanceReport:
        def answered() -> list[CompletedTaskInstance]:
            self._load_student(iteration)
            self.clock.start(iteration)
            run, purpose = self.directory.name, f"test-{iteration:03d}"
            with self.clock("test"), attempts_for(run, purpose):
                completed = evaluated_by(task, self.teaching.predictor, self._marks)
                report_of(task, completed)  # raises if nothing could be scored, to be tried again
            return completed

        path = self.directory / "test" / f"{iteration:03d}.jsonl"
        way_out = "restore it, or remove it: the same command then answers the test split again"
        MarkedFolder(path.parent, way_out).check(missing=False)
        return report_of(task, phase(path, answered, list[CompletedTaskInstance], way_out))

    def _load_student(self, iteration: int) -> None:
        """Load the student of this iteration."""
        adapter = self.teaching.results[iteration].adapter
        load_adapter(self.teaching.predictor, self.directory / "iterations", adapter)

    def _on_phase(self, event: PhaseEvent, iteration: int, phase: str, seconds: float) -> None:
        self._open()  # an environment that refuses its directory has no phases
        self.warnings.iteration = None if phase == "test" else iteration
        if self._progress_error is not None:
            raise self._progress_error
        self._callbacks.tell("on_phase", event, iteration, phase, seconds)

    def _open(self) -> None:
        """Write warnings and events from now on: the directory has accepted the episode."""
        self._log.open()
        if not self._is_open:
            self._is_open = True
            if self.warnings.kept:
                self._write(self._summary("running"))

    def _hear(self, message: ProgressMessage) -> None:
        try:
            self._callbacks.tell("on_progress", message)
        except Exception as error:  # noqa: BLE001  raised when the phase ends: here it would count as the student's or the teacher's
            self._progress_error = self._progress_error or error

    def _end_badly(self, error: BaseException) -> None:
        """Write a summary so far, unless the directory refused the episode."""
        status: Status = "interrupted" if isinstance(error, KeyboardInterrupt) else "failed"
        summary = self._summary(status, error=described(error))
        if self.teaching.results or not isinstance(error, RunDirectoryError):
            self._log.open()
            self._write(summary)
        self._callbacks.end(summary)

    def _summary(self, status: Status, **more: Any) -> Summary:
        """The summary so far, with these further fields."""
        results = self.teaching.results
        if not results and (before := whole_summary(self.directory)) is not None:
            changes = {"status": status, "warnings": self.warnings.kept, **more}
            return before.model_copy(update=changes)
        summary = Summary(
            task=name_of(self.teaching.task),
            agent=self.agent_name,
            seed=self.seed,
            status=status,
            iterations=tuple(IterationSummary.of(r) for r in results),
            best_iteration=best_iteration(results) if results else 0,
            teacher=read_usage(self.directory),
            problems=self._problems,
            warnings=self.warnings.kept,
            **more,
        )
        if status != "finished" or not summary.nothing_trained or self._writes_nothing:
            return summary
        warnings = (_nothing_trained(summary), *summary.warnings)
        return summary.model_copy(update={"warnings": warnings})

    @cached_property
    def _problems(self) -> dict[str, str]:
        """For each split that is a part of its source, describe which part, if the task knows."""
        shares: dict[str, str] = {}
        for split, task in self._tasks.items():
            # if problems cannot be loaded, the evaluation that needs them raises
            with suppress(DataEnvGymError, OSError):
                if task is not None and (text := task.share()) is not None:
                    shares[split] = text
        return shares

    def _write(self, summary: Summary) -> None:
        write_json(self.directory / "summary.json", summary)


class CallbackList:
    """Notifies the callbacks of one episode.

    Attributes:
        started: those that know of the start; only they are notified of anything else.
        has_ended: True if they were notified of the end.
    """

    def __init__(self, callbacks: Sequence[EpisodeCallback]) -> None:
        self._callbacks = callbacks
        self.started: list[EpisodeCallback] = []
        self.has_ended = False

    def start(self, plan: EpisodePlan) -> None:
        """Notify them of the start."""
        for callback in self._callbacks:
            self.started.append(callback)
            callback.on_start(plan)

    def tell(self, method: str, *arguments: Any, **named: Any) -> None:
        """Call this method of each."""
        for callback in self.started:
            getattr(callback, method)(*arguments, **named)

    def end(self, summary: Summary) -> None:
        """Notify each of the end, once, even if another one raises."""
        if not self.has_ended:
            self.has_ended = True
            with ExitStack() as stack:
                for callback in reversed(self.started):
                    stack.callback(callback.on_end, summary)


class WarningLog:
    """Keeps the warnings of a run, each text once per iteration.

    A text about the whole run is not repeated by later iterations. A text from the setup of the run
    or about the base student is kept only once for both, because a resumed run warns again during
    its setup.

    Args:
        hear: is called with each new warning.
    """

    def __init__(self, hear: Callable[[RunWarning], None]) -> None:
        self.iteration: int | None = None
        self.kept: tuple[RunWarning, ...] = ()
        self._hear = hear
        self._lock = threading.RLock()

    def hear(self, text: str) -> None:
        """Keep the warning and report it, unless it is known."""
        with self._lock:
            for known in self.kept:
                at_start = not self.iteration and not known.iteration
                is_known_here = at_start or known.iteration in (None, self.iteration)
                if text == known.text and is_known_here:
                    return
            warning = RunWarning(text=text, iteration=self.iteration)
            self.kept += (warning,)
            self._hear(warning)


def name_of(thing: object) -> str:
    """Its `name`, or that of its class."""
    return str(getattr(thing, "name", type(thing).__name__))


def is_spent(agent: object) -> bool:
    """True if the agent's engine says that it has no more records (see `records.plans`)."""
    return not engine_fit(getattr(agent, "engine", None)).writes


def _nothing_trained(summary: Summary) -> RunWarning:
    why = "there were no records"
    if summary.dropped:
        why = f"all records were dropped ({reasons_in_words(summary.dropped)})"
    elif len(summary.iterations) == 1:
        why = summary.ended or "with its base student the episode was already over"
    iterations = several(len(summary.iterations) - 1, "iteration")
    return RunWarning(text=f"nothing was trained in {iterations}: {why}")


def described(error: BaseException) -> str:
    """An error's class and message in one line, without control characters."""
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return escaped(text)  # it goes into a file and to the terminal
