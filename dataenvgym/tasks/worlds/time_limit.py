"""Ends Python code that runs too long in its thread.

A thread cannot be killed. One watchdog thread of the process raises an exception in the thread
whose time is over. That ends a loop of Python code, but not a call that blocks in C, nor a loop
that catches every BaseException.
"""

from __future__ import annotations

import ctypes
import os
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")
_PERIOD = 0.1  # seconds between checks of the deadlines
_raise_in = ctypes.pythonapi.PyThreadState_SetAsyncExc
_raise_in.argtypes = (ctypes.c_ulong, ctypes.py_object)


class _Expired(BaseException):
    """Raised in the thread whose time is over; tool code should not catch it."""


class _Watchdog:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._deadlines: dict[int, float] = {}
        self._expired: set[int] = set()
        self._thread: threading.Thread | None = None
        self._awake = threading.Event()

    def begin(self, thread: int, seconds: float) -> float | None:
        """Set the thread's deadline; return its earlier deadline, which stays in force."""
        with self._lock:
            before = self._deadlines.get(thread)
            deadline = time.monotonic() + seconds
            self._deadlines[thread] = deadline if before is None else min(before, deadline)
            if not self._awake.is_set():
                self._awake.set()
            if self._thread is None:
                self._thread = threading.Thread(target=self._watch, daemon=True, name="tool-time")
                self._thread.start()
        return before

    def end(self, thread: int, before: float | None) -> bool:
        """Clear the deadline, return whether it had passed, and restore the deadline `before`."""
        with self._lock:
            if before is None:
                self._deadlines.pop(thread, None)
            else:
                self._deadlines[thread] = before
            is_late = thread in self._expired
            self._expired.discard(thread)
            return is_late

    def _watch(self) -> None:
        while True:
            self._awake.wait()
            time.sleep(_PERIOD)
            with self._lock:
                now = time.monotonic()
                for thread, deadline in list(self._deadlines.items()):
                    if deadline < now and thread not in self._expired:
                        self._expired.add(thread)
                        _raise_in(thread, _Expired)
                if not self._deadlines:
                    self._awake.clear()


_watchdog = _Watchdog()


os.register_at_fork(after_in_child=_watchdog.__init__)  # type: ignore[misc]


def within(seconds: float, function: Callable[..., T], /, *args: Any, **arguments: Any) -> T:
    """Call the function with these arguments, and end it if it takes longer.

    Raises:
        TimeoutError: if it takes longer.
    """
    watchdog, thread = _watchdog, threading.get_ident()
    before = watchdog.begin(thread, seconds)
    try:
        try:
            value = function(*args, **arguments)
        finally:
            if late := watchdog.end(thread, before):
                # Run until the exception that the watchdog has set is raised, at a jump back at the
                # latest. Clearing it (with NULL) instead would leave CPython's eval breaker set for
                # good; every function then hangs under a tracer (3.11).
                for _ in range(100):
                    pass
    except _Expired:
        watchdog.end(thread, before)
        late = True
    if late:
        raise TimeoutError(f"took longer than {seconds:g} s")
    return value
