"""Locks by key, held across threads and processes; the kernel frees them if their holder dies."""

from __future__ import annotations

import errno
import os
import struct
import threading
from pathlib import Path

_TAKEN = (errno.EAGAIN, errno.EACCES)


class KeyLocks:
    """Each key is one byte of a file, which is locked and never written.

    If the system lacks such locks, or the file cannot be opened, every lock is granted.

    Args:
        path: of the file, which the first lock creates.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._held: set[str] = set()
        self._lock = threading.Lock()
        self._file: int | None = None

    def acquire(self, key: str) -> bool:
        """Take the lock of a key (hex); False if it is held, by this object or another."""
        with self._lock:
            if key in self._held:
                return False
            if not self._set(key, is_locked=True):
                return False
            self._held.add(key)
            return True

    def release(self, key: str) -> None:
        """Release the lock, if it is held."""
        with self._lock:
            if key in self._held:
                self._held.remove(key)
                self._set(key, is_locked=False)

    def _set(self, key: str, *, is_locked: bool) -> bool:
        try:
            import fcntl

            # these locks belong to an open file, so two objects in one process are two holders
            command = fcntl.F_OFD_SETLK
            if self._file is None:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                self._file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o666)
        except (ImportError, AttributeError, OSError):
            return True
        kind = fcntl.F_WRLCK if is_locked else fcntl.F_UNLCK
        request = struct.pack("hhqqi4x", kind, os.SEEK_SET, int(key[:15], 16), 1, 0)
        try:
            fcntl.fcntl(self._file, command, request)
        except OSError as error:
            return error.errno not in _TAKEN
        return True

    def __del__(self) -> None:
        if self._file is not None:
            os.close(self._file)
