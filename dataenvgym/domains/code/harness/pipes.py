"""Messages through file descriptors: four bytes of length, then that many bytes.

Nothing is read ahead: when the process forks, the bytes behind a message are still unread. Where
the other side is gone, or a message is too long, `ClosedError` is raised.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator

_LENGTH = struct.Struct("!I")
MARK = 16
"""Bytes that mark an order and its answer as belonging together."""
LONGEST = 64 * 2**20
"""Largest number of bytes of a message, without its mark."""
_DESCRIPTORS = 4096


class ClosedError(Exception):
    """The other side is gone, or sends data that is not a message."""


def packed(message: bytes) -> bytes:
    """The message as it is sent."""
    return _LENGTH.pack(len(message)) + message


def unpacked(data: bytes) -> Iterator[bytes]:
    """The messages that have arrived whole."""
    at = _LENGTH.size
    while at <= len(data):
        (length,) = _LENGTH.unpack_from(data, at - _LENGTH.size)
        if at + length > len(data):
            return
        yield data[at : at + length]
        at += length + _LENGTH.size


def send(fd: int, message: bytes) -> None:
    """Write a message."""
    left = memoryview(packed(message))
    try:
        while left:
            left = left[os.write(fd, left) :]
    except OSError as error:
        raise ClosedError(str(error)) from None


def receive(fd: int) -> bytes:
    """Read a message."""
    (length,) = _LENGTH.unpack(_exactly(fd, _LENGTH.size))
    if length > LONGEST + MARK:
        raise ClosedError(f"a message of {length} bytes, expected at most {LONGEST}")
    return _exactly(fd, length)


def keep_only(*fds: int) -> None:
    """Close every file descriptor above stderr's except these."""
    last = 2
    for fd in sorted(fds):
        os.closerange(last + 1, fd)
        last = fd
    os.closerange(last + 1, max(last + 1, _DESCRIPTORS))


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
