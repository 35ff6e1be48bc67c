"""The display while a study runs: a line for each running episode; plain lines elsewhere."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from dataenvgym.episodes.callbacks import EpisodeCallback, EpisodePlan, PhaseEvent
from dataenvgym.episodes.summary import IterationSummary, Summary
from dataenvgym.episodes.tables import outcome
from dataenvgym.episodes.texts import minutes, one_line, plain
from dataenvgym.episodes.warning_log import RunWarning, warning_lines
from dataenvgym.studies.expected_time import ExpectedTime


@dataclass
class Running:
    """An episode that runs, as the display knows it."""

    label: str
    began: float
    n_iterations: int
    n_left: int
    iteration: int = 0
    phase: str = "starting"
    score: float | None = None


class StudyProgress:
    """Shows how far a study is: `with progress: executor.run(...)`.

    Args:
        console: a terminal gets a live table, everything else a line for each episode that ends.
        total: episodes of the study.
        done: of these, how many were finished before.
        expected: how long what is left takes; None leaves it unsaid.
        clock: seconds.
    """

    def __init__(
        self,
        console: Console,
        *,
        total: int,
        done: int,
        expected: ExpectedTime | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._console = console
        self._total = total
        self._done_before = done
        self._ended = 0
        self._failed = 0
        self._clock = clock
        self._expected = expected
        self._knows_all = expected is not None and not expected.unknown
        self._began = clock()
        self._running: dict[str, Running] = {}
        self._lock = threading.Lock()
        self._live: Live | None = None
        if console.is_terminal and not console.is_dumb_terminal:
            self._live = Live(get_renderable=self._render, console=console, refresh_per_second=2,
                              transient=True)  # fmt: skip

    def __enter__(self) -> StudyProgress:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._live is not None:
            self._live.stop()

    def watch(self, label: str, kind: str = "") -> EpisodeCallback:
        """The callback for the episode of that name.

        Args:
            kind: episodes of one kind take about as long.
        """
        return _Watch(self, label, kind)

    def begin(self, label: str, plan: EpisodePlan) -> None:
        now = self._clock()
        with self._lock:
            done = max(0, plan.n_finished - 1)
            left = plan.n_iterations + 1 - plan.n_finished
            self._running[label] = Running(label, now, plan.n_iterations, left, done)

    def tell(self, label: str, **changes: object) -> None:
        with self._lock:
            if (running := self._running.get(label)) is not None:
                for name, value in changes.items():
                    setattr(running, name, value)

    def warn(self, label: str, warning: RunWarning) -> None:
        text = f"warning: {label}: {warning_lines([warning])[0]}"
        self._console.print(Text(plain(text), style="yellow"), soft_wrap=self._live is None)

    def end(self, label: str, summary: Summary, kind: str = "") -> None:
        with self._lock:
            running = self._running.pop(label, None)
            self._ended += 1
            self._failed += summary.status == "failed"
        seconds = self._clock() - (running.began if running else self._began)
        number = self._done_before + self._ended
        text = f"{number}/{self._total} {label}: {outcome(summary)}, {seconds:.0f} s"
        style = "red" if summary.status == "failed" else ""
        self._console.print(Text(plain(text), style=style), soft_wrap=self._live is None)
        if self._expected is not None and running is not None:
            self._expected.end(kind, running.n_left)
            if summary.status == "finished":
                self._expected.measured(kind, running.n_left, seconds)
            self._tell_expected(self._expected)

    def _tell_expected(self, expected: ExpectedTime) -> None:
        """Say it once, as soon as an episode of each kind has ended."""
        if not self._knows_all and not expected.unknown:
            self._knows_all = True
            if expected.seconds:
                self._console.print(f"left: {expected}", soft_wrap=self._live is None)

    def head(self) -> str:
        """How far it is, in a line."""
        elapsed = self._clock() - self._began
        number = self._done_before + self._ended
        parts = [f"{number}/{self._total} episodes done", f"{len(self._running)} running"]
        if self._failed:
            parts.append(f"{self._failed} failed")
        parts.append(f"{minutes(elapsed)} so far")
        if self._expected is not None and self._expected.seconds:
            parts.append(f"left: {self._expected}")
        return ", ".join(parts)

    def _render(self) -> RenderableType:
        table = Table.grid(padding=(0, 2))
        for name in ("label", "iteration", "phase", "score", "seconds"):
            table.add_column(
                no_wrap=True, overflow="ellipsis", ratio=1 if name == "label" else None
            )
        with self._lock:
            now, running = self._clock(), list(self._running.values())
        for one in running[: max(1, self._console.height - 3)]:
            table.add_row(
                Text(one_line(one.label, 60)),
                f"iteration {one.iteration}/{one.n_iterations}",
                one.phase,
                "" if one.score is None else f"{one.score:.3f}",
                f"{now - one.began:.0f} s",
            )
        return Group(Text(self.head(), style="bold"), table)


class _Watch(EpisodeCallback):
    def __init__(self, progress: StudyProgress, label: str, kind: str) -> None:
        self._progress = progress
        self._label = label
        self._kind = kind

    def on_start(self, plan: EpisodePlan) -> None:
        self._progress.begin(self._label, plan)

    def on_phase(self, event: PhaseEvent, iteration: int, phase: str, seconds: float) -> None:
        if event == "begin":
            self._progress.tell(self._label, iteration=iteration, phase=phase)

    def on_warning(self, warning: RunWarning) -> None:
        self._progress.warn(self._label, warning)

    def on_iteration(self, summary: IterationSummary) -> None:
        self._progress.tell(self._label, score=summary.val_score)

    def on_end(self, summary: Summary) -> None:
        self._progress.end(self._label, summary, self._kind)
