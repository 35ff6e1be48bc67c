"""Finds tool code that reads a clock, chance or the machine, which differ between replays."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from types import ModuleType
from typing import Any

from dataenvgym.domains.tool_use import time_limit

_ASKED = {
    "time": "time time_ns localtime gmtime ctime asctime strftime perf_counter perf_counter_ns "
    "monotonic monotonic_ns process_time process_time_ns thread_time thread_time_ns clock_gettime "
    "clock_gettime_ns",
    "posix": "urandom getrandom getpid getppid times stat lstat fstat listdir scandir getcwd uname "
    "getloadavg",
    "_thread": "get_ident get_native_id",
    "_uuid": "generate_time_safe",
}
_IMPURE = {f"{module}.{name}" for module, names in _ASKED.items() for name in names.split()}
_NOT_TOOLS = frozenset(
    {time_limit.__name__, "_strptime", "logging", "importlib._bootstrap_external"}
)
_SEED = random.Random.__init__.__code__


@contextmanager
def asked() -> Iterator[set[str]]:
    """What this thread reads in the block although it differs between replays: "datetime.now".

    Clocks, chance, and the machine's processes and files. Only Python calls are seen; the block
    runs more slowly.
    """
    found: set[str] = set()

    def watch(frame: Any, event: str, function: Any) -> None:
        if event == "call" and frame.f_code is _SEED and frame.f_locals["x"] is None:
            found.add("random.Random() without a seed")
        elif event == "c_call" and frame.f_globals.get("__name__") not in _NOT_TOOLS:
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
    if owner is random._inst or type(owner).__module__ == "numpy.random.mtrand":
        return "the global random generator"
    place = f"{owner.__name__}.{name}" if isinstance(owner, ModuleType) else ""
    return place.replace("posix.", "os.").lstrip("_") if place in _IMPURE else None
