"""Turns the observations of a run into its result, for all backends."""

from __future__ import annotations

import os
import re

from dataenvgym.sandbox.interface import ExecutionResult, Status
from dataenvgym.sandbox.supervision import Observed

_MEMORY_ERROR = re.compile(rb"^(\w+\.)*_?\w*MemoryError(:|$)")


def result_of(observed: Observed, *, wait_status: int | None, memory: int) -> ExecutionResult:
    """The result of a run.

    Args:
        wait_status: of the main process, from `os.wait`; None if its end was not seen.
        memory: the largest number of bytes in use that was seen.
    """
    code = None if wait_status is None else os.waitstatus_to_exitcode(wait_status)
    return ExecutionResult(
        status=_status(observed, code),
        stdout=observed.stdout,
        stderr=observed.stderr,
        return_code=code if code is not None and code >= 0 else None,
        signal=-code if code is not None and code < 0 else None,
        seconds=observed.seconds,
        memory=memory,
        truncated=observed.truncated,
    )


def _status(observed: Observed, code: int | None) -> Status:
    if observed.cause is not None:
        return observed.cause
    if code == 0:
        return "ok"
    if code is not None and _ran_out_of_memory(observed.stderr):
        return "out_of_memory"
    return "error"


def _ran_out_of_memory(stderr: bytes) -> bool:
    """Whether the last line is Python's message about a refused allocation.

    Code may print such a line itself, but that only makes its run fail.
    """
    lines = stderr.rstrip().rsplit(b"\n", 1)
    return _MEMORY_ERROR.match(lines[-1]) is not None
