"""The display while a study runs, and an estimate of the time left.

Each finished episode is a line, each running one a row. Strategies differ much (a ceiling may take
ten times as long as the others), so the time of an episode is only compared with those of the same
strategy on the same task; strategies without a finished episode are not counted.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from rich.console import Console

from dataenvgym import exact_json
from dataenvgym.errors import BrokenFileError
from dataenvgym.events import ProgressMessage
from dataenvgym.runs.episodes.callbacks import EpisodeCallback, EpisodePlan, PhaseEvent
from dataenvgym.runs.episodes.display import Display, Row
from dataenvgym.runs.episodes.events import EVENTS_FILE
from dataenvgym.runs.episodes.outcome import outcome
from dataenvgym.runs.episodes.summary import IterationSummary, RunWarning, Summary, warning_lines
from dataenvgym.runs.texts import minutes
from dataenvgym.storage import read_bytes


class ExpectedTime:
    """The time left, from the seconds that an iteration of each kind of episode takes.

    Attributes:
        left, done: iterations by kind, and `seconds_of` those done.
        n_left: episodes; `workers` of them run at the same time, if known.
    """

    def __init__(self, workers: int | None) -> None:
        self.workers, self.n_left = workers, 0
        self.left: Counter[str] = Counter()
        self.done: Counter[str] = Counter()
        self.seconds_of: dict[str, float] = {}

    def plan(self, kind: str, iterations: int) -> None:
        """Add an episode to run."""
        self.left[kind] += iterations
        self.n_left += 1

    def measured(self, kind: str, iterations: int, seconds: float) -> None:
        """Add the time of an episode."""
        if iterations > 0:
            self.done[kind] += iterations
            self.seconds_of[kind] = self.seconds_of.get(kind, 0.0) + seconds

    @property
    def unknown(self) -> list[str]:
        """The remaining kinds without a finished episode, whose time is not counted."""
        return [kind for kind, left in self.left.items() if left > 0 and not self.done[kind]]

    @property
    def seconds(self) -> float:
        """The estimated time for the remaining episodes of the other kinds."""
        total = sum(of / self.done[k] * max(0, self.left[k]) for k, of in self.seconds_of.items())
        return total / max(1, min(self.workers or 1, self.n_left))

    def __str__(self) -> str:
        """`about 12 min`, and the kinds not counted."""
        if not self.seconds:
            return "the time left is known after the first episode of each strategy"
        more = f", not counting {', '.join(self.unknown)}" if self.unknown else ""
        return f"about {minutes(self.seconds)}{more}"


def run_seconds(summary: Summary, directory: Path) -> float:
    """The time of a run: its iterations, and the evaluations of the test split."""
    seconds = sum(one.seconds.get("total", 0.0) for one in summary.iterations)
    with suppress(OSError, BrokenFileError):
        for line in read_bytes(directory / EVENTS_FILE).splitlines():
            with suppress(KeyError, TypeError, ValueError):  # only a log: skip a damaged line
                event = exact_json.loads(line)
                if event["event"] == "phase" and event["phase"] == "test":
                    seconds += float(event["seconds"])
    return seconds


class StudyDisplay(Display):
    """Shows the progress of a study: `with display: executor.run(...)`.

    Args:
        console: a terminal gets rows, other outputs a line for each finished episode.
        total: episodes of the study.
        done: the number of those finished before.
        expected: estimates the time left.
        clock: seconds.
    """

    def __init__(
        self,
        console: Console,
        *,
        total: int,
        done: int,
        expected: ExpectedTime,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(console, clock)
        self.expected = expected
        self.total, self.number = total, done
        self.n_running = self.n_failed = 0
        self.lock = threading.RLock()
        self._row = Row(self, "")
        self.show()

    def show(self) -> None:
        """Show the state of the study."""
        with self.lock:
            self._row.bar(self.number, self.total)
            self._row.label(f"{self.number}/{self.total} episodes done")
            failed = f", {self.n_failed} failed" if self.n_failed else ""
            left = f", {self.expected}" if self.expected.seconds else ""
            self._row.text = f"{self.n_running} running{failed}{left}"

    def watch(self, label: str, kind: str) -> EpisodeCallback:
        """The callback for the episode with this label; those of one kind take about as long."""
        return _Watch(self, label, kind)


class _Watch(EpisodeCallback):
    """Shows one episode."""

    def __init__(self, study: StudyDisplay, label: str, kind: str) -> None:
        self.study, self.label, self.kind = study, label, kind
        self.n_left = 0

    def on_start(self, plan: EpisodePlan) -> None:
        self.began = self.study.clock()
        self.plan = plan
        # with the evaluation of the base student
        self.planned = self.n_left = plan.n_iterations + 1 - plan.n_finished
        self.where, self.score = "starting", ""
        self.row = Row(self.study, self.label)
        with self.study.lock:
            self.study.n_running += 1
        self.study.show()

    def on_phase(self, event: PhaseEvent, iteration: int, phase: str, seconds: float) -> None:
        if event == "begin":
            self.where = f"{iteration}/{self.plan.n_iterations} {phase}"
            self.row.bar(0, None)
            self.row.text = f"{self.score}{self.where}"

    def on_progress(self, message: ProgressMessage) -> None:
        self.row.hear(message)
        self.row.text = f"{self.score}{self.where}, {message}"

    def on_warning(self, warning: RunWarning) -> None:
        self.study.line(f"{self.label}: {warning_lines([warning])[0]}", "warning")

    def on_iteration(self, summary: IterationSummary) -> None:
        self.score = f"score {summary.val_score:.3f}, "
        if summary.iteration >= self.plan.n_finished:  # a resumed run repeats the earlier ones
            with self.study.lock:
                self.n_left -= 1
                self.study.expected.left[self.kind] -= 1
            self.study.show()

    def on_end(self, summary: Summary) -> None:
        self.row.close()
        study, seconds, failed = (
            self.study,
            self.study.clock() - self.began,
            summary.status == "failed",
        )
        with study.lock:
            study.number += 1
            study.n_running -= 1
            study.n_failed += failed
            study.line(
                f"{study.number}/{study.total} {self.label}: {outcome(summary)}, {seconds:.0f} s",
                "bad" if failed else "text",
            )
            expected, unknown = study.expected, study.expected.unknown
            expected.left[self.kind] -= self.n_left
            expected.n_left -= 1
            if summary.status == "finished":
                expected.measured(self.kind, self.planned, seconds)
            if unknown and not expected.unknown and expected.seconds:  # shown once
                study.line(f"left: {expected}")
        study.show()
