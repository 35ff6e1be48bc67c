"""The display while an episode runs: live on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable

from rich.console import Console
from rich.text import Text

from dataenvgym.episodes.callbacks import EpisodeCallback, EpisodePlan, PhaseEvent
from dataenvgym.episodes.live import LiveProgress
from dataenvgym.episodes.phase_progress import (
    Hearing,
    Pace,
    folder_line,
    time_left,
    title,
    warning_line,
)
from dataenvgym.episodes.summary import IterationSummary, Summary
from dataenvgym.episodes.tables import outcome, shares
from dataenvgym.episodes.texts import change, counts, plain, several
from dataenvgym.episodes.warning_log import RunWarning
from dataenvgym.progress import ProgressMessage

LONG_PHASE = 5.0
"""The least seconds of a phase that gets its own plain line."""

SAID_EVERY = 10.0
"""Seconds between two plain lines on the progress of a phase."""


def make_progress(console: Console) -> EpisodeCallback:
    """Make a display that suits `console`."""
    if console.is_terminal and not console.is_dumb_terminal:
        return LiveProgress(console)
    return PlainProgress(console)


def automatic_progress(wanted: bool | None) -> list[EpisodeCallback]:
    """The display of an episode that runs in Python, or none.

    Args:
        wanted: True always shows a display, False never; None on a terminal and in a notebook.
    """
    if wanted is False:
        return []
    console = Console(stderr=True, highlight=False, markup=False)
    if console.is_jupyter:  # plain lines: its own display would need widgets
        console = Console(force_jupyter=False, force_terminal=False, highlight=False, markup=False)
        return [PlainProgress(console)]
    return [make_progress(console)] if wanted or console.file.isatty() else []


class PlainProgress(EpisodeCallback):
    """Writes one line for each finished iteration and each long phase, at once.

    The progress of a phase (see `dataenvgym.progress`) and its time left are a line every ten
    seconds at most; shorter phases have none.
    """

    def __init__(self, console: Console, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._console = console
        self._clock = clock
        self._plan: EpisodePlan | None = None
        self._last: float | None = None
        self._iteration: int | None = None
        self._told_at = clock()
        self._pace = Pace(clock)
        self._hearing = Hearing()

    def on_start(self, plan: EpisodePlan) -> None:
        self._plan = plan
        self._last = None
        self._told_at = self._clock()
        self._hearing.begin(self._hear)
        going_on = f", continued after {plan.n_finished - 1}" if plan.n_finished else ""
        self._print(f"{title(plan)}: {several(plan.n_iterations, 'iteration')}{going_on}")
        self._print(folder_line(plan))
        for line in shares(plan.problems):
            self._print(line)

    def on_warning(self, warning: RunWarning) -> None:
        self._print(warning_line(warning))

    def on_phase(self, event: PhaseEvent, iteration: int, phase: str, seconds: float) -> None:
        if event == "begin":
            self._iteration, self._told_at = iteration, self._clock()
            self._pace.forget()
        elif seconds >= LONG_PHASE:
            self._print(f"iteration {iteration}: {phase} took {seconds:.1f} s")

    def on_iteration(self, summary: IterationSummary) -> None:
        total = self._plan.n_iterations if self._plan else "?"
        text = f"iteration {summary.iteration}/{total}: validation {summary.val_score:.3f}"
        if self._last is not None:
            text += f" ({change(summary.val_score - self._last)})"
        if summary.iteration:
            text += f", {several(summary.n_records, 'record')}"
        if dropped := sum(summary.dropped.values()):
            text += f", {dropped} dropped"
        if summary.n_errors:
            text += f", {summary.n_errors} of {summary.n_val} calls failed"
            if summary.faults:
                text += f" ({counts(summary.faults)})"
        self._print(f"{text}, {summary.seconds.get('total', 0.0):.1f} s")
        self._last = summary.val_score

    def on_end(self, summary: Summary) -> None:
        self._hearing.end()
        self._print(outcome(summary, with_error=False))  # the error itself is raised

    def _hear(self, message: ProgressMessage) -> None:
        self._pace.hear(message)
        now = self._clock()
        if now - self._told_at >= SAID_EVERY:
            self._told_at = now
            where = "" if self._iteration is None else f"iteration {self._iteration}: "
            left = None if message.total is None else self._pace.seconds_left()
            self._print(f"{where}{message}{time_left(left)}")

    def _print(self, text: str) -> None:
        # soft_wrap keeps long lines whole; rich flushes after each print
        self._console.print(Text(plain(text)), soft_wrap=True)
