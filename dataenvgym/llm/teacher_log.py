"""The log of a teacher in the run directory: its calls and their cost.

    teacher/begun         one byte for each request, written before it is sent
    teacher/calls.jsonl   the transcript: every call
    teacher/usage.json    the totals of all calls (`TeacherUsage`)

A resumed run continues these counts. `usage.json` is written when calls have ended, and once a
second while they are in progress. A killed process may thus leave it older than the transcript; the
larger numbers count. Requests that were begun and are in neither file count as requests, and as
unanswered: their cost is unknown.
"""

from __future__ import annotations

import threading
import time
from pathlib import Path

from pydantic import ValidationError

from dataenvgym import exact_json
from dataenvgym.errors import RunDirectoryError
from dataenvgym.llm.budget import (
    Account,
    Budget,
    Price,
    TeacherUsage,
    begun_file,
    read_usage,
    usage_file,
)
from dataenvgym.llm.transcript import Transcript, calls_file, whole_lines
from dataenvgym.storage import write_json

_LAG_S = 1.0


class TeacherLog:
    """Opened at the first question; before that, no file is read or written.

    Args:
        directory: the run directory; None keeps the account in memory, and no transcript.

    Raises:
        RunDirectoryError: if the files there cannot be read.
    """

    def __init__(self, directory: Path | None, budget: Budget, price: Price | None) -> None:
        self._directory = directory
        self.account = Account(budget, price, _usage_so_far(directory))
        self.transcript = Transcript(None if directory is None else calls_file(directory))
        self._saved_at = -_LAG_S
        self._lock = threading.Lock()

    def begin(self, n: int) -> None:
        """Record that `n` requests are about to be sent."""
        if self._directory is None:
            return
        path = begun_file(self._directory)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as stream:
            stream.write(b"." * n)

    def save(self, *, soon: bool = False) -> None:
        """Write the account. `soon`: unless it was written within the last second."""
        if self._directory is None:
            return
        with self._lock:
            if soon and time.monotonic() - self._saved_at < _LAG_S:
                return
            self._saved_at = time.monotonic()
            write_json(usage_file(self._directory), self.account.usage.model_dump(mode="json"))


def _usage_so_far(directory: Path | None) -> TeacherUsage:
    if directory is None:
        return TeacherUsage()
    try:
        written = read_usage(directory) or TeacherUsage()
        counted = _count_calls(calls_file(directory))
    except (ValidationError, ValueError, KeyError, TypeError) as error:
        raise RunDirectoryError(
            f"the teacher's files in {directory / 'teacher'} cannot be read: {error}. Mend or "
            "remove them; removed, the budget counts from zero again"
        ) from error
    n_ended = max(written.requests - written.unanswered, counted["requests"])
    sums = {name: max(getattr(written, name), n) for name, n in counted.items()}
    return written.model_copy(update={**sums, "unanswered": sums["requests"] - n_ended})


def _count_calls(path: Path) -> dict[str, int]:
    """The account as computed from the transcript."""
    names = ("requests", "cached", "failed", "prompt_tokens", "completion_tokens", "uncounted")
    counts = dict.fromkeys(names, 0)
    for line in whole_lines(path):
        call = exact_json.loads(line)
        if call["cached"]:
            counts["cached"] += 1
            continue
        counts["requests"] += 1
        if call["failure"] is not None:
            counts["failed"] += 1
            continue
        tokens = call["prompt_tokens"], call["completion_tokens"]
        counts["prompt_tokens"] += tokens[0] or 0
        counts["completion_tokens"] += tokens[1] or 0
        counts["uncounted"] += None in tokens
    return counts
