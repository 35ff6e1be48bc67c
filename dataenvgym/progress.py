"""How far something long has come, said as it goes: "50 of 57 training steps, loss 0.208".

Code that works calls `tell`, or counts with `counting`; a display enters `listening`. Messages go
through a logger of this module's name, so that nothing has to be passed along.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_log = logging.getLogger(__name__)


class ProgressMessage(str):
    """A few words on how far it is.

    Attributes:
        done, total: numbers, where something is counted; None elsewhere.
        skipped: how many of `done` were there before, which took no time.
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
    """Say how far it is, in a few words."""
    message = ProgressMessage(text)
    message.done, message.total = done, total
    message.skipped, message.source = skipped, source
    # of counts there are many: they are not for a log
    _log.log(logging.INFO if total is None else logging.DEBUG, message)


class Count:
    """Counts to `total` and tells it, with the counters around it, from any thread.

    The numbers of such a message are those of the outermost counter that has begun.
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
            note: what else to say, such as "loss 0.208".
        """
        with self._lock:
            self._done += n
            self._note = note
        self.tell()

    def skip(self, n: int) -> None:
        """Count `n` that were there before: they are done, and say nothing of the pace."""
        with self._lock:
            self._done += n
            self._skipped += n
        if n:
            self.tell()

    def reach(self, done: int) -> None:
        """Count as many as are missing to `done`: what others have counted here counts."""
        with self._lock:
            missing = done - self._done
            self._done += max(0, missing)
        if missing > 0:
            self.tell()

    def tell(self) -> None:
        """Say how far it is; a single thing that is part of something else is not worth it."""
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
    """A counter of `what` (a plural) until the block ends.

    Within a block that counts the same, it is that block's counter: then parts need not know how
    much there is in all.
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
    """Pass the records of a logger, from that level on, to `show` until the block ends."""
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
