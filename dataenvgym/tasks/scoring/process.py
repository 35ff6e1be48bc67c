"""A grading worker as its parent sees it: a process, two pipes, and a deadline.

The other end is `dataenvgym.tasks.scoring.worker`. The process is started by `subprocess` and not
by `multiprocessing`. That works in any thread, in daemonic processes and in scripts without a main
guard; and because pipes are not shared, killing one worker does not affect the others.
"""

from __future__ import annotations

import contextlib
import json
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
    """One worker: it starts, processes requests one by one, and is killed at the end.

    Attributes:
        alive: whether it may still be used.
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
        self._ready = False  # it has finished its imports
        self.alive = True

    @property
    def pid(self) -> int:
        return self._process.pid

    def has_exited(self) -> bool:
        return self._process.poll() is not None

    def ask(self, request: WorkerRequest, time_limit: float) -> WorkerReply:
        """The reply to a request; an error if it takes too long or ends, and then it is killed.

        A worker that fails to start fails its request, so that a broken installation leads to
        errors and not to endless restarts.
        """
        if not self._ready:
            found = self._read("the start of the grading worker", STARTUP_LIMIT)
            if "error" in found:
                self.kill()
                return WorkerReply(False, found["error"])
            self._ready = True
        message = {"gold": request.gold, "answer": request.answer, "limit": time_limit}
        with contextlib.suppress(BrokenPipeError):  # reading shows that it is dead
            self._to.write(json.dumps(message).encode() + b"\n")
        found = self._read("the symbolic check", time_limit)
        if "error" in found:
            return WorkerReply(False, found["error"], exhausted=found.get("exhausted", False))
        return WorkerReply(bool(found.get("equal", found.get("parsed"))))

    def _read(self, what: str, limit: float) -> dict[str, Any]:
        """The next line; if none comes, an error, and the worker is killed."""
        deadline = time.monotonic() + limit
        while b"\n" not in self._buffer:
            if not wait([self._from.fileno()], max(0.0, deadline - time.monotonic())):
                self.kill()
                return {"error": f"{what} took more than {limit:g} s", "exhausted": True}
            if not (data := os.read(self._from.fileno(), 65536)):
                self.kill()
                return {"error": f"{what} ended with exit code {self._process.returncode}"}
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        found: dict[str, Any] = json.loads(line)
        return found

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
