"""Runs a command, and ends it and its children when the calling process is gone.

    guard.py PID COMMAND [ARGUMENT ...]      PID: the process that starts this one

It runs between us and every external program: a program that outlived us would keep its memory and
its GPU. Programs such as torchrun start others in sessions of their own, where no signal reaches
them. On Linux the guard becomes the parent of all orphans below it, so no process escapes.

The command has the guard's standard streams. The guard ends as the command does: with its exit
code, or by the same signal. It is a script to run, not to import: see `processes.guarded`.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import subprocess
import sys
from contextlib import suppress
from typing import NoReturn

import psutil

GRACE = 5.0
"""Seconds between the request to end and the kill."""

_LOOK = 0.2
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


def main(asker: int, command: list[str]) -> NoReturn:
    """Run the command, and end as it did."""
    _set(_PR_SET_CHILD_SUBREAPER, 1)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(128 + signal.SIGTERM))
    # if the guard itself is killed, at least the command ends, too
    process = subprocess.Popen(command, preexec_fn=lambda: _set(_PR_SET_PDEATHSIG, signal.SIGKILL))
    try:
        while os.getppid() == asker:
            with suppress(subprocess.TimeoutExpired):
                process.wait(_LOOK)
                break
    finally:
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        _end_all()
    _end_like(process.returncode)


def _set(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value)


def _end_all() -> None:
    """End everything below this process."""
    for process in _below():
        _send(process, signal.SIGTERM)
    psutil.wait_procs(_below(), timeout=GRACE)
    while left := _below():
        for process in left:
            _send(process, signal.SIGKILL)
        psutil.wait_procs(left, timeout=1.0)


def _below() -> list[psutil.Process]:
    return list(psutil.Process().children(recursive=True))


def _send(process: psutil.Process, number: signal.Signals) -> None:
    with suppress(psutil.NoSuchProcess):
        process.send_signal(number)


def _end_like(code: int | None) -> NoReturn:
    if code is not None and code < 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # one core file is enough
        with suppress(OSError, ValueError):  # SIGKILL has no handler
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    sys.exit(1 if code is None else code)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
