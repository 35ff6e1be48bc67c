"""`events.jsonl` in a run directory: what happens in the episode, as it happens.

One line of JSON for each event, with its `time` (seconds since 1970) and its name as `event`:

    start      name, task, agent, seed, n_iterations, n_finished, problems, environment
    begin      iteration, phase: the phase begins
    progress   text, such as "50 of 57 training steps, loss 0.208"; of counts also done, total,
               skipped (the part of `done` that existed before)
    phase      iteration, phase, seconds: the phase has ended
    warning    text, iteration (null for the whole run)
    iteration  the iteration's entry in `summary.json`
    end        status, error

Each time that the run is continued, there is another `start`. Of the many counts only some and the
last one of a phase are written, so that the file stays small. `EventReader` follows a run in
another process, as the executors' drivers do; the run itself never reads the file.
"""

from __future__ import annotations

import dataclasses
import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from dataenvgym import exact_json
from dataenvgym.errors import escaped
from dataenvgym.events import ProgressMessage, redact_bytes
from dataenvgym.runs.episodes.callbacks import EpisodeCallback, EpisodePlan, PhaseEvent
from dataenvgym.runs.episodes.summary import IterationSummary, RunWarning, Summary

EVENTS_FILE = "events.jsonl"

_PERIOD, _LONGEST = 1.0, 30.0
"""Seconds between two counts: at least, and after how many one that has hardly grown is written."""


class EventLog(EpisodeCallback):
    """Writes the events of the episode in `directory`.

    Args:
        waits: write nothing before `open`, so that a run directory that refuses the episode stays
            unchanged.
        clock: seconds.
    """

    def __init__(
        self, directory: Path, *, waits: bool = False, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._path = directory / EVENTS_FILE
        self._known = -1
        self._waiting: list[bytes] | None = [] if waits else None
        self._clock = clock
        self._counted_at, self._counted = float("-inf"), (0, 0)
        self._unwritten: ProgressMessage | None = None
        self._is_whole = False
        self._lock = threading.Lock()

    def open(self) -> None:
        """Write the events so far; from now on write each event at once."""
        with self._lock:
            if self._waiting is not None:
                lines, self._waiting = self._waiting, None
                self._append(b"".join(lines))

    def on_start(self, plan: EpisodePlan) -> None:
        facts = {f.name: getattr(plan, f.name) for f in dataclasses.fields(plan)}
        del facts["directory"]  # may be moved
        self._write("start", **{**facts, "problems": dict(plan.problems)})
        self._known = plan.n_finished - 1

    def on_phase(self, event: PhaseEvent, iteration: int, phase: str, seconds: float) -> None:
        self._write_last_count()
        self._counted_at = float("-inf")
        if event == "begin":
            self._write("begin", iteration=iteration, phase=phase)
        else:
            self._write("phase", iteration=iteration, phase=phase, seconds=round(seconds, 4))

    def on_progress(self, message: ProgressMessage) -> None:
        """Write texts, and those counts that are a second and one percent after the last one."""
        done, total = message.done, message.total
        if done is None or total is None:
            self._write("progress", text=escaped(message))
            return
        with self._lock:
            waited, (before, of) = self._clock() - self._counted_at, self._counted
            is_near = total == of and 0 <= done - before < total / 100
            self._unwritten = message
            if waited < _PERIOD or (is_near and waited < _LONGEST):
                return
            self._counted_at, self._counted = self._clock(), (done, total)
        self._write_last_count()

    def on_warning(self, warning: RunWarning) -> None:
        self._write("warning", **warning.model_dump(mode="json"))

    def on_iteration(self, summary: IterationSummary) -> None:
        if summary.iteration > self._known:
            self._write("iteration", **summary.model_dump(mode="json"))

    def on_end(self, summary: Summary) -> None:
        self._write_last_count()
        self._write("end", status=summary.status, error=summary.error)

    def _write_last_count(self) -> None:
        with self._lock:
            message, self._unwritten = self._unwritten, None
        if message is not None:
            numbers = {"done": message.done, "total": message.total, "skipped": message.skipped}
            self._write("progress", text=escaped(message), **numbers)

    def _write(self, event: str, **facts: Any) -> None:
        value = {"time": time.time(), "event": event, **facts}
        line = exact_json.dumps(value, option=exact_json.APPEND_NEWLINE)
        with self._lock:
            if self._waiting is None:
                self._append(line)
            else:
                self._waiting.append(line)

    def _append(self, lines: bytes) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a+b") as stream:
            if not self._is_whole and stream.tell():  # a kill may have left half a line
                stream.seek(-1, os.SEEK_END)
                lines = lines if stream.read() == b"\n" else b"\n" + lines
            self._is_whole = True
            stream.write(redact_bytes(lines))


class EventReader:
    """Follows a run from another process: reads the events written since it was made."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / EVENTS_FILE
        self._first, self._offset = b"", 0
        self.read()

    def read(self) -> list[dict[str, Any]]:
        """The events since the last call; a run that starts over is read from its beginning."""
        try:
            with self._path.open("rb") as stream:
                if (first := stream.readline()) != self._first:
                    self._first, self._offset = first, 0
                stream.seek(self._offset)
                lines, end, _ = stream.read().rpartition(b"\n")  # the last line may be incomplete
        except OSError:  # not there yet, or the storage does not answer for a moment
            return []
        self._offset += len(lines + end)
        events = []
        for line in lines.split(b"\n"):
            with suppress(exact_json.JSONDecodeError):  # a kill left half a line
                events.append(exact_json.loads(line))
        return events
