"""Threads that belong to the episode that started them."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from typing import Any


class ContextThreadPool(ThreadPoolExecutor):
    """A pool whose tasks run in the context of their `submit`.

    So what they say (`progress`, `run_warnings`) is heard by their episode, and what they write is
    redacted as in their episode (`secrets`).
    """

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        return super().submit(copy_context().run, fn, *args, **kwargs)
