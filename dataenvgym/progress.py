"""Progress messages of long operations: "50 of 57 training steps, loss 0.208".

Working code calls `tell`, or counts with `counting`; a display enters `listening`. Messages go
through the logger with this module's name, so no object has to be passed around.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_log = logging.getLogger(__name__)


class ProgressMessage(str):
    """A short progress message.

    Attributes:
        done, total: the numbers of a count; None without a count.
        skipped: the part of `done` that existed before, and took no time.
        source: name of the run directory of an episode in another process; "" for this process.
    """

    done: int | None = None
    total: int | None = None
    skipped: int = 0
    source: str = ""


def tell(
    text: str,
    *,
    done: int | None = None,
    total: int | None = None,
    skipped: int = 0,
    source: str = "",
) -> None:
    """Send a short progress message."""
    message = ProgressMessage(text)
    message.done, message.total = done, total
    message.skipped, message.source = skipped, source
    # counts are too many for a log
    _log.log(logging.INFO if total is None else logging.DEBUG, message)


class Count:
    """Counts to `total`, and sends its count with those of the counters around it; thread-safe.

    The numbers of a message are those of the outermost counter that has begun.
    """

    def __init__(self, what: str, total: int, around: Count | None) -> None:
        self.what = what
        self.total = total
        self.around = around
        self._done = 0
        self._skipped = 0
        self._note = ""
        self._lock = threading.Lock()

    def add(self, n: int = 1, note: str = "") -> None:
        """Count `n` more.

        Args:
            note: a further text, such as "loss 0.208".
        """
        with self._lock:
            self._done += n
            self._note = note
        self.tell()

    def skip(self, n: int) -> None:
        """Count `n` that existed before: they are done, but do not count for the pace."""
        with self._lock:
            self._done += n
            self._skipped += n
        if n:
            self.tell()

    def reach(self, done: int) -> None:
        """Count up to `done` in all; numbers that others counted here are included."""
        with self._lock:
            missing = done - self._done
            self._done += max(0, missing)
        if missing > 0:
            self.tell()

    def tell(self) -> None:
        """Send the progress, unless a single thing is counted within another count."""
        if self.around is None or self.total > 1:
            counts = [*self._from_outermost()]
            begun = next((count for count in counts if count._done), self)
            text = ", ".join(map(str, counts))
            tell(text, done=begun._done, total=begun.total, skipped=begun._skipped)

    def __str__(self) -> str:
        note = f", {self._note}" if self._note else ""
        return f"{self._done} of {self.total} {self.what}{note}"

    def _from_outermost(self) -> Iterator[Count]:
        if self.around is not None:
            yield from self.around._from_outermost()
        yield self


_innermost: ContextVar[Count | None] = ContextVar("counter", default=None)


@contextmanager
def counting(what: str, total: int) -> Iterator[Count]:
    """Make a counter of `what` (a plural) until the block ends.

    Within a block that counts the same, this is that block's counter, so parts need not know the
    total.
    """
    around = counter = _innermost.get()
    while counter is not None and counter.what != what:
        counter = counter.around
    if counter is not None:
        yield counter
        return
    counter = Count(what, total, around)
    counter.tell()
    token = _innermost.set(counter)
    try:
        yield counter
    finally:
        _innermost.reset(token)


@contextmanager
def listening(show: Callable[[ProgressMessage], None]) -> Iterator[None]:
    """Pass messages, from any thread, to `show` until the block ends."""

    def pass_on(record: logging.LogRecord) -> None:
        if isinstance(record.msg, ProgressMessage):
            show(record.msg)

    with passing(_log, logging.DEBUG, pass_on):
        yield


@contextmanager
def passing(
    log: logging.Logger, level: int, show: Callable[[logging.LogRecord], None]
) -> Iterator[None]:
    """Pass the records of a logger, from this level on, to `show` until the block ends."""
    handler = _Shown(show)
    before = log.level
    log.addHandler(handler)
    log.setLevel(level)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(before)


class _Shown(logging.Handler):
    def __init__(self, show: Callable[[logging.LogRecord], None]) -> None:
        super().__init__()
        self._show = show

    def emit(self, record: logging.LogRecord) -> None:
        self._show(record)
