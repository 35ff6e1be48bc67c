"""Finds tool code that reads a clock or a source of chance, which differ between replays."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from typing import Any

from dataenvgym.tasks.tool_use import time_limit

_CLOCKS = frozenset(
    {"time", "time_ns", "localtime", "gmtime", "ctime", "perf_counter", "monotonic"}
)
_CHANCE = frozenset({"urandom", "getrandom"})
_OWN = time_limit.__name__


@contextmanager
def asked() -> Iterator[set[str]]:
    """The clocks and sources of chance that this thread reads in the block, such as "datetime.now".

    Only Python calls are seen; the block runs more slowly.
    """
    found: set[str] = set()

    def watch(frame: Any, event: str, function: Any) -> None:
        if event == "c_call" and frame.f_globals.get("__name__") != _OWN:
            found.update(filter(None, [_impure(function)]))

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        yield found
    finally:
        sys.setprofile(before)


def _impure(function: Any) -> str | None:
    name, owner = getattr(function, "__name__", ""), getattr(function, "__self__", None)
    if isinstance(owner, type) and issubclass(owner, date):
        return f"{owner.__name__}.{name}" if name in ("now", "today", "utcnow") else None
    if owner is time:
        return f"time.{name}" if name in _CLOCKS else None
    if owner is random._inst:
        return "the global random generator"
    return f"os.{name}" if name in _CHANCE else None
