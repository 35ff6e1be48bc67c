"""The phases of one iteration, timed and announced.

    agent -> check -> dataset -> train -> load -> generate -> score -> save

Enter a phase as `clock("train")`: the `PhaseClock` adds up seconds by phase, and notifies its
listeners when a phase begins and ends.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal

PHASES = ("agent", "check", "dataset", "train", "load", "generate", "score", "save")

Listener = Callable[[Literal["begin", "end"], int, str, float], None]
"""Called with the event, the iteration, the phase and (at its end) the seconds it took."""


class PhaseClock:
    """The seconds spent in each phase of the current iteration."""

    def __init__(self) -> None:
        self.iteration = 0
        self.seconds: dict[str, float] = {}
        self.listeners: list[Listener] = []

    def start(self, iteration: int) -> None:
        """Begin an iteration: reset the seconds."""
        self.iteration = iteration
        self.seconds = {}

    @contextmanager
    def __call__(self, phase: str) -> Iterator[None]:
        """Enter a phase. Seconds of repeated phases add up. A phase that raises does not end."""
        self._tell("begin", phase, 0.0)
        began = time.perf_counter()
        yield
        seconds = time.perf_counter() - began
        self.add(phase, seconds)
        self._tell("end", phase, seconds)

    def add(self, phase: str, seconds: float) -> None:
        """Count `seconds` to `phase` without announcing it."""
        self.seconds[phase] = self.seconds.get(phase, 0.0) + seconds

    def _tell(self, what: Literal["begin", "end"], phase: str, seconds: float) -> None:
        for listener in self.listeners:
            listener(what, self.iteration, phase, seconds)
