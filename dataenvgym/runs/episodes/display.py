"""The display of runs, evaluations and studies: lines that stay, and rows with bars below them.

Rows are drawn on a terminal only: each has a bar, what it counts, and the time so far and left.
Elsewhere the progress of a row may be a line every ten seconds at most.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeElapsedColumn
from rich.table import Column
from rich.text import Text

from dataenvgym.events import ProgressMessage, hearing_progress
from dataenvgym.runs.documents import Line, Style, plain, show
from dataenvgym.runs.episodes.callbacks import EpisodeCallback, EpisodePlan, PhaseEvent
from dataenvgym.runs.episodes.outcome import outcome, shares
from dataenvgym.runs.episodes.summary import IterationSummary, RunWarning, Summary, warning_lines
from dataenvgym.runs.texts import (
    change,
    counts,
    minutes,
    refusal_text,
    score,
    several,
)

LONG_PHASE = 5.0
"""The least seconds of a phase that gets its own plain line."""

SAID_EVERY = 10.0
"""Seconds between two plain lines on the progress of a row."""

_PACE = 3600.0
"""Seconds of counts that make the pace."""


class Display:
    """Lines, and rows from `__enter__` to `__exit__`.

    Args:
        console: shows rows if it is a terminal.
        clock: seconds.
    """

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self.console = console
        self.clock = clock
        self.is_live = console.is_terminal and not console.is_dumb_terminal
        column = Column(no_wrap=True, overflow="ellipsis")
        wide = Column(no_wrap=True, overflow="ellipsis", ratio=1)
        self.bars = Progress(
            TextColumn("{task.description}", style="bold", markup=False, table_column=column),
            BarColumn(bar_width=min(24, console.width // 5)),
            TextColumn("{task.fields[text]}", markup=False, table_column=wide),
            TimeElapsedColumn(),
            _TimeLeft(Column(no_wrap=True)),
            console=console,
            get_time=clock,
            speed_estimate_period=_PACE,
            disable=not self.is_live,
            refresh_per_second=4,
            transient=True,
            expand=True,
        )

    def __enter__(self) -> Self:
        self.bars.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.bars.stop()

    def line(self, text: str, style: Style = "text") -> None:
        """Write a line that stays."""
        show([Line(text, style)], self.console)


class Row:
    """A bar, the last progress message, and the time left at the pace of the counts so far.

    Args:
        label: what the row is about.
        prefix: of plain lines about the progress; None writes none.
    """

    def __init__(self, display: Display, label: str, prefix: str | None = None) -> None:
        self._display = display
        self._id = display.bars.add_task("", total=None, text="")
        self.begin(label, prefix)

    def begin(self, label: str, prefix: str | None = None) -> None:
        """Show the progress of something else from now on."""
        self._display.bars.reset(self._id, description=plain(label), text="")
        self._task.total = None
        self._total: int | None = None
        self._prefix, self._said_at = prefix, self._display.clock()

    @property
    def _task(self) -> Task:
        return next(task for task in self._display.bars.tasks if task.id == self._id)

    @property
    def text(self) -> str:
        """The text after the bar."""
        return str(self._task.fields["text"])

    @text.setter
    def text(self, text: str) -> None:
        self._display.bars.update(self._id, text=plain(text))

    def bar(self, done: int, total: int | None) -> None:
        """Set the bar without a pace; it moves to and fro while the total is unknown."""
        self._task.completed, self._task.total, self._total = done, total, None

    def label(self, text: str) -> None:
        """Replace the label."""
        self._display.bars.update(self._id, description=plain(text))

    def close(self) -> None:
        """Remove the row."""
        self._display.bars.remove_task(self._id)

    def hear(self, message: ProgressMessage) -> None:
        """Show a message, and its count."""
        self.text = message
        if message.done is not None and message.total is not None:
            self.count(message.done, message.total, message.skipped)
        now = self._display.clock()
        if self._prefix is None or self._display.is_live or now - self._said_at < SAID_EVERY:
            return
        self._said_at = now
        left = None if message.total is None else self._task.time_remaining
        shown = f", about {minutes(left)} left" if left else ""
        self._display.line(f"{self._prefix}{message}{shown}")

    def count(self, done: int, total: int, skipped: int = 0) -> None:
        """Set the bar: `skipped` ones took no time. Another total starts over."""
        done, task = done - skipped, self._task
        if total != self._total or done < task.completed:
            self._total, began = total, task.start_time
            self._display.bars.reset(self._id, completed=done, text=self.text)
            task.start_time = began
        self._display.bars.update(self._id, completed=done, total=total - skipped)


class _TimeLeft(ProgressColumn):
    def render(self, task: Task) -> Text:
        left = task.time_remaining
        return Text(f"{minutes(left)} left" if left else "", style="cyan")


@contextmanager
def showing_progress(
    console: Console, what: str, *, clock: Callable[[], float] = time.monotonic
) -> Iterator[None]:
    """Show the progress of a command that counts one thing, until the block ends.

    Args:
        what: such as "the student answers".
        clock: seconds.
    """
    with Display(console, clock) as display, hearing_progress(Row(display, what, prefix="").hear):
        yield


class EpisodeDisplay(EpisodeCallback):
    """Shows an episode: a line for each iteration and warning, and two rows.

    Elsewhere than on a terminal, long phases have lines, too.
    """

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self._display = Display(console, clock)
        self._last: float | None = None
        self._best = float("-inf")

    def on_start(self, plan: EpisodePlan) -> None:
        self._plan = plan
        where = f" in {plan.environment}" if plan.environment else ""
        going_on = f", continued after {plan.n_finished - 1}" if plan.n_finished else ""
        self._display.line(
            f"{plan.task}, taught by {plan.agent}{where}, seed {plan.seed}: "
            f"{several(plan.n_iterations, 'iteration')}{going_on}",
            "title",
        )
        for line in (f"run directory: {plan.directory}", *shares(plan.problems)):
            self._display.line(line)
        self._episode = Row(self._display, "starting")
        self._phase = Row(self._display, "")
        self._display.__enter__()

    def on_phase(self, event: PhaseEvent, iteration: int, phase: str, seconds: float) -> None:
        if event == "begin":
            self._episode.label(f"iteration {iteration}/{self._plan.n_iterations}")
            self._phase.begin(phase, prefix=f"iteration {iteration}: ")
        elif seconds >= LONG_PHASE and not self._display.is_live:
            self._display.line(f"iteration {iteration}: {phase} took {seconds:.1f} s")

    def on_progress(self, message: ProgressMessage) -> None:
        self._phase.hear(message)

    def on_warning(self, warning: RunWarning) -> None:
        self._display.line(warning_lines([warning])[0], "warning")

    def on_iteration(self, summary: IterationSummary) -> None:
        total = self._plan.n_iterations
        text = f"iteration {summary.iteration}/{total}: validation {summary.val_score:.3f}"
        if self._last is not None:
            text += f" ({change(summary.val_score - self._last)})"
        if summary.no_answer_rate:
            read = score(summary.answered_score)
            text += f", no answer {summary.no_answer_rate:.3f}, score of the answers {read}"
        if summary.iteration:
            text += f", {several(summary.n_records, 'record')}"
        if dropped := sum(summary.dropped.values()):
            text += f", {dropped} dropped"
        if summary.refused:
            text += f", refused: {refusal_text(summary.refused)}"
        if summary.n_errors:
            text += f", {summary.n_errors} of {summary.n_val} calls failed"
            if summary.faults:
                text += f" ({counts(summary.faults)})"
        self._display.line(f"{text}, {summary.seconds.get('total', 0.0):.1f} s")
        self._last, self._best = summary.val_score, max(self._best, summary.val_score)
        self._episode.text = f"score {self._last:.3f}, best {self._best:.3f}"
        if summary.iteration >= self._plan.n_finished - 1:
            self._episode.count(summary.iteration, total)

    def on_end(self, summary: Summary) -> None:
        self._display.__exit__()
        # the error itself is raised
        self._display.line(outcome(summary, with_error=False), "title")


def automatic_display(wanted: bool | None) -> list[EpisodeCallback]:
    """The display of an episode that runs in Python, or none.

    Args:
        wanted: True always shows a display, False never; None on a terminal and in a notebook.
    """
    if wanted is False:
        return []
    console = Console(stderr=True, highlight=False, markup=False)
    if console.is_jupyter:  # plain lines: its own display would need widgets
        console = Console(force_jupyter=False, force_terminal=False, highlight=False, markup=False)
        return [EpisodeDisplay(console)]
    return [EpisodeDisplay(console)] if wanted or console.file.isatty() else []
