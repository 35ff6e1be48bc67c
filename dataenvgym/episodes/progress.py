"""The display while an episode runs: live on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from dataenvgym.episodes.callbacks import EpisodeCallback, EpisodePlan, PhaseEvent
from dataenvgym.episodes.summary import IterationSummary, Summary
from dataenvgym.episodes.tables import iteration_table, outcome, shares
from dataenvgym.episodes.texts import change, counts, plain, several, sparkline
from dataenvgym.episodes.warning_log import RunWarning, warning_lines
from dataenvgym.progress import listening

LONG_PHASE = 5.0
"""Seconds from which a phase gets a plain line of its own."""

TOLD_EVERY = 10.0
"""Seconds between two plain lines on how far a phase is."""


def make_progress(console: Console) -> EpisodeCallback:
    """A display that suits `console`."""
    if console.is_terminal and not console.is_dumb_terminal:
        return LiveProgress(console)
    return PlainProgress(console)


def automatic_progress(wanted: bool | None) -> list[EpisodeCallback]:
    """The display of an episode that is run in Python, or none.

    Args:
        wanted: True always shows one, False never; None does on a terminal and in a notebook.
    """
    if wanted is False:
        return []
    console = Console(stderr=True, highlight=False, markup=False)
    if console.is_jupyter:  # plain lines: its own display would need widgets
        console = Console(force_jupyter=False, force_terminal=False, highlight=False, markup=False)
        return [PlainProgress(console)]
    return [make_progress(console)] if wanted or console.file.isatty() else []


class PlainProgress(EpisodeCallback):
    """One line for each finished iteration and each long phase, written at once.

    How far a phase is (see `dataenvgym.progress`) is a line every ten seconds at most, none at all
    in a phase that is over by then.
    """

    def __init__(self, console: Console, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._console = console
        self._clock = clock
        self._plan: EpisodePlan | None = None
        self._last: float | None = None
        self._iteration: int | None = None
        self._told_at = clock()
        self._listening = _Listening()

    def on_start(self, plan: EpisodePlan) -> None:
        self._plan = plan
        self._last = None
        self._told_at = self._clock()
        self._listening.begin(self._hear)
        going_on = f", going on after {plan.n_finished - 1}" if plan.n_finished else ""
        self._print(f"{_title(plan)}: {several(plan.n_iterations, 'iteration')}{going_on}")
        self._print(_folder(plan))
        for line in shares(plan.problems):
            self._print(line)

    def on_warning(self, warning: RunWarning) -> None:
        self._print(_warning_line(warning))

    def on_phase(self, event: PhaseEvent, iteration: int, phase: str, seconds: float) -> None:
        if event == "begin":
            self._iteration, self._told_at = iteration, self._clock()
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
        self._listening.end()
        self._print(outcome(summary, with_error=False))  # the error itself is raised

    def _hear(self, text: str) -> None:
        now = self._clock()
        if now - self._told_at >= TOLD_EVERY:
            self._told_at = now
            where = "" if self._iteration is None else f"iteration {self._iteration}: "
            self._print(f"{where}{text}")

    def _print(self, text: str) -> None:
        # soft_wrap: a line is a line, however long; rich flushes after each print
        self._console.print(Text(plain(text)), soft_wrap=True)


class LiveProgress(EpisodeCallback):
    """A display that redraws itself: what runs, since when, and the iterations so far.

    It is taken down at the end of the episode, after an exception too, and at the latest when
    this object or the process goes; what then stays on the screen is the finished table.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._view = _View()
        self._live: Live | None = None
        self._listening = _Listening()

    def on_start(self, plan: EpisodePlan) -> None:
        self._stop()
        self._view = _View(plan)
        self._listening.begin(self._hear)
        self._console.print(Text(_folder(plan)), soft_wrap=True)  # stays above the display
        # the live display knows the view and not this object, which can thus be collected
        self._live = Live(
            get_renderable=self._view.render,
            console=self._console,
            refresh_per_second=4,
            transient=True,
        )
        weakref.finalize(self, self._live.stop)
        self._live.start()

    def on_phase(self, event: PhaseEvent, iteration: int, phase: str, seconds: float) -> None:
        self._view.told = ""
        if event == "begin":
            self._view.now = (iteration, phase, time.monotonic())

    def on_warning(self, warning: RunWarning) -> None:
        # printed above the display, and stays there
        self._console.print(Text(plain(_warning_line(warning)), style="yellow"))

    def _hear(self, text: str) -> None:
        self._view.told = plain(text)

    def on_iteration(self, summary: IterationSummary) -> None:
        self._view.iterations = (*self._view.iterations, summary)

    def on_end(self, summary: Summary) -> None:
        self._stop()
        if summary.nothing_trained:
            self._console.print(Text("nothing was trained", style="bold yellow"))
        if self._view.plan is not None:
            self._console.print(Text(_title(self._view.plan), style="bold"))
            for line in shares(self._view.plan.problems):
                self._console.print(Text(line), soft_wrap=True)
        if summary.iterations:
            self._console.print(iteration_table(summary.iterations, self._console.width))
        self._console.print(Text(outcome(summary, with_error=False)))

    def _stop(self) -> None:
        self._listening.end()
        if self._live is not None:
            self._live.stop()
            self._live = None


