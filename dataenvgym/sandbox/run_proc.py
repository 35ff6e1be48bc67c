"""Reads the memory and processes of one run from its /proc."""

from __future__ import annotations

import contextlib
import errno
import os
import platform
import stat
from collections.abc import Iterator
from typing import NamedTuple

from dataenvgym.errors import SandboxError
from dataenvgym.sandbox.system_calls import MACHINES

INIT = "1"
"""Process 1 of a run, which is ours."""

_SHORT_OF_FILES = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)
_CLONE_VM, _CLONE_VFORK = 0x100, 0x4000
_CALLS = machine.allowed if (machine := MACHINES.get(platform.machine())) else None


class Stat(NamedTuple):
    """The state of a thread and, of its process, the parent, threads, address space and pages."""

    task: str
    state: str
    parent: str
    threads: int
    size: str
    pages: int

    @property
    def lives(self) -> bool:
        return self.state not in "ZX"


_GONE = Stat("", "X", "", 0, "", 0)


class RunProc:
    """Reads through `processes`, an open descriptor of the run's /proc.

    A process that is gone, or that we may not read, shows nothing.

    Raises:
        SandboxError: from every method, if this process lacks file descriptors.
    """

    def __init__(self, processes: int):
        self._processes = processes

    def pids(self) -> list[str]:
        """The processes of the run except process 1; none once that has ended."""
        try:
            return [n for n in os.listdir(self._processes) if n.isdigit() and n != INIT]
        except OSError as error:
            _unless_short(error)
            return []

    def stat(self, task: str) -> Stat:
        """One process ("PID"), or one of its threads ("PID/task/TID")."""
        fields = self._read(f"{task}/stat").rpartition(b")")[2].split()
        if not fields:
            return _GONE
        state, parent, size = (fields[i].decode() for i in (0, 1, 20))
        return Stat(task, state, parent, int(fields[17]), size, int(fields[21]))

    def tasks(self, pid: str) -> list[str]:
        """The threads of a process."""
        return [f"{pid}/task/{name}" for name in self._names(f"{pid}/task")]

    def proportional(self, task: str) -> int | None:
        """Bytes of a process, counting shared pages by its share, if that can be read."""
        for line in self._read(f"{task}/smaps_rollup").splitlines():
            if line.startswith(b"Pss:"):
                return int(line.split()[1]) * 1024
        return None

    def lends_its_memory(self, task: str) -> bool:
        """Whether a waiting thread waits for a child that uses its memory.

        The system call in which it waits shows this: `vfork`, or `clone` with both flags. The state
        alone does not, because many other waits look the same. True where the kernel shows no calls
        of any process; a process that has made only itself unreadable lends nothing.
        """
        if _CALLS is None:
            return True
        if not os.access(f"{task}/syscall", os.R_OK, dir_fd=self._processes):
            return False
        if not (words := self._read(f"{task}/syscall").split()):
            return True
        if words[0] == b"running":
            return False
        number, flags = int(words[0]), int(words[1], 16) if len(words) > 1 else 0
        both = flags & _CLONE_VM != 0 and flags & _CLONE_VFORK != 0
        return number == _CALLS.get("vfork") or (number == _CALLS["clone"] and both)

    def files(self, task: str) -> int:
        """The number of open files of a thread, if the kernel reports it (since Linux 6.2)."""
        try:
            return os.stat(f"{task}/fd", dir_fd=self._processes).st_size
        except OSError as error:
            _unless_short(error)
            return 0

    def pipes(self, task: str) -> set[tuple[int, int] | str]:
        """The pipes, with or without a name, among the open files of a thread.

        All open files if it hides them.
        """
        try:
            fd = os.open(f"{task}/fd", os.O_RDONLY | os.O_DIRECTORY, dir_fd=self._processes)
        except PermissionError:
            return {f"{task}: {n}" for n in range(self.files(task))}
        except OSError as error:
            _unless_short(error)
            return set()
        found: set[tuple[int, int] | str] = set()
        try:
            for name in os.listdir(fd):
                with contextlib.suppress(OSError):  # it was closed in the meantime
                    status = os.stat(name, dir_fd=fd)
                    if stat.S_ISFIFO(status.st_mode):
                        found.add((status.st_dev, status.st_ino))
        except OSError:
            return set()
        finally:
            os.close(fd)
        return found

    def locks(self, task: str) -> set[bytes]:
        """The locks on parts of files that a thread's process holds: some of them if many."""
        return {
            line.partition(b": ")[2]
            for name in self._names(f"{task}/fdinfo")
            for line in self._read(f"{task}/fdinfo/{name}").splitlines()
            if line.startswith(b"lock:")
        }

    def mappings(self, task: str, most: int) -> int:
        """The number of parts of a process's address space, counted up to `most`."""
        count = 0
        with self._opened(f"{task}/maps") as fd:
            while fd is not None and count <= most and (chunk := os.read(fd, 1 << 16)):
                count += chunk.count(b"\n")
        return count

    def sockets(self) -> int:
        """The number of sockets in its network, including closed ones that still hold data."""
        words = self._read(f"{INIT}/net/sockstat").split(maxsplit=3)
        return int(words[2]) if words[:2] == [b"sockets:", b"used"] else 0

    def _names(self, path: str) -> list[str]:
        names: list[str] = []
        with self._opened(path, os.O_DIRECTORY) as fd:
            names = [] if fd is None else os.listdir(fd)
        return names

    def _read(self, path: str) -> bytes:
        content = b""
        with self._opened(path) as fd:
            content = b"" if fd is None else os.read(fd, 1 << 16)
        return content

    @contextlib.contextmanager
    def _opened(self, path: str, flags: int = 0) -> Iterator[int | None]:
        """A descriptor of an entry, None if there is none; the block ends where it is gone."""
        try:
            fd = os.open(path, os.O_RDONLY | flags, dir_fd=self._processes)
        except OSError as error:
            _unless_short(error)
            yield None
            return
        try:
            with contextlib.suppress(OSError):
                yield fd
        finally:
            os.close(fd)


def _unless_short(error: OSError) -> None:
    """Ignore an entry that is gone or may not be read; raise if we cannot read any."""
    if error.errno in _SHORT_OF_FILES:
        raise SandboxError(
            f"a run could not be watched any more: {error.strerror} in this process; close what "
            "it has open, or raise its limit (ulimit -n)"
        ) from error
