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
from dataenvgym.episodes.phase_progress import Hearing, PhaseProgress
from dataenvgym.episodes.summary import IterationSummary, Summary
from dataenvgym.episodes.tables import outcome
from dataenvgym.episodes.texts import minutes, plain
from dataenvgym.episodes.warning_log import RunWarning, warning_lines
from dataenvgym.progress import ProgressMessage
from dataenvgym.studies.expected_time import ExpectedTime


@dataclass
class Running:
    """A running episode, for the display."""

    label: str
    kind: str
    began: float
    plan: EpisodePlan
    progress: PhaseProgress
    iteration: int = 0
    phase: str = "starting"
    score: float | None = None
    n_done: int = 0


class StudyProgress:
    """Shows the progress of a study: `with progress: executor.run(...)`.

    Args:
        console: a terminal gets a live table, other outputs a line for each finished episode.
        total: episodes of the study.
        done: the number of those finished before.
        expected: estimates the time left; None shows no estimate.
        prefix: the common beginning of all labels, left out on narrow terminals.
        clock: seconds.
    """

    def __init__(
        self,
        console: Console,
        *,
        total: int,
        done: int,
        expected: ExpectedTime | None = None,
        prefix: str = "",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._console = console
        self._total = total
        self._done_before = done
        self._ended = 0
        self._failed = 0
        self._clock = clock
        self._expected = expected
        self._prefix = prefix
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
        """The callback for the episode with this label.

        Args:
            kind: episodes of one kind take about as long.
        """
        return _Watch(self, label, kind)

    def begin(self, label: str, plan: EpisodePlan, kind: str = "") -> None:
        """An episode begins."""
        progress = PhaseProgress(self._clock)
        done = max(0, plan.n_finished - 1)
        with self._lock:
            self._running[label] = Running(label, kind, self._clock(), plan, progress, done)

    def enter(self, label: str, iteration: int, phase: str) -> None:
        """A phase of it begins."""
        with self._lock:
            if (running := self._running.get(label)) is not None:
                running.iteration, running.phase = iteration, phase
                running.progress.forget()

    def hear(self, label: str, message: ProgressMessage) -> None:
        """Update the progress of the phase."""
        with self._lock:
            if (running := self._running.get(label)) is not None:
                running.progress.hear(message)

    def advance(self, label: str, summary: IterationSummary) -> None:
        """An iteration is finished; earlier iterations of a resumed run are not counted."""
        with self._lock:
            if (running := self._running.get(label)) is None:
                return
            running.score = summary.val_score
            if summary.iteration >= running.plan.n_finished:
                running.n_done += 1
                if self._expected is not None:
                    self._expected.advance(running.kind)

    def warn(self, label: str, warning: RunWarning) -> None:
        text = f"warning: {label}: {warning_lines([warning])[0]}"
        self._console.print(Text(plain(text), style="yellow"), soft_wrap=self._live is None)

    def end(self, label: str, summary: Summary) -> None:
        """An episode is finished, interrupted or failed."""
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
            # left when it began, with the evaluation of the base student
            planned = running.plan.n_iterations + 1 - running.plan.n_finished
            self._expected.end(running.kind, planned - running.n_done)
            if summary.status == "finished":
                self._expected.measured(running.kind, planned, seconds)
            if not self._knows_all and not self._expected.unknown:  # shown once
                self._knows_all = True
                if self._expected.seconds:
                    self._console.print(f"left: {self._expected}", soft_wrap=self._live is None)

    def head(self) -> str:
        """The progress in one line."""
        elapsed = self._clock() - self._began
        number = self._done_before + self._ended
        running = f"{len(self._running)} running" if self._running or self._ended else "starting"
        parts = [f"{number}/{self._total} episodes done", running]
        if self._failed:
            parts.append(f"{self._failed} failed")
        parts.append(f"{minutes(elapsed)} so far")
        if self._expected is not None:
            parts.append(self._expected.short().replace(self._prefix, ""))
        return ", ".join(filter(None, parts))

    def _render(self) -> RenderableType:
        """One line, and one for each running episode; without wrapping, so the height is steady."""
        table = Table.grid(padding=(0, 2), expand=True)
        for ratio in (2, None, 3, None, None):  # label, iteration, phase, score, time
            table.add_column(ratio=ratio, no_wrap=True, overflow="ellipsis")
        with self._lock:
            now, running = self._clock(), list(self._running.values())
            for one in running[: max(1, self._console.height - 3)]:
                now_done = one.progress.counted() or one.progress.said
                table.add_row(
                    Text(plain(one.label.removeprefix(self._prefix))),
                    f"iteration {one.iteration}/{one.plan.n_iterations}",
                    Text(", ".join(filter(None, [one.phase, now_done]))),
                    "" if one.score is None else f"{one.score:.3f}",
                    minutes(now - one.began),
                )
        head = Text(plain(self.head()), style="bold", no_wrap=True, overflow="ellipsis")
        return Group(head, table) if running else head


class _Watch(EpisodeCallback):
    def __init__(self, progress: StudyProgress, label: str, kind: str) -> None:
        self._progress = progress
        self._label = label
        self._kind = kind
        self._name = ""
        self._hearing = Hearing()

    def on_start(self, plan: EpisodePlan) -> None:
        self._progress.begin(self._label, plan, self._kind)
        self._name = plan.name
        self._hearing.begin(self._hear)

    def _hear(self, message: ProgressMessage) -> None:
        """Update from a message of the episode's process; this process runs one at a time."""
        if message.source in ("", self._name):
            self._progress.hear(self._label, message)

    def on_phase(self, event: PhaseEvent, iteration: int, phase: str, seconds: float) -> None:
        if event == "begin":
            self._progress.enter(self._label, iteration, phase)

    def on_warning(self, warning: RunWarning) -> None:
        self._progress.warn(self._label, warning)

    def on_iteration(self, summary: IterationSummary) -> None:
        self._progress.advance(self._label, summary)

    def on_end(self, summary: Summary) -> None:
        self._hearing.end()
        self._progress.end(self._label, summary)
