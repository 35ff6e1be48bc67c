"""A worker: one bwrap process with a zygote in it, which prepares one run ahead of its need.

The kernel should end bwrap together with this process. bwrap asks for that (--die-with-parent), but
the kernel watches the *thread* that started it. So one thread, which ends only with the process,
starts all of them.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, wait
from queue import SimpleQueue
from typing import Any

from dataenvgym.errors import SandboxError
from dataenvgym.sandbox.bubblewrap_command import (
    HOSTS,
    PASSWD,
    Interpreter,
    cannot_start,
    worker_command,
)

PATIENCE = 20.0
"""Seconds without a message after which a zygote or a prepared run counts as broken."""

RunSetup = dict[str, Any]
"""The settings of a run: bytes of `disk`, the largest of `pids`, and `rlimits` by name."""


class Prepared:
    """A run that waits for its request, as descriptors of ours.

    Attributes:
        init: process 1 of its pid namespace, as a pidfd.
        stdin, stdout, stderr: our ends of its pipes, which belong to their reader.
        processes: its /proc.
    """

    def __init__(self, descriptors: Sequence[int]):
        """Take over the descriptors that the zygote sent, and wait until the run is ready.

        Raises:
            SandboxError: if it does not become ready.
        """
        self.init, channel, self.stdin, self.stdout, self.stderr = descriptors
        self._channel = socket.socket(fileno=channel)
        self._channel.settimeout(PATIENCE)
        self.processes = -1
        self._handed_on = False
        try:
            word, fds, _, _ = socket.recv_fds(self._channel, 4096, 1, socket.MSG_CMSG_CLOEXEC)
        except OSError as error:
            word, fds = f"E{error}".encode(), []
        except BaseException:
            self._give_up()
            raise
        if len(fds) != 1:
            self._give_up()
            raise SandboxError(startup_error(word) or "a run ended before it began")
        self.processes = fds[0]

    def send(self, request: bytes) -> None:
        """Start it; from now on the caller must close its pipes.

        Raises:
            SandboxError: if it cannot take the request.
        """
        try:
            self._channel.sendall(request)
        except OSError as error:
            raise SandboxError(f"a run could not be given its request: {error}") from None
        self._handed_on = True

    def report(self) -> bytes:
        """Its last message; empty if it was killed before."""
        try:
            return self._channel.recv(4096)
        except OSError:
            return b""

    def fileno(self) -> int:
        """The descriptor that becomes readable when there is a report, or when none will come."""
        return self._channel.fileno()

    def _give_up(self) -> None:
        self.close()
        os.close(self.init)

    def close(self) -> None:
        """Close all but `init`, for which its worker waits; without a request, nothing is run."""
        self._channel.close()
        fds = [self.processes]
        if not self._handed_on:
            fds += [self.stdin, self.stdout, self.stderr]
        for fd in fds:
            if fd >= 0:
                os.close(fd)


def startup_error(word: bytes) -> str:
    """The error message of a zygote or a run, if there is one."""
    if not word.startswith(b"E"):
        return ""
    return f"the sandbox could not prepare a run: {word[1:].decode(errors='replace')}"


_Job = tuple[Callable[[], "subprocess.Popen[bytes]"], "Future[subprocess.Popen[bytes]]"]
_jobs: SimpleQueue[_Job] = SimpleQueue()
_starter: threading.Thread | None = None
_starter_lock = threading.Lock()


def start_program(
    command: list[str], *, inherited: tuple[int, ...], errors: int
) -> Future[subprocess.Popen[bytes]]:
    """Start a program with these descriptors; its error output goes to the file `errors`.

    The descriptors must stay open until it has started.
    """
    global _starter
    with _starter_lock:
        if _starter is None or not _starter.is_alive():
            _starter = threading.Thread(target=_start_all, name="sandbox-starter", daemon=True)
            _starter.start()
    future: Future[subprocess.Popen[bytes]] = Future()

    def start() -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=errors,
            stderr=errors,
            pass_fds=inherited,
            cwd="/",
            start_new_session=True,  # an interrupt from the terminal is for us alone
        )

    _jobs.put((start, future))
    return future


def _start_all() -> None:
    while True:
        start, future = _jobs.get()
        try:
            future.set_result(start())
        except Exception as error:  # noqa: BLE001  raised again in the thread that asked
            future.set_exception(error)


def _after_fork() -> None:
    global _starter, _starter_lock, _jobs
    _starter, _starter_lock, _jobs = None, threading.Lock(), SimpleQueue()


os.register_at_fork(after_in_child=_after_fork)


_DESCRIPTORS = 5
_MOST_ENDING = 4
_LAST_WORDS = 2.0  # seconds that bwrap may take to end by itself


class Worker:
    """One sandbox with a zygote; used by one thread at a time."""

    def __init__(
        self, bwrap: str, interpreter: Interpreter, *, packages: bool, filter_program: bytes
    ):
        """Start it; ConfigurationError if no sandbox can be made here."""
        self._lock = threading.Lock()
        self._first: int | None = None
        self._asked: RunSetup | None = None
        self._ending: deque[int] = deque()
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._control.settimeout(PATIENCE)
        self._errors = os.memfd_create("sandbox-errors")
        self._starting: Future[subprocess.Popen[bytes]] | None = None
        try:
            with theirs, _read_only(PASSWD) as passwd, _read_only(HOSTS) as hosts:
                command = worker_command(
                    bwrap,
                    interpreter,
                    packages=packages,
                    control=theirs.fileno(),
                    passwd=passwd,
                    hosts=hosts,
                    filter_program=filter_program,
                )
                inherited = (theirs.fileno(), passwd, hosts)
                self._starting = start_program(command, inherited=inherited, errors=self._errors)
                try:
                    self._starting.result()
                except BaseException:
                    wait([self._starting])  # it uses our descriptors
                    raise
            self._expect_ready()
        except OSError as error:
            self.close()
            raise cannot_start(f"{bwrap}: {error.strerror}") from None
        except BaseException:
            self.close()
            raise

    def _expect_ready(self) -> None:
        word, fds = b"", list[int]()
        with contextlib.suppress(OSError):
            word, fds, _, _ = socket.recv_fds(self._control, 64, 1, socket.MSG_CMSG_CLOEXEC)
        self._first = fds[0] if fds else None
        if word != b"ready" or self._first is None:
            said: list[str] = []
            self.close(said)
            raise cannot_start(said[0])

    def ask(self, order: RunSetup) -> None:
        """Let the next run be prepared, if it is not yet; a dead worker is noticed by the run."""
        if self._asked is None:
            with contextlib.suppress(OSError):
                self._control.send(b"+" + json.dumps(order).encode())
            self._asked = order

    def begin(self, order: RunSetup, request: bytes) -> Prepared:
        """Give the request to a run that was prepared with these limits.

        Raises:
            SandboxError: if the worker has ended, or could not prepare a run; then nothing of the
                request was run.
        """
        if self._asked not in (None, order):
            self.retire(self._receive())
        self.ask(order)
        prepared = self._receive()
        try:
            prepared.send(request)
        except BaseException:
            self.retire(prepared)
            raise
        return prepared

    def retire(self, prepared: Prepared) -> None:
        """Finish a run: its process 1 removes its namespaces while other runs continue."""
        prepared.close()
        self._ending.append(prepared.init)
        while len(self._ending) > _MOST_ENDING:
            _await_end(first := self._ending.popleft())
            os.close(first)

    def _receive(self) -> Prepared:
        self._asked = None
        try:
            word, fds, _, _ = socket.recv_fds(
                self._control, 4096, _DESCRIPTORS, socket.MSG_CMSG_CLOEXEC
            )
        except OSError as error:
            raise SandboxError(f"a worker of the sandbox does not answer: {error}") from None
        if len(fds) != _DESCRIPTORS:
            for fd in fds:  # this process may have no room for all of them
                os.close(fd)
            raise SandboxError(startup_error(word) or "a worker of the sandbox has ended")
        return Prepared(fds)

    def end(self) -> None:
        """Kill all of it, while another thread may still be using it."""
        with self._lock:
            if self._first is not None:
                with contextlib.suppress(ProcessLookupError):
                    signal.pidfd_send_signal(self._first, signal.SIGKILL)

    def close(self, said: list[str] | None = None) -> None:
        """End the sandbox and all processes in it, and wait until it is gone.

        The error messages of bwrap and the zygote are appended to `said`.
        """
        self._control.close()
        if self._first is not None:
            self.end()
            _await_end(self._first)
            with self._lock:
                os.close(self._first)
                self._first = None
        while self._ending:
            os.close(self._ending.popleft())
        status = self._end_process()
        if self._errors >= 0:
            if said is not None:
                text = os.pread(self._errors, 2000, 0).decode(errors="replace").strip()
                said.append(text or f"it ended with status {status}")
            os.close(self._errors)
            self._errors = -1

    def _end_process(self) -> int | None:
        """Let bwrap end by itself, because its status may give the reason; otherwise end it.

        Not at once: if bwrap is killed while it makes its sandbox, half of that is left behind.
        """
        if self._starting is None or self._starting.exception() is not None:
            return None
        process = self._starting.result()
        try:
            return process.wait(_LAST_WORDS)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()


@contextlib.contextmanager
def _read_only(content: bytes) -> Iterator[int]:
    """A descriptor from which the content can be read."""
    fd = os.memfd_create("sandbox-file")
    try:
        os.write(fd, content)
        os.lseek(fd, 0, os.SEEK_SET)
        yield fd
    finally:
        os.close(fd)


def _await_end(pidfd: int) -> None:
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    poll.poll(PATIENCE * 1000)
