"""The log of a teacher in the run directory: its calls and their cost.

    teacher/begun         one byte for each request, written before it is sent
    teacher/calls.jsonl   the transcript: every call, one JSON line each
    teacher/usage.json    the totals of all calls (`TeacherUsage`)

Lines of the transcript are in the order of the calls to `ask` and of the conversations in them, not
of the replies: a line is written once all lines before it are. A killed process may leave an
incomplete last line, which readers ignore and the next process removes.

A resumed run continues these counts. `usage.json` is written when calls have ended, and once a
second while they are in progress. A killed process may thus leave it older than the transcript; the
larger numbers count. Requests that were begun and are in neither file count as requests, and as
unanswered: their cost is unknown.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from dataenvgym import exact_json
from dataenvgym.errors import ConfigurationError, RunDirectoryError
from dataenvgym.events import redact_bytes
from dataenvgym.interfaces import Failure, Reply, SamplingParameters
from dataenvgym.records import Conversation, Model
from dataenvgym.storage import read_lines, write_json
from dataenvgym.teachers.budget import (
    MeterOptions,
    Price,
    TeacherUsage,
    begun_file,
    cost_of,
    read_usage,
    usage_file,
)

_LAG_S = 1.0


class TeacherCall(Model):
    """One conversation that a teacher was asked, and its result.

    Attributes:
        time: of the answer, in UTC, ISO 8601.
        purpose: of the question.
        model: the teacher's.
        messages: the conversation.
        sampling: how the reply should be drawn.
        sample: the number (from 0) among several samples of the same request.
        reply: the answer's text; None if there is none.
        finish_reason: "stop" or "length"; None if there is no answer.
        failure: why there is no answer, or None.
        cached: whether the cache answered.
        prompt_tokens, completion_tokens: of this call, so 0 from the cache; None if the server does
            not report them.
        cost: in US dollars, 0 from the cache; None if it is unknown.
        seconds: from sending the request to its answer, retries included.
    """

    time: str
    purpose: str
    model: str
    messages: Conversation
    sampling: SamplingParameters
    sample: int
    reply: str | None
    finish_reason: str | None
    failure: str | None
    cached: bool
    prompt_tokens: int | None
    completion_tokens: int | None
    cost: float | None
    seconds: float


def calls_file(directory: Path) -> Path:
    """The file of a run's teacher calls."""
    return directory / "teacher" / "calls.jsonl"


def read_calls(directory: Path) -> Iterator[TeacherCall]:
    """The teacher's calls of the run in `directory`, in order; none if it has no teacher."""
    for line in _whole_lines(calls_file(directory)):
        yield TeacherCall.model_validate_json(line)


@dataclass
class Line:
    """A line of the transcript; one that is over without a call is left out."""

    call: TeacherCall | None = None
    is_over: bool = False


