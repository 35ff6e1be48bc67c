"""How long what is left of a study takes, by its own episodes that have ended.

Strategies differ much (a ceiling may take ten times as long as the others), so an episode is only
compared with those of the same strategy on the same task. Nothing is guessed: a strategy of which
no episode has ended is named as unknown.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from contextlib import suppress
from pathlib import Path

from dataenvgym.episodes.summary import Summary
from dataenvgym.episodes.texts import minutes
from dataenvgym.errors import BrokenFileError
from dataenvgym.storage import read_jsonl


class ExpectedTime:
    """Seconds by kind of episode, and how many iterations of each kind are left.

    Args:
        workers: episodes that run at the same time; None if that is not known.
    """

    def __init__(self, workers: int | None) -> None:
        self._workers = workers
        self._left: dict[str, int] = defaultdict(int)
        self._n_left = 0
        self._seconds: dict[str, float] = defaultdict(float)
        self._iterations: dict[str, int] = defaultdict(int)
        self._lock = threading.Lock()

    def plan(self, kind: str, iterations: int) -> None:
        """One more episode is to be run."""
        with self._lock:
            self._left[kind] += iterations
            self._n_left += 1

    def end(self, kind: str, iterations: int) -> None:
        """One episode less is to be run; so many of its iterations were left."""
        self.advance(kind, iterations)
        with self._lock:
            self._n_left -= 1

    def advance(self, kind: str, iterations: int = 1) -> None:
        """So many iterations less are to be run."""
        with self._lock:
            self._left[kind] = max(0, self._left[kind] - iterations)

    def measured(self, kind: str, iterations: int, seconds: float) -> None:
        """An episode took so long."""
        if iterations > 0:
            with self._lock:
                self._iterations[kind] += iterations
                self._seconds[kind] += seconds

    @property
    def unknown(self) -> list[str]:
        """The kinds that are left and of which no episode has ended."""
        with self._lock:
            return [k for k, left in self._left.items() if left and not self._iterations.get(k)]

    @property
    def seconds(self) -> float:
        """For all that is left of the other kinds."""
        with self._lock:
            each = {k: self._seconds[k] / n for k, n in self._iterations.items() if n}
            total = sum(each.get(kind, 0.0) * left for kind, left in self._left.items())
            return total / max(1, min(self._workers or 1, self._n_left))

    def short(self) -> str:
        """`about 12 min left`, and the kinds that it does not count; "" if nothing is known."""
        unknown, seconds = self.unknown, self.seconds
        if not seconds:
            return ""
        kinds = f", not counting {', '.join(unknown)}" if unknown else ""
        return f"about {minutes(seconds)} left{kinds}"

    def __str__(self) -> str:
        """`about 12 min`, and the parts that it leaves out."""
        unknown, seconds = self.unknown, self.seconds
        if not seconds:
            return "how long is known once the first episode of each strategy has ended"
        text = f"about {minutes(seconds)}"
        if self._workers is None:
            text += " one after the other, less where several run at the same time"
        if unknown:
            text += f", not counting {', '.join(unknown)}, of which no episode has ended yet"
        return text


def run_seconds(summary: Summary, directory: Path) -> float:
    """How long a run took: its iterations, and the evaluations of the test split."""
    seconds = sum(one.seconds.get("total", 0.0) for one in summary.iterations)
    with suppress(OSError, BrokenFileError, AttributeError, KeyError, TypeError, ValueError):
        events = read_jsonl(directory / "events.jsonl")  # a log: damage to it stops nothing
        seconds += sum(float(e["seconds"]) for e in events if e.get("phase") == "test")
    return seconds
