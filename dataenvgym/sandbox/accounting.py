"""What a run uses, read from outside: its processes, their threads and their memory.

It is read through the run's own /proc, which lists the processes of its pid namespace and no
others, wherever they have hidden in it; so nothing needs to be searched, and nothing inside has
to take part.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from dataenvgym.sandbox.interface import Limits, Status

_PAGE = os.sysconf("SC_PAGE_SIZE")
_INIT = "1"


class _Stat(NamedTuple):
    """A thread, whether it lives, and of its process: the threads and resident pages."""

    task: str
    lives: bool
    threads: int
    pages: int


class Accounting:
    """Counts by `processes`, an open descriptor of the run's /proc."""

    def __init__(self, processes: int, limits: Limits, *, allowance: int):
        """`allowance` is the memory that an interpreter has before it runs anything."""
        self._processes = processes
        self._limits = limits
        self._memory = limits.memory + allowance
        self.peak = 0

    def look(self) -> Status | None:
        """The limit that the run exceeds by now, if any."""
        threads = resident = 0
        try:
            names = os.listdir(self._processes)
        except OSError:  # process 1 is gone, and with it its /proc
            return None
        found = [self._living(name) for name in names if name.isdigit() and name != _INIT]
        for stat in found:
            threads += stat.threads
            resident += stat.pages * _PAGE
        if threads > self._limits.processes:
            return "killed"
        if resident > self._memory:  # pages that processes share were counted for each of them
            resident = sum(self._proportional(stat.task) for stat in found)
        self.peak = max(self.peak, resident)
        return "out_of_memory" if resident > self._memory else None

    def _living(self, pid: str) -> _Stat:
        """What a process uses, by a thread that lives: its first one, once ended, shows nothing."""
        first = self._stat(pid)
        if first.lives or first.threads < 2:
            return first
        others = (self._stat(task) for task in self._tasks(pid))
        return next((stat for stat in others if stat.lives), first)

    def _stat(self, task: str) -> _Stat:
        """Of one that is gone: nothing."""
        fields = self._read(f"{task}/stat").rpartition(b")")[2].split()
        if not fields:
            return _Stat(task, lives=False, threads=0, pages=0)
        lives = fields[0] not in (b"Z", b"X")
        return _Stat(task, lives=lives, threads=int(fields[17]), pages=int(fields[21]))

    def _tasks(self, pid: str) -> list[str]:
        try:
            fd = os.open(f"{pid}/task", os.O_RDONLY | os.O_DIRECTORY, dir_fd=self._processes)
        except OSError:
            return []
        try:
            return os.listdir(fd)
        except OSError:
            return []
        finally:
            os.close(fd)

    def _proportional(self, task: str) -> int:
        """Bytes of a process, with its share only of what it shares."""
        for line in self._read(f"{task}/smaps_rollup").splitlines():
            if line.startswith(b"Pss:"):
                return int(line.split()[1]) * 1024
        return 0

    def _read(self, path: str) -> bytes:
        try:
            fd = os.open(path, os.O_RDONLY, dir_fd=self._processes)
        except OSError:
            return b""
        try:
            return os.read(fd, 1 << 16)
        except OSError:
            return b""
        finally:
            os.close(fd)
