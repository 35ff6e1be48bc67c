"""A grading worker as its parent sees it: a process, two pipes, and a deadline.

The other end is `dataenvgym.tasks.scoring.worker`. The process is started by `subprocess` and not
by `multiprocessing`. That works in any thread, in daemonic processes and in scripts without a main
guard; and because pipes are not shared, killing one worker does not affect the others.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from multiprocessing.connection import wait
from typing import Any

STARTUP_LIMIT = 60.0
_ENVIRONMENT = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


@dataclass(frozen=True, slots=True)
class WorkerRequest:
    """A pair to compare, or with `answer=None` a gold to parse; both without delimiters."""

    gold: str
    answer: str | None


@dataclass(frozen=True, slots=True)
class WorkerReply:
    """A worker's result: `value` (equal, or parsable), or the `error` that prevented it.

    `exhausted` means that this request took too much time or memory, or that sympy cannot handle
    it.
    """

    value: bool
    error: str | None = None
    exhausted: bool = False


class WorkerProcess:
    """One worker: it starts, is ready, processes requests one by one, and is killed at the end.

    Attributes:
        ready: whether it has finished its imports.
        alive: whether it may still be used.
        deadline: the time (`time.monotonic`) at which it has taken too long.
    """

    def __init__(self) -> None:
        # The child has this process's import path, and not its working directory.
        path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "dataenvgym.tasks.scoring.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            env={**os.environ, **_ENVIRONMENT, "PYTHONPATH": path},
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._to, self._from = self._process.stdin, self._process.stdout
        self._buffer = b""
        self._limit = STARTUP_LIMIT
        self.deadline = time.monotonic() + STARTUP_LIMIT
        self.ready = False
        self.alive = True

    @property
    def pid(self) -> int:
        return self._process.pid

    def fileno(self) -> int:
        """The descriptor that becomes readable when the worker replies or dies."""
        return self._from.fileno()

    def has_exited(self) -> bool:
        return self._process.poll() is not None

    def send(self, request: WorkerRequest, time_limit: float) -> None:
        """Send a request; if the worker is dead, reading its reply will show it."""
        message = {"gold": request.gold, "answer": request.answer, "limit": time_limit}
        self._limit = time_limit
        self.deadline = time.monotonic() + time_limit
        with contextlib.suppress(BrokenPipeError):
            self._to.write(json.dumps(message).encode() + b"\n")

    def receive(self) -> WorkerReply | None:
        """The reply if there is one, an error if none will come, None while it is awaited.

        A worker that exceeds its time or fails to start is killed.
        """
        if wait([self.fileno()], 0):
            reply = self._read()
        elif time.monotonic() < self.deadline:
            return None
        else:
            error = f"{self._activity()} took more than {self._limit:g} s"
            reply = WorkerReply(False, error, exhausted=self.ready)
            self.kill()
        if reply is not None:
            self.deadline = math.inf
            if not self.ready:
                self.kill()
        return reply

    def _activity(self) -> str:
        return "the symbolic check" if self.ready else "the start of the grading worker"

    def _read(self) -> WorkerReply | None:
        data = os.read(self.fileno(), 65536)
        if not data:
            activity = self._activity()
            self.kill()
            return WorkerReply(False, f"{activity} ended with exit code {self._process.returncode}")
        self._buffer += data
        while b"\n" in self._buffer:
            line, _, self._buffer = self._buffer.partition(b"\n")
            reply = _decode(json.loads(line))
            if reply is not None:
                return reply
            self.ready, self.deadline = True, math.inf
        return None

    def kill(self) -> None:
        """End the process for good, whatever it is doing, and close the pipes."""
        self.alive = False
        self.stop()
        self._to.close()
        self._from.close()

    def stop(self) -> None:
        """End the process; another thread that waits for it sees the end of its replies."""
        self._process.kill()
        self._process.wait()

    def abandon(self) -> None:
        """Close the pipes after a fork: the process is only the parent's child."""
        self.alive = False
        self._process.returncode = 0
        self._to.close()
        self._from.close()


def _decode(line: dict[str, Any]) -> WorkerReply | None:
    """A reply, or None for the line that reports that the worker is ready."""
    if "error" in line:
        return WorkerReply(False, line["error"], exhausted=line.get("exhausted", False))
    if "equal" in line or "parsed" in line:
        return WorkerReply(bool(line.get("equal", line.get("parsed"))))
    return None