class TeacherLog:
    """Opened at the first question; before that, no file is read or written. Used by any thread.

    Args:
        directory: the run directory; None counts in memory, and keeps no transcript.
        limits: the budget.
        price: None if it is unknown; the cost is then None.

    Raises:
        RunDirectoryError: if the files there cannot be read.
    """

    def __init__(self, directory: Path | None, limits: MeterOptions, price: Price | None) -> None:
        self._directory, self._limits, self._price = directory, limits, price
        self._usage = _usage_so_far(directory)
        self._saved_at = -_LAG_S
        self._lines: deque[Line] = deque()
        self._is_mended = False
        self._lock = threading.RLock()

    # --- the account ---

    @property
    def usage(self) -> TeacherUsage:
        """The amounts spent so far, including requests in progress."""
        with self._lock:
            is_known = not self._usage.uncounted and not self._usage.unanswered
            return self._usage.model_copy(update={"cost": self._cost if is_known else None})

    @property
    def _cost(self) -> float | None:
        # from all tokens at once: a sum of many small costs would drift
        return cost_of(self._price, self._usage.prompt_tokens, self._usage.completion_tokens)

    def spent(self) -> str | None:
        """Why the budget allows no further request; None if it does."""
        with self._lock:
            usage, cost = self._usage, self._cost
            tokens = usage.prompt_tokens + usage.completion_tokens
            for name, spent, text in (
                ("max_requests", usage.requests, f"{usage.requests} requests"),
                ("max_tokens", tokens, f"{tokens} tokens"),
                ("max_cost", cost, f"${cost or 0.0:.4f}"),
            ):
                limit = getattr(self._limits, name)
                if limit is not None and spent is not None and spent >= limit:
                    return (
                        f"the teacher's budget is spent: {text}, and teacher.{name} is {limit:g}; "
                        f"to continue, set a higher teacher.{name}"
                    )
            return None

    def reserve(self) -> bool:
        """Enter one request, to be made now; False if the budget does not allow it."""
        with self._lock:
            if self.spent() is not None:
                return False
            self.add(requests=1, unanswered=1)
            return True

    def count(self, outcome: Reply | Failure) -> None:
        """Enter the outcome of a request.

        Raises:
            ConfigurationError: if the server does not count tokens, and the budget needs them.
        """
        if isinstance(outcome, Failure):
            self.add(failed=1, unanswered=-1)
            return
        counts = outcome.prompt_tokens, outcome.completion_tokens
        self.add(
            prompt_tokens=counts[0] or 0,
            completion_tokens=counts[1] or 0,
            uncounted=int(None in counts),
            unanswered=-1,
        )
        limits = (n for n in ("max_tokens", "max_cost") if getattr(self._limits, n) is not None)
        if None in counts and (limit := next(limits, None)):
            raise ConfigurationError(
                f"{limit} is set, and the teacher's server does not say how many tokens an answer "
                "took: limit its max_requests instead"
            )

    def add(self, **counts: int) -> None:
        """Add to these fields of the usage, such as `cached=1`."""
        with self._lock:
            sums = {name: getattr(self._usage, name) + n for name, n in counts.items()}
            self._usage = self._usage.model_copy(update=sums)

    # --- the files ---

    def begin(self, n: int) -> None:
        """Record that `n` requests are about to be sent."""
        if self._directory is not None:
            path = begun_file(self._directory)
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("ab") as stream:
                stream.write(b"." * n)

    def save(self, *, soon: bool = False) -> None:
        """Write the account. `soon`: unless it was written within the last second."""
        with self._lock:
            now = time.monotonic()
            if self._directory is not None and (not soon or now - self._saved_at >= _LAG_S):
                self._saved_at = now
                write_json(usage_file(self._directory), self.usage)

    @contextmanager
    def lines(self, n: int) -> Iterator[list[Line]]:
        """Lines for `n` conversations, behind those that were begun before."""
        lines = [Line() for _ in range(n)]
        with self._lock:
            self._lines += lines
        try:
            yield lines
        finally:
            for line in lines:
                line.is_over = True
            self._flush()

    def write(self, line: Line, call: TeacherCall) -> None:
        """Enter a call; it is written once those before it are."""
        line.call, line.is_over = call, True
        self._flush()

    def _flush(self) -> None:
        with self._lock:
            due = b""
            while self._lines and self._lines[0].is_over:
                if call := self._lines.popleft().call:
                    row = call.model_dump(mode="json")
                    due += exact_json.dumps(row, option=exact_json.APPEND_NEWLINE)
            if not due or self._directory is None:
                return
            path = calls_file(self._directory)
            if not self._is_mended:
                path.parent.mkdir(parents=True, exist_ok=True)
                if path.exists():  # a torn line at its end is removed
                    os.truncate(path, sum(len(line) for line in _whole_lines(path)))
                self._is_mended = True
            with path.open("ab") as stream:
                stream.write(redact_bytes(due))


def _whole_lines(path: Path) -> Iterator[bytes]:
    """The complete lines of a file; none if there is no file."""
    if path.exists():
        yield from (line for line in read_lines(path) if line.endswith(b"\n"))


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
    for line in _whole_lines(path):
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
