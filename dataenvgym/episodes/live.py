"""The live display of an episode on a terminal."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from dataenvgym.episodes.callbacks import EpisodeCallback, EpisodePlan, PhaseEvent
from dataenvgym.episodes.phase_progress import (
    Hearing,
    PhaseProgress,
    bar_width,
    episode_seconds_left,
    folder_line,
    time_left,
    title,
    warning_line,
)
from dataenvgym.episodes.summary import IterationSummary, Summary
from dataenvgym.episodes.tables import iteration_table, outcome, shares
from dataenvgym.episodes.texts import minutes, plain, several, sparkline
from dataenvgym.episodes.warning_log import RunWarning


class LiveProgress(EpisodeCallback):
    """Shows the running phase, its progress and time left, and the iterations so far.

    It ends with the episode, also after an exception, and at the latest with this object or the
    process; the table of iterations then stays on the screen.

    Args:
        clock: seconds.
    """

    def __init__(self, console: Console, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._console = console
        self._clock = clock
        self._view = _View(clock)
        self._live: Live | None = None
        self._hearing = Hearing()

    def on_start(self, plan: EpisodePlan) -> None:
        self._stop()
        self._view = _View(self._clock, plan)
        self._hearing.begin(self._view.phase.hear)
        self._console.print(Text(folder_line(plan)), soft_wrap=True)  # stays above the display
        # the live display refers to the view, not to this object, which can thus be collected
        self._live = Live(
            self._view,
            console=self._console,
            refresh_per_second=4,
            transient=True,
        )
        weakref.finalize(self, self._live.stop)
        self._live.start()

    def on_phase(self, event: PhaseEvent, iteration: int, phase: str, seconds: float) -> None:
        self._view.phase.forget()
        if event == "begin":
            self._view.begin(iteration, phase)

    def on_warning(self, warning: RunWarning) -> None:
        # printed above the display, and stays there
        self._console.print(Text(plain(warning_line(warning)), style="yellow"))

    def on_iteration(self, summary: IterationSummary) -> None:
        self._view.iterations = (*self._view.iterations, summary)

    def on_end(self, summary: Summary) -> None:
        self._stop()
        if summary.nothing_trained:
            self._console.print(Text("nothing was trained", style="bold yellow"))
        if self._view.plan is not None:
            self._console.print(Text(title(self._view.plan), style="bold"))
            for line in shares(self._view.plan.problems):
                self._console.print(Text(line), soft_wrap=True)
        if summary.iterations:
            self._console.print(iteration_table(summary.iterations, self._console.width))
        self._console.print(Text(outcome(summary, with_error=False)))

    def _stop(self) -> None:
        self._hearing.end()
        if self._live is not None:
            self._live.stop()
            self._live = None


@dataclass
class _View:
    """The current state of the display.

    Attributes are replaced, not changed, because another thread draws them.

    Attributes:
        now: the running iteration and phase, and when each of them began.
        phase: the progress of the phase.
    """

    clock: Callable[[], float]
    plan: EpisodePlan | None = None
    now: tuple[int, float, str, float] | None = None
    iterations: tuple[IterationSummary, ...] = ()
    phase: PhaseProgress = field(init=False)
    began: float = field(init=False)

    def __post_init__(self) -> None:
        self.began = self.clock()
        self.phase = PhaseProgress(self.clock)

    def begin(self, iteration: int, phase: str) -> None:
        """A phase begins."""
        at = self.clock()
        is_same = self.now is not None and self.now[0] == iteration
        self.now = (iteration, self.now[1] if self.now and is_same else at, phase, at)

    def __rich_console__(self, console: Console, options: object) -> list[RenderableType]:
        """One drawing, in the console's current size."""
        plan, iterations = self.plan, self.iterations
        if plan is None:
            return []
        parts: list[RenderableType] = [Text(title(plan), style="bold")]
        about = [Text(line, no_wrap=True, overflow="ellipsis") for line in shares(plan.problems)]
        parts += [*about, self._bars(console, plan)]
        said, count = self.phase.said, self.phase.count
        if said:
            parts.append(Text(said, style="dim", no_wrap=True, overflow="ellipsis"))
        room = max(1, console.height - 8 - bool(said) - (count is not None) - len(about))
        if len(iterations) > room:
            hidden = several(len(iterations) - room, "earlier iteration")
            parts.append(Text(f"({hidden})", style="dim"))
        if iterations:
            parts.append(iteration_table(iterations, console.width, last=room))
            scores = [i.val_score for i in iterations]
            bars = "" if console.options.ascii_only else f"  {sparkline(scores)}"
            line = f"score so far {scores[-1]:.3f}, best {max(scores):.3f}{bars}"
            parts.append(Text(line, style="cyan"))
        return [Group(*parts)]

    def _bars(self, console: Console, plan: EpisodePlan) -> Table:
        """Two lines: the progress of the episode, and of its phase if that is counted."""
        width = bar_width(console.width)
        rows = Table.grid(padding=(0, 1))
        rows.add_column(no_wrap=True)
        rows.add_column(no_wrap=True)
        rows.add_column(no_wrap=True, overflow="ellipsis")
        done = max(0, len(self.iterations) - 1)
        bar = ProgressBar(total=plan.n_iterations, completed=done, width=width)
        rows.add_row(bar, f"{done}/{plan.n_iterations}", Text(self._episode(plan)))
        if self.phase.count is not None:
            rows.add_row(*self.phase.bar(width))
        return rows

    def _episode(self, plan: EpisodePlan) -> str:
        now, clock = self.now, self.clock()
        so_far = f"{minutes(clock - self.began)} so far"
        if now is None:
            return f"starting, {so_far}"
        iteration, began, phase, phase_began = now
        left = episode_seconds_left(self.iterations, plan.n_iterations, clock - began)
        return (
            f"iteration {iteration}, {phase} {clock - phase_began:.0f} s, {so_far}{time_left(left)}"
        )
