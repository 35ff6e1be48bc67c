"""A pool of grading workers that can be killed: one process each, one pair at a time.

Threads take the pairs in order of arrival, and each asks a worker that is free, or starts one. A
call never has more pairs in line than there are workers, so calls at the same time share them.

`shared_pool()` starts at first use, ends with the interpreter, and is a new one after a fork.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from queue import LifoQueue, SimpleQueue

from dataenvgym.errors import DataEnvGymError
from dataenvgym.tasks.scoring.process import WorkerProcess, WorkerReply, WorkerRequest

_MAX_WORKERS = 4
_Job = tuple[WorkerRequest, float, "Future[WorkerReply]"]


class WorkerPool:
    """At most `size` workers, started when needed and shared by all threads."""

    def __init__(self, size: int):
        self._size = size
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()  # None: it is closed
        self._free: LifoQueue[WorkerProcess | None] = LifoQueue()  # None: not started
        self._workers: set[WorkerProcess] = set()
        self._closed = False
        for number in range(size):
            self._free.put(None)
            threading.Thread(target=self._serve, name=f"grading-{number}", daemon=True).start()

    def run(self, requests: Sequence[WorkerRequest], time_limit: float) -> list[WorkerReply]:
        """One reply per request, in order; each may take `time_limit` seconds by the clock.

        A worker that exceeds the limit or dies is killed and replaced; its request gets an error.
        The start of a worker does not count.
        """
        replies: list[WorkerReply] = []
        awaited: deque[Future[WorkerReply]] = deque()
        for request in requests:
            if len(awaited) == self._size:
                replies.append(awaited.popleft().result())
            if self._closed:
                raise DataEnvGymError("the grading pool is closed: the interpreter is exiting")
            awaited.append(Future())
            self._jobs.put((request, time_limit, awaited[-1]))
        return [*replies, *(future.result() for future in awaited)]

    def worker_pids(self) -> list[int]:
        """The process ids of all workers."""
        return [worker.pid for worker in self._workers.copy()]

    def close(self) -> None:
        """Kill all workers; the pool cannot be used afterwards."""
        self._closed = True
        for _ in range(self._size):
            self._jobs.put(None)
        for worker in self._workers.copy():
            worker.stop()

    def abandon(self) -> None:
        """Close this process's copies of the pipes after a fork; the parent owns the workers."""
        for worker in self._workers:
            worker.abandon()

    def _serve(self) -> None:
        while (job := self._jobs.get()) is not None:
            request, time_limit, future = job
            try:
                future.set_result(self._ask(request, time_limit))
            except Exception as error:  # noqa: BLE001  raised again in the thread that waits
                future.set_exception(error)

    def _ask(self, request: WorkerRequest, time_limit: float) -> WorkerReply:
        worker = self._free.get()
        try:
            if worker is None or worker.has_exited():
                self._drop(worker)
                worker = WorkerProcess()
                self._workers.add(worker)
            return worker.ask(request, time_limit)
        except Exception:
            if worker is not None:
                worker.kill()  # what it still writes would be taken for the next reply
            raise
        finally:
            if worker is not None and not worker.alive:
                self._drop(worker)
                worker = None
            self._free.put(worker)

    def _drop(self, worker: WorkerProcess | None) -> None:
        if worker is not None:
            self._workers.discard(worker)
            worker.kill()


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
