"""The display while a study runs, and an estimate of the time left.

Each finished episode is a line, each running one a row. Strategies differ much (a ceiling may take
ten times as long as the others), so the time of an episode is only compared with those of the same
strategy on the same task; a strategy without a finished episode is listed as unknown.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from rich.console import Console

from dataenvgym import exact_json
from dataenvgym.episodes.callbacks import EpisodeCallback, EpisodePlan, PhaseEvent
from dataenvgym.episodes.display import Display, Row
from dataenvgym.episodes.events import EVENTS_FILE
from dataenvgym.episodes.summary import IterationSummary, Summary
from dataenvgym.episodes.tables import outcome
from dataenvgym.episodes.texts import minutes
from dataenvgym.episodes.warning_log import RunWarning, warning_lines
from dataenvgym.errors import BrokenFileError
from dataenvgym.progress import ProgressMessage
from dataenvgym.storage import read_bytes

_NAMED = 3  # kinds of unknown time that a line names


class ExpectedTime:
    """Seconds by kind of episode, and the number of iterations left of each kind.

    It is used by one thread at a time: `StudyDisplay` has a lock.

    Args:
        workers: episodes that run at the same time; None if unknown.
    """

    def __init__(self, workers: int | None) -> None:
        self._workers = workers
        self._left: dict[str, int] = defaultdict(int)
        self._n_left = 0
        self._seconds: dict[str, float] = defaultdict(float)
        self._iterations: dict[str, int] = defaultdict(int)

    def plan(self, kind: str, iterations: int) -> None:
        """Add an episode to run."""
        self._left[kind] += iterations
        self._n_left += 1

    def end(self, kind: str, iterations: int) -> None:
        """Remove an episode with this number of iterations left."""
        self.advance(kind, iterations)
        self._n_left -= 1

    def advance(self, kind: str, iterations: int = 1) -> None:
        """Remove finished iterations."""
        self._left[kind] = max(0, self._left[kind] - iterations)

    def measured(self, kind: str, iterations: int, seconds: float) -> None:
        """Add the time of an episode."""
        if iterations > 0:
            self._iterations[kind] += iterations
            self._seconds[kind] += seconds

    @property
    def unknown(self) -> list[str]:
        """The remaining kinds without a finished episode."""
        return [k for k, left in self._left.items() if left and not self._iterations.get(k)]

    def not_counted(self, prefix: str = "") -> str:
        """The first of the `unknown` kinds, without the prefix, and how many more there are."""
        kinds = [kind.removeprefix(prefix) for kind in self.unknown]
        more = f" and {len(kinds) - _NAMED} more" if len(kinds) > _NAMED else ""
        return ", ".join(kinds[:_NAMED]) + more

    @property
    def seconds(self) -> float:
        """The estimated time for the remaining episodes of the other kinds."""
        each = {k: self._seconds[k] / n for k, n in self._iterations.items() if n}
        total = sum(each.get(kind, 0.0) * left for kind, left in self._left.items())
        return total / max(1, min(self._workers or 1, self._n_left))

    def __str__(self) -> str:
        """`about 12 min`, and the kinds not counted."""
        seconds = self.seconds
        if not seconds:
            return "the time left is known after the first episode of each strategy"
        text = f"about {minutes(seconds)}"
        if self._workers is None:
            text += " one after another, less if several run at the same time"
        if unknown := self.not_counted():
            text += f", not counting {unknown} (no episode has ended yet)"
        return text


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
        prefix: the common beginning of all labels, left out in rows.
        clock: seconds.
    """

    def __init__(
        self,
        console: Console,
        *,
        total: int,
        done: int,
        expected: ExpectedTime,
        prefix: str = "",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(console, clock)
        self.expected = expected
        self.prefix = prefix
        self._total = total
        self._number = done
        self._n_running = self._n_failed = 0
        self._knows_all = not expected.unknown
        self._lock = threading.RLock()
        self._row = Row(self, "")
        self._row.bar(done, total)
        self.advance("")

    def watch(self, label: str, kind: str) -> EpisodeCallback:
        """The callback for the episode with this label.

        Args:
            kind: episodes of one kind take about as long.
        """
        return _Watch(self, label, kind)

    def advance(self, kind: str, *, started: int = 0) -> None:
        """Show the state of the study, after an iteration or when an episode of `kind` starts."""
        with self._lock:
            self._n_running += started
            if kind and not started:
                self.expected.advance(kind)
            self._row.label(f"{self._number}/{self._total} episodes done")
            parts = [f"{self._n_running} running"]
            parts += [f"{self._n_failed} failed"] if self._n_failed else []
            if self.expected.seconds:
                parts += [f"about {minutes(self.expected.seconds)} left"]
                if unknown := self.expected.not_counted(self.prefix):
                    parts += [f"not counting {unknown}"]
            self._row.text = ", ".join(parts)

    def end(self, watch: _Watch, summary: Summary) -> None:
        """An episode has ended."""
        seconds = self.clock() - watch.began
        with self._lock:
            self._number += 1
            self._n_failed += summary.status == "failed"
            self._row.bar(self._number, self._total)
            self.line(
                f"{self._number}/{self._total} {watch.label}: {outcome(summary)}, {seconds:.0f} s",
                style="red" if summary.status == "failed" else "",
            )
            self.expected.end(watch.kind, watch.planned - watch.n_done)
            if summary.status == "finished":
                self.expected.measured(watch.kind, watch.planned, seconds)
            if not self._knows_all and not self.expected.unknown:  # shown once
                self._knows_all = True
                if self.expected.seconds:
                    self.line(f"left: {self.expected}")
            self.advance("", started=-1)


class _Watch(EpisodeCallback):
    """Shows one episode."""

    def __init__(self, study: StudyDisplay, label: str, kind: str) -> None:
        self.label = label
        self.kind = kind
        self.planned = self.n_done = 0
        self._study = study

    def on_start(self, plan: EpisodePlan) -> None:
        self.began = self._study.clock()
        # left when it begins, with the evaluation of the base student
        self.planned = plan.n_iterations + 1 - plan.n_finished
        self._plan = plan
        self._where, self._score = "starting", ""
        self._row = Row(self._study, self.label.removeprefix(self._study.prefix))
        self._study.advance("", started=1)

    def on_phase(self, event: PhaseEvent, iteration: int, phase: str, seconds: float) -> None:
        if event == "begin":
            self._where = f"{iteration}/{self._plan.n_iterations} {phase}"
            self._row.bar(0, None)
            self._row.text = f"{self._score}{self._where}"

    def on_progress(self, message: ProgressMessage) -> None:
        self._row.hear(message)
        self._row.text = f"{self._score}{self._where}, {message}"

    def on_warning(self, warning: RunWarning) -> None:
        text = f"warning: {self.label}: {warning_lines([warning])[0]}"
        self._study.line(text, style="yellow")

    def on_iteration(self, summary: IterationSummary) -> None:
        self._score = f"score {summary.val_score:.3f}, "
        if summary.iteration >= self._plan.n_finished:  # a resumed run repeats the earlier ones
            self.n_done += 1
            self._study.advance(self.kind)

    def on_end(self, summary: Summary) -> None:
        self._row.close()
        self._study.end(self, summary)
