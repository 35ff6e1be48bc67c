"""Threads that belong to the episode that started them, and end with it."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from types import TracebackType
from typing import Any

_CANCELLED: ContextVar[tuple[threading.Event, ...]] = ContextVar("cancelled", default=())


_STARTING = threading.Lock()
"""Held while a pool starts a thread, which until then has the number of the one that starts it."""


class CancelledTask(BaseException):
    """Ends a task of a cancelled pool.

    Like a KeyboardInterrupt it is not an `Exception`: it must not be recorded as a failure.
    """


def raise_if_cancelled() -> None:
    """Called by long computations at each step.

    Raises:
        CancelledTask: in a task of a pool that was cancelled, or whose own pool is in such a task.
    """
    if any(cancelled.is_set() for cancelled in _CANCELLED.get()):
        raise CancelledTask


def interrupt(threads: Iterable[int]) -> None:
    """Raise KeyboardInterrupt in these threads, as Ctrl-C does in the main thread."""
    with _STARTING:
        for ident in list(threads):
            ctypes.pythonapi.PyThreadState_SetAsyncExc(
                ctypes.c_ulong(ident), ctypes.py_object(KeyboardInterrupt)
            )


class ContextThreadPool(ThreadPoolExecutor):
    """A pool whose tasks run in the context of their `submit`.

    So what they say (`progress`, `run_warnings`) is heard by their episode, and what they write is
    redacted as in their episode (`secrets`).

    An exception that leaves the pool's block (Ctrl-C, above all) cancels the pool, as does
    `shutdown` with `cancel_futures`: waiting tasks never start, and running ones end at their next
    `raise_if_cancelled`.
    """

    def __init__(self, max_workers: int, thread_name_prefix: str = "") -> None:
        super().__init__(max_workers, thread_name_prefix)
        self._cancelled = threading.Event()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        raise_if_cancelled()
        context = copy_context()
        context.run(_CANCELLED.set, (*_CANCELLED.get(), self._cancelled))
        with _STARTING:
            return super().submit(context.run, fn, *args, **kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        if cancel_futures:
            self._cancelled.set()
        super().shutdown(wait, cancel_futures=cancel_futures)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.shutdown(cancel_futures=kind is not None)
