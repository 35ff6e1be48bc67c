"""A pool of workers: lent to one run at a time, started when needed, replaced when broken."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from dataenvgym.errors import ConfigurationError, SandboxError
from dataenvgym.sandbox.worker import Worker


class Loan:
    """A worker lent to one run."""

    def __init__(self, worker: Worker, start: Callable[[], Worker]):
        self.worker = worker
        self._start = start

    def replace(self) -> Worker:
        """End the worker and replace it with a new one."""
        self.worker.close()
        self.worker = self._start()
        return self.worker


class WorkerPool:
    """At most `size` workers, shared by all threads of the process that made the pool."""

    def __init__(self, start: Callable[[], Worker], *, size: int):
        """Start the first worker; its error is raised to the caller."""
        self._start_worker = start
        self._changed = threading.Condition()
        self._owner = os.getpid()
        self._idle = [start()]
        self._loans: set[Loan] = set()
        self._free = size - 1
        self._closed = False

    @contextmanager
    def lend(self) -> Iterator[Loan]:
        """Lend a free worker, waiting for one if needed; it is discarded if the block raises.

        Raises:
            SandboxError: if the pool is closed, or no worker can be started any more.
        """
        loan = self._take()
        try:
            yield loan
        except BaseException:
            self._put_back(loan, broken=True)
            raise
        self._put_back(loan, broken=False)

    def close(self) -> None:
        """End all workers, also those with a run in progress."""
        if os.getpid() != self._owner:
            return
        with self._changed:
            self._closed = True
            workers, self._idle = self._idle, []
            lent = [loan.worker for loan in self._loans]
            self._changed.notify_all()
        for worker in lent:
            worker.end()
        for worker in workers:
            worker.close()

    def _take(self) -> Loan:
        if os.getpid() != self._owner:
            raise SandboxError("this sandbox belongs to the process that was forked: open another")
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._idle or self._free)
            self._refuse_if_closed()
            worker = self._idle.pop() if self._idle else None
            if worker is None:
                self._free -= 1
            else:
                loan = Loan(worker, self._start)
                self._loans.add(loan)
                return loan
        try:
            worker = self._start()
        except BaseException:
            with self._changed:
                self._free += 1
                self._changed.notify()
            raise
        loan = Loan(worker, self._start)
        with self._changed:
            self._loans.add(loan)
        if self._closed:
            self._put_back(loan, broken=True)
            self._refuse_if_closed()
        return loan

    def _put_back(self, loan: Loan, *, broken: bool) -> None:
        with self._changed:
            self._loans.discard(loan)
            keep = not broken and not self._closed
            if keep:
                self._idle.append(loan.worker)
            else:
                self._free += 1
            self._changed.notify()
        if not keep:
            loan.worker.close()

    def _start(self) -> Worker:
        self._refuse_if_closed()
        try:
            return self._start_worker()
        except ConfigurationError as error:  # the first one could be started
            raise SandboxError(f"a worker of the sandbox could not be replaced: {error}") from error

    def _refuse_if_closed(self) -> None:
        if self._closed:
            raise SandboxError("this sandbox is closed: open another one")
