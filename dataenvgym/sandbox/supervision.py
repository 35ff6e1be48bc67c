"""Supervises one run from outside: feeds stdin, caps output, keeps time, enforces limits.

The code in the run cannot influence any of this. `supervise` works on file descriptors, so every
backend whose runs are processes can use it. A backend only adds how to kill a run, and how to
measure its resource usage.

Its observations become the result of the run, for all backends.
"""

from __future__ import annotations

import os
import re
import select
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from dataenvgym.errors import SandboxError
from dataenvgym.sandbox.interface import ExecutionResult, Limits, Status

_FIRST_LOOK = 0.004
_LOOK_EVERY = 0.015
_DRAIN = 0.5  # for output that a process beyond our reach holds open after the end
_DEATH = 10.0  # how long the kernel may take to end killed processes
_CHUNK = 1 << 16


class Streams(NamedTuple):
    """Our ends of a run's pipes, and a descriptor that becomes readable when the run ends."""

    stdin: int
    stdout: int
    stderr: int
    ended: int


class Supervision:
    """Supervises one run.

    Args:
        kill: ends all of the run's processes.
        look: called every few milliseconds; returns the limit that the run exceeds, if any.
        at_end: called when `streams.ended` has become readable; returns another descriptor to wait
            for, or None if no process of the run is left.

    Attributes:
        cause: why it was ended, None if it ended by itself.
    """

    def __init__(
        self,
        streams: Streams,
        *,
        stdin: bytes,
        limits: Limits,
        kill: Callable[[], None],
        look: Callable[[], Status | None],
        at_end: Callable[[], int | None],
    ):
        self._kill, self._look, self._at_end = kill, look, at_end
        self._stdin, self._input = streams.stdin, memoryview(stdin)
        self._ended = streams.ended
        self._output: dict[int, list[bytes]] = {streams.stdout: [], streams.stderr: []}
        self._open = set(self._output)
        self._room = limits.output
        self.cause: Status | None = None
        self._truncated = False
        self._start = self._now = time.monotonic()
        self._deadline = self._start + limits.seconds
        self._next_look = self._start + _FIRST_LOOK
        self._patience: float | None = None  # deadline for events that should come by themselves
        self._over = False
        self._poll = select.poll()
        for fd in (*self._open, self._ended):
            self._poll.register(fd, select.POLLIN)
        if self._input:
            os.set_blocking(self._stdin, False)
            self._poll.register(self._stdin, select.POLLOUT)
        else:
            self._close_stdin()

    def run(self) -> None:
        """Supervise it until it has ended and its output is read; close our ends of its pipes.

        Raises:
            SandboxError: if a killed run does not end.
        """
        try:
            self._until_end()
        finally:
            if self._stdin >= 0:
                self._close_stdin()
            for fd in self._output:
                os.close(fd)

    def result(self, *, wait_status: int, memory: int) -> ExecutionResult:
        """The result of the run, afterwards.

        Args:
            wait_status: of the main process, from `os.wait`.
            memory: the largest number of bytes in use that was seen.
        """
        out, err = (b"".join(chunks) for chunks in self._output.values())
        code = os.waitstatus_to_exitcode(wait_status)
        # Python's message about a refused allocation, as the last line; code that prints it itself
        # only makes its run fail
        refused = _MEMORY_ERROR.match(err.rstrip().rsplit(b"\n", 1)[-1])
        ended: Status = "ok" if code == 0 else "out_of_memory" if refused else "error"
        return ExecutionResult(
            status=self.cause or ended,
            stdout=out,
            stderr=err,
            return_code=code if code >= 0 else None,
            signal=-code if code < 0 else None,
            seconds=self._now - self._start,
            memory=memory,
            truncated=self._truncated,
        )

    def _until_end(self) -> None:
        while self._open or not self._over:
            ready = self._poll.poll(self._pause())
            for fd, _ in ready:
                self._serve(fd)
            self._now = time.monotonic()
            if self._over:
                if self._open and self._has_drained(idle=not ready):
                    return
            elif self.cause is not None:
                if self._patience is not None and self._now > self._patience:
                    raise SandboxError(
                        f"a run that was ended ({self.cause}) still lives after {_DEATH:.0f} s"
                    )
            elif self._now >= self._deadline:
                # A run that keeps the machine so busy that no look came in time is not just slow.
                self._end(self._look() or "timeout")
            elif self._now >= self._next_look:
                self._next_look = self._now + _LOOK_EVERY
                if (cause := self._look()) is not None:
                    self._end(cause)

    def _has_drained(self, *, idle: bool) -> bool:
        """Whether to give up on output whose end has not been seen.

        Available output is read first, because on a busy machine we may come late. A process beyond
        our reach may write forever.
        """
        assert self._patience is not None
        return self._now > self._patience + (0 if idle else _DEATH)

    def _pause(self) -> float:
        """Milliseconds until the next deadline."""
        due = self._patience
        if due is None:
            due = min(self._deadline, self._next_look)
        return max(0.0, due - time.monotonic()) * 1000 + 0.1

    def _serve(self, fd: int) -> None:
        if fd == self._stdin:
            self._feed()
        elif fd == self._ended:
            self._poll.unregister(fd)
            if (another := self._at_end()) is not None:
                self._ended = another
                self._poll.register(another, select.POLLIN)
                return
            self._over = True
            self._patience = time.monotonic() + _DRAIN
        else:
            self._read(fd)

    def _feed(self) -> None:
        try:
            with _no_signal_of_pipes():
                self._input = self._input[os.write(self._stdin, self._input[:_CHUNK]) :]
        except BlockingIOError:
            return
        except BrokenPipeError:  # a program need not read its input
            self._input = self._input[:0]
        if not self._input:
            self._poll.unregister(self._stdin)
            self._close_stdin()

    def _read(self, fd: int) -> None:
        chunk = os.read(fd, _CHUNK)
        if not chunk:
            self._poll.unregister(fd)
            self._open.discard(fd)
            return
        if len(chunk) > self._room:
            chunk, self._truncated = chunk[: self._room], True
            if self.cause is None:
                self._end("output_limit")
        self._room -= len(chunk)
        self._output[fd].append(chunk)

    def _end(self, cause: Status) -> None:
        self.cause = cause
        self._patience = time.monotonic() + _DEATH
        self._kill()

    def _close_stdin(self) -> None:
        os.close(self._stdin)
        self._stdin = -1


@contextmanager
def _no_signal_of_pipes() -> Iterator[None]:
    """Make writing to a pipe without a reader raise, even where SIGPIPE would end this process."""
    if signal.getsignal(signal.SIGPIPE) is not signal.SIG_DFL:
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGPIPE})
    try:
        yield
    finally:
        signal.sigtimedwait({signal.SIGPIPE}, 0)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


_MEMORY_ERROR = re.compile(rb"^(\w+\.)*_?\w*MemoryError(:|$)")
