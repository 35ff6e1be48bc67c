"""A pool of grading workers that can be killed: one process each, one pair at a time.

There are no threads here: the calling thread borrows workers, sends them requests and waits for the
first reply. Threads that want workers at the same time share them pair by pair, in order of
arrival.

`shared_pool()` starts at first use, ends with the interpreter, and is a new one after a fork.
"""

from __future__ import annotations

import atexit
import math
import os
import threading
import time
from collections import deque
from collections.abc import Sequence
from multiprocessing.connection import wait

from dataenvgym.errors import DataEnvGymError
from dataenvgym.tasks.scoring.process import WorkerProcess, WorkerReply, WorkerRequest

_MAX_WORKERS = 4


class WorkerPool:
    """At most `size` workers, started when needed and shared by all threads."""

    def __init__(self, size: int):
        self._size = size
        self._changed = threading.Condition()
        self._workers: set[WorkerProcess] = set()
        self._idle: list[WorkerProcess] = []
        self._starting = 0
        self._queue: deque[object] = deque()
        self._closed = False

    def run(self, requests: Sequence[WorkerRequest], time_limit: float) -> list[WorkerReply]:
        """One reply per request, in order; each may take `time_limit` seconds by the clock.

        A worker that exceeds the limit or dies is killed and replaced; its request gets an error.
        The start of a worker does not count.
        """
        batch = _Batch(requests, time_limit)
        try:
            while batch.unanswered:
                self._staff(batch)
                for worker in _first_to_stir(batch.workers):
                    batch.collect(worker)
                    self._employ(batch, worker)
        finally:
            for worker, index in batch.workers.items():
                if index is not None:
                    worker.kill()
                self._give_back(worker)
        return batch.replies

    def worker_pids(self) -> list[int]:
        """The process ids of all workers."""
        with self._changed:
            return [worker.pid for worker in self._workers]

    def close(self) -> None:
        """Kill all workers; the pool cannot be used afterwards."""
        with self._changed:
            self._closed = True
            workers = list(self._workers)
            self._changed.notify_all()
        for worker in workers:
            worker.stop()

    def abandon(self) -> None:
        """Close this process's copies of the pipes after a fork; the parent owns the workers."""
        self._closed = True
        for worker in self._workers:
            worker.abandon()

    def _staff(self, batch: _Batch) -> None:
        """Borrow a worker for every request without one, as far as workers are available."""
        while batch.lacks_workers():
            worker = self._borrow(patient=not batch.workers)
            if worker is None:
                break
            batch.workers[worker] = None
            if worker.ready:
                batch.assign(worker)

    def _employ(self, batch: _Batch, worker: WorkerProcess) -> None:
        """Give a free worker the next request, unless another thread waits for one."""
        if batch.workers[worker] is not None:
            return
        if worker.alive and batch.waiting and (not worker.ready or not self._queue):
            if worker.ready:
                batch.assign(worker)
            return
        del batch.workers[worker]
        self._give_back(worker)

    def _borrow(self, *, patient: bool) -> WorkerProcess | None:
        """A free worker, started if needed; None if the caller would have to wait.

        A patient caller waits behind earlier ones.
        """
        with self._changed:
            if not patient and (self._queue or not self._available()):
                return None
            self._wait_in_line()
            if self._closed:
                raise DataEnvGymError("the grading pool is closed: the interpreter is exiting")
            if self._idle:
                return self._idle.pop()
            self._starting += 1
        return self._start()

    def _wait_in_line(self) -> None:
        ticket = object()
        self._queue.append(ticket)
        try:
            self._changed.wait_for(
                lambda: self._closed or (self._queue[0] is ticket and self._available())
            )
        finally:
            self._queue.remove(ticket)
            self._changed.notify_all()

    def _available(self) -> bool:
        """Whether a worker is idle or may be started; dead idle workers are removed."""
        for worker in [worker for worker in self._idle if worker.has_exited()]:
            self._idle.remove(worker)
            self._workers.discard(worker)
            worker.kill()
        return bool(self._idle) or len(self._workers) + self._starting < self._size

    def _start(self) -> WorkerProcess:
        worker = None
        try:
            worker = WorkerProcess()
        finally:
            with self._changed:
                self._starting -= 1
                if worker is not None:
                    self._workers.add(worker)
                self._changed.notify_all()
        return worker

    def _give_back(self, worker: WorkerProcess) -> None:
        with self._changed:
            keep = worker.alive and not self._closed
            if keep:
                self._idle.append(worker)
            else:
                self._workers.discard(worker)
            self._changed.notify_all()
        if not keep:
            worker.kill()


class _Batch:
    """The requests of one call: waiting, at a worker, or answered."""

    def __init__(self, requests: Sequence[WorkerRequest], time_limit: float):
        self.replies = [WorkerReply(False, "not graded")] * len(requests)
        self.unanswered = len(requests)
        self.waiting = deque(enumerate(requests))
        self.workers: dict[WorkerProcess, int | None] = {}
        self._time_limit = time_limit

    def lacks_workers(self) -> bool:
        """Whether more requests wait than workers are free or starting."""
        return list(self.workers.values()).count(None) < len(self.waiting)

    def assign(self, worker: WorkerProcess) -> None:
        self.workers[worker], request = self.waiting.popleft()
        worker.send(request, self._time_limit)

    def collect(self, worker: WorkerProcess) -> None:
        """Take the reply of a worker, if there is one.

        A worker that fails before it is ready fails a request, so that a broken installation leads
        to errors and not to endless restarts.
        """
        reply = worker.receive()
        if reply is None:
            return
        index = self.workers[worker]
        if index is None:
            if not self.waiting:
                return
            index, _ = self.waiting.popleft()
        self.workers[worker] = None
        self.replies[index] = reply
        self.unanswered -= 1


def _first_to_stir(workers: dict[WorkerProcess, int | None]) -> list[WorkerProcess]:
    """Wait for workers that have a reply or have exceeded their time, and return them."""
    timeout = min(worker.deadline for worker in workers) - time.monotonic()
    stirred = wait(
        [worker.fileno() for worker in workers], None if timeout == math.inf else max(0.0, timeout)
    )
    return [worker for worker in workers if worker.fileno() in stirred] or list(workers)


_shared: WorkerPool | None = None
_shared_lock = threading.Lock()


def shared_pool() -> WorkerPool:
    """The pool of this process, with a worker per core (two at least, four at most)."""
    global _shared
    with _shared_lock:
        if _shared is None:
            cores = len(os.sched_getaffinity(0))
            _shared = WorkerPool(min(_MAX_WORKERS, max(2, cores)))
        return _shared


def _close_shared() -> None:
    if _shared is not None:
        _shared.close()


def _after_fork() -> None:
    global _shared, _shared_lock
    _shared_lock = threading.Lock()
    if _shared is not None:
        _shared.abandon()
        _shared = None


atexit.register(_close_shared)
os.register_at_fork(after_in_child=_after_fork)
