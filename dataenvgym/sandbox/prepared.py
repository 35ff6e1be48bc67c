"""A run that a zygote has prepared, from the owner's side: it waits for its request."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from typing import Any

from dataenvgym.errors import SandboxError

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
