"""Measures the resource usage of a run from outside: its processes, threads, memory and sockets.

It reads the run's own /proc, which lists all processes of its pid namespace and no others. So
processes cannot hide, nothing needs to be searched, and nothing inside has to cooperate.
"""

from __future__ import annotations

import os
import time

from dataenvgym.sandbox.interface import Limits, Status
from dataenvgym.sandbox.run_proc import RunProc, Stat

_PAGE = os.sysconf("SC_PAGE_SIZE")
_AGAIN = 0.002  # seconds before too much memory is measured again
_COUNT_EVERY = 0.1  # seconds between two counts of what takes longer to count
_TRIES = 16  # to find a live thread where the first one has ended
_NEWCOMERS = 16  # processes that may end and begin while they are listed
_MOST_PIPES = 256  # a quarter of a user's pipes before the kernel makes new ones smaller
_MOST_LOCKS = 512  # on parts of files, each some 200 bytes of the kernel's
_MOST_MAPPINGS = 2**15  # of which each costs the kernel memory, and every look its time
_FREE_SOCKETS = 16
_SOCKET = 2**18  # largest number of bytes in a socket's buffers (see `inside.networks`, `seccomp`)


class Accounting:
    """Measures through `processes`, an open descriptor of the run's /proc."""

    def __init__(self, processes: int, limits: Limits, *, allowance: int):
        """`allowance` is the memory of an interpreter before it runs anything."""
        self._proc = RunProc(processes)
        self._limits = limits
        self._memory = limits.memory + allowance
        self._pages: dict[str, int] = {}  # of processes whose first thread has ended
        self._used = self.peak = 0
        self._next_pipes, self._next_count = 0.0, time.monotonic() + _COUNT_EVERY

    def look(self) -> Status | None:
        """The limit that the run exceeds now, if any.

        Raises:
            SandboxError: if this process lacks the file descriptors to look.
        """
        cause = self._look()
        if cause == "out_of_memory":  # a change between two readings may have counted twice
            time.sleep(_AGAIN)
            cause = self._look()
        if cause == "out_of_memory":
            self.peak = max(self.peak, self._used)
        return cause

    def _look(self) -> Status | None:
        pids = self._proc.pids()
        if len(pids) > 2 * self._limits.processes + _NEWCOMERS:
            return "killed"  # reading each takes long, and in the meantime more are made
        found = [self._living(pid) for pid in pids]
        if sum(stat.threads for stat in found) > self._limits.processes:
            return "killed"
        if self._has_too_many_pieces(found):
            return "killed"
        found = self._without_borrowers(found)
        in_sockets = _SOCKET * max(0, self._proc.sockets() - _FREE_SOCKETS)
        self._used = in_sockets + sum(stat.pages for stat in found) * _PAGE
        if self._used > self._memory:  # shared pages were counted for each process
            self._used = in_sockets + sum(map(self._proportional, found))
        if self._used > self._memory:
            return "out_of_memory"
        self.peak = max(self.peak, self._used)
        return None

    def _has_too_many_pieces(self, found: list[Stat]) -> bool:
        """Whether there are too many pipes, locks or mappings, which are memory of the kernel.

        With too many pipes other runs would get small ones, because the kernel counts all pipes of
        a user. Open files are listed only if there are many; locks and mappings, which take time
        to make, are counted less often. No count takes more than a quarter of our time.
        """
        # All threads of a process have the same files; an ended one shows none.
        tasks = [t for s in found for t in ([s.task] if s.lives else self._proc.tasks(s.task))]
        start = time.monotonic()
        if start >= self._next_pipes and sum(map(self._proc.files, tasks)) > _MOST_PIPES:
            if len(set().union(*map(self._proc.pipes, tasks))) > _MOST_PIPES:
                return True
            self._next_pipes = _after(start)
        start = time.monotonic()
        if start >= self._next_count:
            mappings, locks = 0, set[bytes]()
            for task in tasks:
                mappings += self._proc.mappings(task, _MOST_MAPPINGS - mappings)
                locks |= self._proc.locks(task)
                if mappings > _MOST_MAPPINGS or len(locks) > _MOST_LOCKS:
                    return True
            self._next_count = max(start + _COUNT_EVERY, _after(start))
        return False

    def _living(self, pid: str) -> Stat:
        """Resource usage of a process, read from a live thread: an ended one shows nothing.

        If the threads are too short-lived to be read, it is the largest value seen so far.
        """
        first = self._proc.stat(pid)
        if first.lives or first.threads < 2:
            return first
        most = self._pages.get(pid, 0)
        for _ in range(_TRIES):
            others = [self._proc.stat(task) for task in self._proc.tasks(pid)]
            if seen := max((stat.pages for stat in others), default=0):
                most = self._pages[pid] = max(seen, most)
                break
        return first._replace(pages=most)

    def _proportional(self, stat: Stat) -> int:
        """Bytes of a process, counting shared pages by its share, if that can be read."""
        if (share := self._proc.proportional(stat.task)) is not None:
            return share
        return stat.pages * _PAGE if self._proc.stat(stat.task).threads else 0

    def _without_borrowers(self, found: list[Stat]) -> list[Stat]:
        """All but the children that still use their parent's memory, between vfork and exec.

        Such a child has its parent's size, and a thread of its parent waits for it alone. So a
        parent has at most as many such children as it has threads that wait like this.
        """
        by_pid = {stat.task: stat for stat in found}
        lent: dict[str, int] = {}
        kept = []
        for stat in found:
            parent = by_pid.get(stat.parent)
            if parent and (parent.size, parent.pages) == (stat.size, stat.pages):
                if parent.task not in lent:
                    lent[parent.task] = self._lenders(parent)
                lent[parent.task] -= 1
                if lent[parent.task] >= 0:
                    continue
            kept.append(stat)
        return kept

    def _lenders(self, process: Stat) -> int:
        """The number of threads of a process that wait for a child that uses their memory."""
        several = process.threads > 1
        threads = map(self._proc.stat, self._proc.tasks(process.task)) if several else [process]
        waiting = [stat.task for stat in threads if stat.state == "D"]
        return sum(map(self._proc.lends_its_memory, waiting))


def _after(start: float) -> float:
    """When to repeat what began at `start` and ends now, to spend a quarter of the time on it."""
    now = time.monotonic()
    return now + 3 * (now - start)
