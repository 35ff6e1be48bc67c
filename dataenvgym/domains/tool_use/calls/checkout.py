"""A process with the code of another project, in the user's clone of its repository.

Our program (a file that imports only what is there) is run in the clone's folder. Each line of its
input is a request, each line of its output the answer, both JSON objects. One process serves all
threads, one request at a time.

A student's call may need any time and memory, also within one call of C code. So the program sets
an alarm without a handler, which ends the process, and its memory is limited here. The next request
starts another process; requests therefore do not depend on earlier ones.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import threading
import weakref
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

from dataenvgym.errors import ConfigurationError, EvaluationError

_MEMORY = 4 * 2**30
"""Bytes of data of the process; importing torch takes 0.25 GB of them."""
_LONGEST = 2**26
"""Characters of an answer."""


class Checkout:
    """A clone, and the process in it, which starts with the first request.

    Args:
        folder: where the program runs.
        program: the module that is run.
        expected: files and folders that are there.
        what: describes the folder in messages.

    Raises:
        ConfigurationError: if one of the expected files is not there.
    """

    def __init__(
        self, folder: str | Path, program: ModuleType, expected: tuple[str, ...], what: str
    ) -> None:
        self.folder = Path(folder).expanduser().absolute()
        if lacking := [name for name in expected if not (self.folder / name).exists()]:
            raise ConfigurationError(
                f"checkout is {str(folder)!r}, which has no {', '.join(lacking)}: expected {what}"
            )
        self._program = program
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._owner = 0  # the process that started it

    def ask(self, request: Mapping[str, Any]) -> Any:
        """The answer to a request.

        Raises:
            EvaluationError: if the process ends instead (it is tried twice, unless it took too
                long), or if the answer has an "error".
        """
        line = json.dumps(request) + "\n"
        with self._lock:
            code, found = 0, ""
            for _ in range(2):
                code, found = self._answered(line)
                if found or code == -signal.SIGALRM:
                    break
        if not found:
            why = "in time" if code == -signal.SIGALRM else f"(it ended with {code})"
            raise EvaluationError(f"the process in {self.folder} did not answer {why}")
        answer = json.loads(found)
        if isinstance(answer, dict) and "error" in answer:
            raise EvaluationError(f"{self.folder}: {answer['error']}")
        return answer

    def _answered(self, line: str) -> tuple[int, str]:
        """The line of the answer; "" if the process has ended, with its exit status."""
        if self._process is None or self._owner != os.getpid():
            self._process, self._owner = self._start(), os.getpid()
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        found = ""
        with suppress(BrokenPipeError):
            process.stdin.write(line)
            process.stdin.flush()
            found = process.stdout.readline(_LONGEST)
        if found.endswith("\n"):
            return 0, found
        self._process = None
        process.kill()  # if its answer is too long
        return process.wait(), ""

    def _start(self) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, str(self._program.__file__)],
            cwd=self.folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        with suppress(OSError, ValueError):  # it has ended, or has a lower limit already
            resource.prlimit(process.pid, resource.RLIMIT_DATA, (_MEMORY, _MEMORY))
        weakref.finalize(self, _stop, process)
        return process


def _stop(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    with suppress(BrokenPipeError):  # it has died before
        process.stdin.close()
    process.stdout.close()
    process.kill()
    process.wait()
