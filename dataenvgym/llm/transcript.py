"""Every call of a teacher, one JSON line each: `teacher/calls.jsonl` in the run directory.

Lines are in the order of the calls to `ask` and of the conversations in them, not of the replies.
Each call to `ask` fills a page, and a page is written as far as all lines before are complete. A
killed process may leave an incomplete last line, which readers ignore and the next process removes.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dataenvgym import exact_json
from dataenvgym.interfaces import SamplingParameters
from dataenvgym.records import Conversation, Model
from dataenvgym.secrets import redact_bytes
from dataenvgym.storage import read_lines


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
    for line in whole_lines(calls_file(directory)):
        yield TeacherCall.model_validate_json(line)


def whole_lines(path: Path) -> Iterator[bytes]:
    """The complete lines of a file; none if there is no file."""
    if path.exists():
        yield from (line for line in read_lines(path) if line.endswith(b"\n"))


class Page:
    """The calls of one call to `ask`, by the position of their conversations."""

    def __init__(self, transcript: Transcript, n: int) -> None:
        self._transcript = transcript
        self._calls: list[TeacherCall | None] = [None] * n
        self._written = 0
        self.is_full = False

    def put(self, position: int, call: TeacherCall) -> None:
        """Enter a call; it is written once those before it are."""
        self._calls[position] = call
        self._transcript.flush()

    def due(self) -> list[TeacherCall]:
        """The calls that may be written now; a full page returns all that are left."""
        calls = self._calls
        end = len(calls) if self.is_full else self._written
        while end < len(calls) and calls[end] is not None:
            end += 1
        due, self._written = calls[self._written : end], end
        return [call for call in due if call is not None]


class Transcript:
    """Appends calls to a file, from several threads.

    Args:
        path: of the file; None keeps no transcript.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._pages: deque[Page] = deque()
        self._lock = threading.Lock()
        self._is_mended = False

    @contextmanager
    def page(self, n: int) -> Iterator[Page]:
        """A page for `n` conversations, behind those that were begun before."""
        page = Page(self, n)
        with self._lock:
            self._pages.append(page)
        try:
            yield page
        finally:
            page.is_full = True
            self.flush()

    def flush(self) -> None:
        """Write all lines that are due."""
        with self._lock:
            due: list[TeacherCall] = []
            while self._pages:
                due += self._pages[0].due()
                if not self._pages[0].is_full:
                    break
                self._pages.popleft()
            if due and self._path is not None:
                rows = (call.model_dump(mode="json") for call in due)
                lines = (exact_json.dumps(row, option=exact_json.APPEND_NEWLINE) for row in rows)
                self._append(self._path, b"".join(lines))

    def _append(self, path: Path, lines: bytes) -> None:
        if not self._is_mended:
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.exists():  # a torn line at its end is removed
                os.truncate(path, sum(len(line) for line in whole_lines(path)))
            self._is_mended = True
        with path.open("ab") as stream:
            stream.write(redact_bytes(lines))