class _Listening:
    """Hears what is told from `begin` to `end`; a display that is gone hears nothing more."""

    def __init__(self) -> None:
        self._until = ExitStack()

    def begin(self, hear: Callable[[str], None]) -> None:
        self.end()
        # weak: nobody may say that it is over, and the display is then collected
        reference = weakref.WeakMethod(hear)

        def show(text: str) -> None:
            if (there := reference()) is not None:
                there(text)

        self._until.enter_context(listening(show))

    def __del__(self) -> None:
        self.end()

    def end(self) -> None:
        self._until.close()


@dataclass
class _View:
    """What is to be seen now. Attributes are replaced whole: another thread draws them."""

    plan: EpisodePlan | None = None
    now: tuple[int, str, float] | None = None
    told: str = ""
    iterations: tuple[IterationSummary, ...] = ()
    began: float = field(default_factory=time.monotonic)

    def render(self) -> RenderableType:
        return _Frame(self)


class _Frame:
    """One picture of the view, in the size that the console has now."""

    def __init__(self, view: _View) -> None:
        self._view = view

    def __rich_console__(self, console: Console, options: object) -> list[RenderableType]:
        plan, iterations = self._view.plan, self._view.iterations
        if plan is None:
            return []
        parts: list[RenderableType] = [Text(_title(plan), style="bold")]
        told_of = [Text(line, no_wrap=True, overflow="ellipsis") for line in shares(plan.problems)]
        parts += [*told_of, self._bar(console, plan)]
        if told := self._view.told:
            parts.append(Text(told, style="dim", no_wrap=True, overflow="ellipsis"))
        room = max(1, console.height - 8 - bool(told) - len(told_of))
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

    def _bar(self, console: Console, plan: EpisodePlan) -> Table:
        done = max(0, len(self._view.iterations) - 1)
        now, clock = self._view.now, time.monotonic()
        state = f"{now[1]} {clock - now[2]:.0f} s" if now else "starting"
        where = f"iteration {now[0]}, " if now else ""
        row = Table.grid(padding=(0, 1))
        row.add_column(no_wrap=True)
        row.add_column(no_wrap=True)
        row.add_column(no_wrap=True, overflow="ellipsis")
        row.add_row(
            ProgressBar(total=plan.n_iterations, completed=done, width=min(24, console.width // 4)),
            f"{done}/{plan.n_iterations}",
            Text(f"{where}{state}, {clock - self._view.began:.0f} s in all"),
        )
        return row


def _title(plan: EpisodePlan) -> str:
    where = f" in {plan.environment}" if plan.environment else ""
    return plain(f"{plan.task}, taught by {plan.agent}{where}, seed {plan.seed}")


def _folder(plan: EpisodePlan) -> str:
    return plain(f"run directory: {plan.directory}")


def _warning_line(warning: RunWarning) -> str:
    return f"warning: {warning_lines([warning])[0]}"
