"""A process with the code of another project, in the user's clone of its repository.

Our program (a file that imports only what is there) is run in the clone's folder. Each line of its
input is a request, each line of its output the answer, both JSON objects. One process serves all
threads, one request at a time.
"""

from __future__ import annotations

import json
import os
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


class Checkout:
    """A clone, and the process in it, which starts with the first request.

    Args:
        folder: where the program runs.
        program: the module that is run.
        expected: files and folders that are there.
        what: describes the folder in messages.

    Raises:
        ConfigurationError: if one of the expected files is not there.

    Attributes:
        n_ended: how many processes have ended, each with all that it had.
    """

    def __init__(
        self, folder: str | Path, program: ModuleType, expected: tuple[str, ...], what: str
    ) -> None:
        self.folder = Path(folder).expanduser().absolute()
        if lacking := [name for name in expected if not (self.folder / name).exists()]:
            raise ConfigurationError(
                f"checkout is {str(folder)!r}, which has no {', '.join(lacking)}: expected {what}"
            )
        self.n_ended = 0
        self._program = program
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._owner = 0  # the process that started it

    def ask(self, request: Mapping[str, Any], *, since: int | None = None) -> Any:
        """The answer to a request.

        Args:
            since: `n_ended` at an earlier request on which this one depends, if there is one.

        Raises:
            EvaluationError: if the process ends instead, or has ended since then, or if the answer
                has an "error".
        """
        with self._lock:
            if since is not None and since != self.n_ended:
                raise EvaluationError(
                    f"the process in {self.folder} has ended since this conversation began, and "
                    "its objects are lost: try the problem again"
                )
            if self._process is None or self._owner != os.getpid():
                self._process, self._owner = self._start(), os.getpid()
            process = self._process
            assert process.stdin is not None
            assert process.stdout is not None
            try:
                process.stdin.write(json.dumps(request) + "\n")
                process.stdin.flush()
                line = process.stdout.readline()
            except BrokenPipeError:
                line = ""
            if not line:
                self._process = None
                self.n_ended += 1
                raise EvaluationError(
                    f"the process in {self.folder} has ended ({process.wait()}); its own messages "
                    "are above"
                )
        answer = json.loads(line)
        if isinstance(answer, dict) and "error" in answer:
            raise EvaluationError(f"{self.folder}: {answer['error']}")
        return answer

    def _start(self) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, str(self._program.__file__)],
            cwd=self.folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
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
