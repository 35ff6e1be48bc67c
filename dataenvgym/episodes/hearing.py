"""Common parts of an episode's displays: progress messages and titles."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from contextlib import ExitStack

from dataenvgym.episodes.callbacks import EpisodePlan
from dataenvgym.episodes.texts import plain
from dataenvgym.episodes.warning_log import RunWarning, warning_lines
from dataenvgym.progress import ProgressMessage, listening


class Hearing:
    """Receives progress messages from `begin` to `end`, for a display that may be collected."""

    def __init__(self) -> None:
        self._until = ExitStack()

    def begin(self, hear: Callable[[ProgressMessage], None]) -> None:
        self.end()
        # a weak reference, so that a display without a call of `end` is collected
        reference = weakref.WeakMethod(hear)

        def show(message: ProgressMessage) -> None:
            if (there := reference()) is not None:
                there(message)

        self._until.enter_context(listening(show))

    def __del__(self) -> None:
        self.end()

    def end(self) -> None:
        self._until.close()


def title(plan: EpisodePlan) -> str:
    """The task, the agent and the seed, in one line."""
    where = f" in {plan.environment}" if plan.environment else ""
    return plain(f"{plan.task}, taught by {plan.agent}{where}, seed {plan.seed}")


def folder_line(plan: EpisodePlan) -> str:
    """The line with the run directory."""
    return plain(f"run directory: {plan.directory}")


def warning_line(warning: RunWarning) -> str:
    """A warning, with its iteration."""
    return f"warning: {warning_lines([warning])[0]}"
