"""Two ways to run `llamafactory-cli`: a new process each time, or children of a warm worker.

Both give the same adapter; the worker saves the seconds for importing LLaMA-Factory. A failed
training is explained from its exit code and log.
"""

from __future__ import annotations

import json
import os
import queue
import re
import signal
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from dataenvgym.errors import ConfigurationError, TrainingError, shorten
from dataenvgym.students.external.processes import end_of_log, end_process_tree, guarded, last_lines

POLL_SECONDS = 0.25
"""Seconds between checks of a running training."""


def interpreter(command: Sequence[str]) -> Path:
    """The Python interpreter of the environment of `llamafactory-cli`, given its command.

    Raises:
        ConfigurationError: if it cannot be found.
    """
    python = Path(command[0]).with_name("python")
    if len(command) > 1 or not python.is_file():
        raise ConfigurationError(
            f"there is no Python interpreter beside {' '.join(command)!r}: give `command` as the "
            "path of `llamafactory-cli` in its environment, or set warm=False"
        )
    return python


class CommandLine:
    """A new process for each training.

    Args:
        command: the program and its first arguments.

    Raises:
        ConfigurationError: if the program does not exist.
    """

    def __init__(self, command: Sequence[str]) -> None:
        import sh

        self.command = tuple(command)
        try:
            sh.Command(self.command[0])
        except sh.CommandNotFound:
            raise ConfigurationError(
                f"there is no program {self.command[0]!r}: give the path of `llamafactory-cli`, or "
                "leave it out and run `dataenvgym external install llamafactory`"
            ) from None
        self._running: list[Any] = []

    def run(
        self,
        arguments: Sequence[str],
        *,
        log: Path,
        environment: Mapping[str, str],
        watch: Callable[[], None],
    ) -> int:
        """The exit code (negative: the signal that ended it). Its output is appended to `log`.

        If this is interrupted, the process and all its children are ended first.

        Args:
            arguments: of `llamafactory-cli`; or the path of a script in this folder and its own.
            environment: variables in addition to those of this process.
            watch: called regularly while it runs.
        """
        import sh

        program = [str(interpreter(self.command))] if arguments[0].endswith(".py") else self.command
        command = guarded([*program, *arguments])
        with log.open("ab") as stream:
            running = _started(command, environment, _out=stream, _err_to_out=True)
            self._running.append(running)
            try:
                while running.is_alive():
                    watch()
                    with suppress(sh.TimeoutException, sh.ErrorReturnCode):
                        running.wait(timeout=POLL_SECONDS)
            finally:
                self._running.remove(running)
                if running.is_alive():
                    end_process_tree(running.pid)
            return _exit_code(running)

    def close(self) -> None:
        """End the process that another thread runs."""
        for running in tuple(self._running):
            end_process_tree(running.pid)


class WarmWorker:
    """A process that has imported LLaMA-Factory, and forks a child for each training.

    It starts with the first training, or with `start`. It ends with `close`, with this process, or
    when this object is no longer referenced.

    Args:
        python: the interpreter of LLaMA-Factory's environment.
        environment: variables of the worker in addition to those of this process, including those
            that libraries read while they are imported.
    """

    def __init__(self, python: Path, *, environment: Mapping[str, str] | None = None) -> None:
        self.python = python
        self.environment = dict(environment or {})
        self.ready: dict[str, Any] = {}
        """The worker's message after all imports."""
        self._process: _Process | None = None
        self._lock = threading.Lock()

    @property
    def pid(self) -> int | None:
        """The pid of the worker (of its guard), while there is one."""
        process = self._process
        return process.pid if process is not None and process.is_alive() else None

    def start(self, log: Path) -> None:
        """Begin to import, without waiting for it; its output goes to `log`."""
        if self.pid is None:
            self.close()
            command = guarded([str(self.python), str(Path(__file__).with_name("worker.py"))])
            self._process = _Process(command, self.environment, log)
            weakref.finalize(self, self._process.end)

    def run(
        self,
        arguments: Sequence[str],
        *,
        log: Path,
        environment: Mapping[str, str],
        watch: Callable[[], None],
    ) -> int:
        """See `CommandLine.run`."""
        with self._lock:
            self.start(log.with_name("worker.log"))
            process = self._process
            assert process is not None
            try:
                if not self.ready:
                    self.ready = process.receive(watch)["ready"]
                process.send(
                    {
                        "arguments": list(arguments),
                        "log": str(log.absolute()),
                        "environment": dict(environment),
                    }
                )
                return int(process.receive(watch)["code"])
            except BaseException:
                self.close()
                raise

    def close(self) -> None:
        """End the worker, and the training that it runs."""
        process, self._process, self.ready = self._process, None, {}
        if process is not None:
            process.end()


class _Process:
    """A process that reads and writes JSON, one line per message."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], log: Path) -> None:
        self._log = log
        self._requests: queue.Queue[str | None] = queue.Queue()
        messages: queue.Queue[str | None] = queue.Queue()
        self._messages = messages
        with log.open("ab") as stream:
            self._running = _started(
                command,
                environment,
                _in=self._requests,
                _out=messages.put,
                _err=stream,
                _done=lambda *_: messages.put(None),
            )
        self.pid = int(self._running.pid)

    def is_alive(self) -> bool:
        return bool(self._running.is_alive())

    def send(self, request: Mapping[str, Any]) -> None:
        self._requests.put(json.dumps(request) + "\n")

    def receive(self, watch: Callable[[], None]) -> dict[str, Any]:
        while True:
            try:
                line = self._messages.get(timeout=POLL_SECONDS)
            except queue.Empty:
                watch()
                continue
            if line is None:
                how = _how(_exit_code(self._running))
                raise TrainingError(
                    f"the warm worker of LLaMA-Factory ended {how}: run the same command again to "
                    f"continue. {end_of_log(self._log)}"
                )
            watch()
            message: dict[str, Any] = json.loads(line)
            return message

    def end(self) -> None:
        if self.is_alive():
            end_process_tree(self.pid)


def _started(command: Sequence[str], environment: Mapping[str, str], **streams: Any) -> Any:
    """Start a program with `sh`, with variables in addition to those of this process."""
    import sh

    return sh.Command(command[0])(
        *command[1:],
        **streams,
        _tty_out=False,
        _env={**os.environ, **environment},
        _new_session=True,  # we pass on Ctrl-C ourselves
        _bg=True,
        _bg_exc=False,
    )


def _exit_code(running: Any) -> int:
    """The exit code of a program of `sh` that has ended."""
    import sh

    with suppress(sh.ErrorReturnCode):
        running.wait()
    return int(running.exit_code)


def _how(code: int) -> str:
    return f"by {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"


def explain_failure(code: int, log: Path) -> str:
    """One message: how it ended, the last error in the log, what to do, and the log's last lines.

    Args:
        code: the exit code; negative for the signal that ended the process.
    """
    words = last_lines(log, 200, at_most=40_000)
    errors = re.findall(r"^(?:\w+\.)*\w*(?:Error|Exception)\b.*$", words, re.MULTILINE)
    what = _how(code) + (f" ({shorten(errors[-1], 300)})" if errors else "")
    return (
        f"LLaMA-Factory's training ended {what}. Mend what the log says (for too little memory, "
        "which most often is behind a SIGKILL, too: lower per_device_train_batch_size or "
        "cutoff_len, or set quantization_bit=4), then start the same command again. "
        f"{end_of_log(log)}"
    )
