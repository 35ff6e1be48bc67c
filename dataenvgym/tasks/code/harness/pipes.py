"""Messages through file descriptors: four bytes of length, then JSON.

Nothing is read ahead, so that what follows a message is still unread when the process forks.
"""

from __future__ import annotations

import os
import struct

_LENGTH = struct.Struct("!I")
LONGEST = 64 * 2**20
"""Bytes of a message, at most."""


class ClosedError(Exception):
    """The other side is gone, or sends what is no message."""


def packed(message: bytes) -> bytes:
    """The message as it travels."""
    return _LENGTH.pack(len(message)) + message


def send(fd: int, message: bytes) -> None:
    """Write a message.

    Raises:
        ClosedError: if nobody reads any more.
    """
    left = memoryview(packed(message))
    try:
        while left:
            left = left[os.write(fd, left) :]
    except OSError as error:
        raise ClosedError(str(error)) from None


def receive(fd: int) -> bytes:
    """Read a message.

    Raises:
        ClosedError: if there is none, or one that is longer than `LONGEST`.
    """
    (length,) = _LENGTH.unpack(_exactly(fd, _LENGTH.size))
    if length > LONGEST:
        raise ClosedError(f"a message of {length} bytes, expected at most {LONGEST}")
    return _exactly(fd, length)


def _exactly(fd: int, count: int) -> bytes:
    parts = []
    while count:
        try:
            part = os.read(fd, min(count, 2**20))
        except OSError as error:
            raise ClosedError(str(error)) from None
        if not part:
            raise ClosedError("the other side is closed")
        parts.append(part)
        count -= len(part)
    return b"".join(parts)
