"""Estimates the time left of a study from its finished episodes.

Strategies differ much (a ceiling may take ten times as long as the others), so an episode is only
compared with those of the same strategy on the same task. There is no guessing: a strategy without
a finished episode is listed as unknown.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from contextlib import suppress
from pathlib import Path

from dataenvgym.episodes.events import EVENTS_FILE
from dataenvgym.episodes.summary import Summary
from dataenvgym.episodes.texts import minutes
from dataenvgym.errors import BrokenFileError
from dataenvgym.storage import read_jsonl


class ExpectedTime:
    """Seconds by kind of episode, and the number of iterations left of each kind.

    Args:
        workers: episodes that run at the same time; None if unknown.
    """

    def __init__(self, workers: int | None) -> None:
        self._workers = workers
        self._left: dict[str, int] = defaultdict(int)
        self._n_left = 0
        self._seconds: dict[str, float] = defaultdict(float)
        self._iterations: dict[str, int] = defaultdict(int)
        self._lock = threading.Lock()

    def plan(self, kind: str, iterations: int) -> None:
        """Add an episode to run."""
        with self._lock:
            self._left[kind] += iterations
            self._n_left += 1

    def end(self, kind: str, iterations: int) -> None:
        """Remove an episode with this number of iterations left."""
        self.advance(kind, iterations)
        with self._lock:
            self._n_left -= 1

    def advance(self, kind: str, iterations: int = 1) -> None:
        """Remove finished iterations."""
        with self._lock:
            self._left[kind] = max(0, self._left[kind] - iterations)

    def measured(self, kind: str, iterations: int, seconds: float) -> None:
        """Add the time of an episode."""
        if iterations > 0:
            with self._lock:
                self._iterations[kind] += iterations
                self._seconds[kind] += seconds

    @property
    def unknown(self) -> list[str]:
        """The remaining kinds without a finished episode."""
        with self._lock:
            return [k for k, left in self._left.items() if left and not self._iterations.get(k)]

    @property
    def seconds(self) -> float:
        """The estimated time for the remaining episodes of the other kinds."""
        with self._lock:
            each = {k: self._seconds[k] / n for k, n in self._iterations.items() if n}
            total = sum(each.get(kind, 0.0) * left for kind, left in self._left.items())
            return total / max(1, min(self._workers or 1, self._n_left))

    def short(self) -> str:
        """`about 12 min left`, and the kinds not counted; "" if nothing is known."""
        unknown, seconds = self.unknown, self.seconds
        if not seconds:
            return ""
        kinds = f", not counting {', '.join(unknown)}" if unknown else ""
        return f"about {minutes(seconds)} left{kinds}"

    def __str__(self) -> str:
        """`about 12 min`, and the kinds not counted."""
        unknown, seconds = self.unknown, self.seconds
        if not seconds:
            return "the time left is known after the first episode of each strategy"
        text = f"about {minutes(seconds)}"
        if self._workers is None:
            text += " one after another, less if several run at the same time"
        if unknown:
            text += f", not counting {', '.join(unknown)} (no episode has ended yet)"
        return text


def run_seconds(summary: Summary, directory: Path) -> float:
    """The time of a run: its iterations, and the evaluations of the test split."""
    seconds = sum(one.seconds.get("total", 0.0) for one in summary.iterations)
    with suppress(OSError, BrokenFileError, AttributeError, KeyError, TypeError, ValueError):
        for event in read_jsonl(directory / EVENTS_FILE):  # only a log: ignore damage
            if event["event"] == "phase" and event["phase"] == "test":
                seconds += float(event["seconds"])
    return seconds
