"""Progress messages of long operations: "50 of 57 training steps, loss 0.208".

Working code calls `tell`, or counts with `counting`; an episode or a display enters `listening`,
and hears what is said in its context (see `Listeners`). No object has to be passed around.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Generic, TypeVar

_log = logging.getLogger(__name__)
_T = TypeVar("_T")


class Listeners(Generic[_T]):
    """Functions that hear the messages of their context: of their episode, and of no other.

    A thread that was started without its context (other than by `ContextThreadPool`) has no
    episode: all functions hear it, so that nothing is lost.
    """

    def __init__(self, name: str) -> None:
        self._here: ContextVar[tuple[Callable[[_T], None], ...]] = ContextVar(name, default=())
        self._all: tuple[Callable[[_T], None], ...] = ()
        self._lock = threading.Lock()

    def tell(self, message: _T) -> bool:
        """Pass a message on; False if there is no listener."""
        listeners = self._here.get() or self._all
        for hear in listeners:
            hear(message)
        return bool(listeners)

    @contextmanager
    def added(self, hear: Callable[[_T], None]) -> Iterator[None]:
        """Pass the messages of this context to `hear` until the block ends."""
        with self._lock:
            self._all = (*self._all, hear)
        token = self._here.set((*self._here.get(), hear))
        try:
            yield
        finally:
            self._here.reset(token)
            with self._lock:
                left = list(self._all)
                left.remove(hear)
                self._all = tuple(left)


class ProgressMessage(str):
    """A short progress message.

    Attributes:
        done, total: the numbers of a count; None without a count.
        skipped: the part of `done` that existed before, and took no time.
    """

    done: int | None = None
    total: int | None = None
    skipped: int = 0

    @classmethod
    def of(
        cls, text: str, done: int | None = None, total: int | None = None, skipped: int = 0
    ) -> ProgressMessage:
        """A message with these attributes."""
        message = cls(text)
        message.done, message.total, message.skipped = done, total, skipped
        return message


_listeners: Listeners[ProgressMessage] = Listeners("progress")


def tell(text: str, *, done: int | None = None, total: int | None = None, skipped: int = 0) -> None:
    """Send a short progress message."""
    message = ProgressMessage.of(text, done, total, skipped)
    # counts are too many for a log
    _log.log(logging.INFO if total is None else logging.DEBUG, message)
    _listeners.tell(message)


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


def listening(hear: Callable[[ProgressMessage], None]) -> AbstractContextManager[None]:
    """Pass the messages of this context, from any thread, to `hear` until the block ends."""
    return _listeners.added(hear)
