"""Ends Python code that runs too long in its thread.

A thread cannot be killed. One watchdog thread of the process raises an exception in the thread
whose time is over, which ends any loop of Python code, but not a call that waits in C.
"""

from __future__ import annotations

import ctypes
import os
import threading
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
_PERIOD = 0.1  # seconds between two looks at the deadlines
_raise_in = ctypes.pythonapi.PyThreadState_SetAsyncExc
_raise_in.argtypes = (ctypes.c_ulong, ctypes.py_object)


class _Expired(BaseException):
    """Raised in the thread whose time is over; tool code is not to catch it."""


class _Watchdog:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._deadlines: dict[int, float] = {}
        self._expired: set[int] = set()
        self._thread: threading.Thread | None = None
        self._awake = threading.Event()

    def begin(self, seconds: float) -> int:
        thread = threading.get_ident()
        with self._lock:
            self._deadlines[thread] = time.monotonic() + seconds
            if not self._awake.is_set():
                self._awake.set()
            if self._thread is None:
                self._thread = threading.Thread(target=self._watch, daemon=True, name="tool-time")
                self._thread.start()
        return thread

    def end(self, thread: int) -> bool:
        """Whether the time was over; nothing is raised in the thread afterwards."""
        with self._lock:
            self._deadlines.pop(thread, None)
            if thread not in self._expired:
                return False
            self._expired.discard(thread)
            _raise_in(thread, ctypes.py_object())  # if it is not raised yet, it never will be
            return True

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


def _renew() -> None:
    global _watchdog
    _watchdog = _Watchdog()


os.register_at_fork(after_in_child=_renew)


def within(seconds: float, function: Callable[[], T]) -> T:
    """Call the function, and end it if it takes longer.

    Raises:
        TimeoutError: if it does.
    """
    watchdog = _watchdog
    thread = watchdog.begin(seconds)
    try:
        try:
            value = function()
        finally:
            late = watchdog.end(thread)
    except _Expired:
        watchdog.end(thread)
        late = True
    if late:
        raise TimeoutError(f"took longer than {seconds:g} s")
    return value
