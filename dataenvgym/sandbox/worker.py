"""A worker: one bwrap process with a zygote in it, which prepares one run ahead of its need."""

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

from dataenvgym.errors import SandboxError
from dataenvgym.sandbox.bubblewrap_command import (
    PASSWD,
    Interpreter,
    cannot_start,
    worker_command,
)
from dataenvgym.sandbox.prepared import PATIENCE, Order, Prepared, complaint
from dataenvgym.sandbox.starter import start_program

_DESCRIPTORS = 5
_MOST_ENDING = 4
_LAST_WORDS = 2.0  # seconds that bwrap may take to end by itself


class Worker:
    """One sandbox with a zygote; used by one thread at a time."""

    def __init__(
        self, bwrap: str, interpreter: Interpreter, *, packages: bool, filter_program: bytes
    ):
        """Start it.

        Raises:
            ConfigurationError: if no sandbox can be made here.
        """
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._control.settimeout(PATIENCE)
        self._errors = os.memfd_create("sandbox-errors")
        info, their_info = os.pipe()
        passwd = os.memfd_create("passwd")
        os.write(passwd, PASSWD)
        os.lseek(passwd, 0, os.SEEK_SET)
        command = worker_command(
            bwrap,
            interpreter,
            packages=packages,
            control=theirs.fileno(),
            passwd=passwd,
            info=their_info,
            filter_program=filter_program,
        )
        inherited = (theirs.fileno(), passwd, their_info)
        try:
            self._process = start_program(command, inherited=inherited, errors=self._errors)
        except OSError as error:
            os.close(info)
            os.close(self._errors)
            self._control.close()
            raise cannot_start(f"{bwrap}: {error.strerror}") from None
        finally:
            theirs.close()
            os.close(passwd)
            os.close(their_info)
        self._first = self._first_process(info)
        self._lock = threading.Lock()
        self._asked: Order | None = None
        self._ending: deque[int] = deque()
        self._expect_ready()

    def _first_process(self, info: int) -> int | None:
        """A pidfd of the sandbox's process 1, with which all of it ends; None if it is gone."""
        with os.fdopen(info, "rb") as file:
            told = file.read()
        try:
            return os.pidfd_open(json.loads(told)["child-pid"])
        except (ValueError, OSError):
            return None

    def _expect_ready(self) -> None:
        try:
            ready = self._control.recv(64) == b"ready"
        except OSError:
            ready = False
        if not ready:
            said: list[str] = []
            self.close(said)
            raise cannot_start(said[0])

    def ask(self, order: Order) -> None:
        """Have the next run prepared, if it is not yet; that nobody listens shows at its begin."""
        if self._asked is None:
            with contextlib.suppress(OSError):
                self._control.send(b"+" + json.dumps(order).encode())
            self._asked = order

    def begin(self, order: Order, request: bytes) -> Prepared:
        """Give its request to a run that was prepared with these limits.

        Raises:
            SandboxError: if the worker is not there any more, or could not prepare a run; then
                nothing of the request was run.
        """
        if self._asked not in (None, order):
            self.retire(self._receive())
        self.ask(order)
        prepared = self._receive()
        try:
            prepared.send(request)
        except SandboxError:
            self.retire(prepared)
            raise
        return prepared

    def retire(self, prepared: Prepared) -> None:
        """Be done with a run: its process 1 takes its namespaces down while others go on."""
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
            raise SandboxError(complaint(word) or "a worker of the sandbox has ended")
        return Prepared(fds)

    def end(self) -> None:
        """Kill all of it, while another thread may still be using it."""
        with self._lock:
            if self._first is not None:
                with contextlib.suppress(ProcessLookupError):
                    signal.pidfd_send_signal(self._first, signal.SIGKILL)

    def close(self, said: list[str] | None = None) -> None:
        """End the sandbox with all that is in it, and wait until it is gone.

        `said` takes what bwrap and the zygote have written about their trouble.
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
        try:
            self._process.wait(_LAST_WORDS)  # it ends with what was in it; its status may tell why
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._errors >= 0:
            if said is not None:
                text = os.pread(self._errors, 2000, 0).decode(errors="replace").strip()
                said.append(text or f"it ended with status {self._process.returncode}")
            os.close(self._errors)
            self._errors = -1


def _await_end(pidfd: int) -> None:
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    poll.poll(PATIENCE * 1000)
