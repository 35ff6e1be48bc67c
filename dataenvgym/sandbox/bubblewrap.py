"""`bubblewrap`: every run in namespaces of its own, forked from a warm interpreter.

There is a pool of workers, each a bwrap sandbox with a zygote in it (`worker`, `inside`). A run is
given to a process that the worker has prepared, and supervised from here. This side keeps the time,
caps the output, counts processes and memory, and ends the run by ending process 1 of its pid
namespace.

Its workers are a pool: lent to one run at a time, started when needed, replaced when broken.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import struct
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import Empty, LifoQueue

from dataenvgym.errors import ConfigurationError, SandboxError
from dataenvgym.sandbox.accounting import Accounting
from dataenvgym.sandbox.bubblewrap_command import cannot_start, find_bubblewrap, find_interpreter
from dataenvgym.sandbox.inside.places import WORK
from dataenvgym.sandbox.interface import DEFAULT_LIMITS, ExecutionResult, Limits
from dataenvgym.sandbox.program import ProcessSandbox, Program, check_inherited_limits
from dataenvgym.sandbox.seccomp import filter_program
from dataenvgym.sandbox.supervision import Streams, Supervision
from dataenvgym.sandbox.worker import Prepared, RunSetup, Worker


class Loan:
    """A place in the pool, lent to one run, with its worker; None if it is not started yet."""

    def __init__(self, worker: Worker | None):
        self.worker = worker


class WorkerPool:
    """At most `size` workers, shared by all threads of the process that made the pool."""

    def __init__(self, start: Callable[[], Worker], *, size: int):
        """Start the first worker; its error is raised to the caller."""
        self._start_worker = start
        self._owner = os.getpid()
        self._places: LifoQueue[Worker | None] = LifoQueue()
        for worker in (*[None] * (size - 1), start()):
            self._places.put(worker)
        self._lock = threading.Lock()  # of the next two
        self._loans: set[Loan] = set()
        self._closed = False

    @contextmanager
    def lend(self) -> Iterator[Loan]:
        """Lend a free worker, waiting for one if needed; it is discarded if the block raises.

        Raises:
            SandboxError: if the pool is closed, or no worker can be started any more.
        """
        if os.getpid() != self._owner:
            raise SandboxError("this sandbox belongs to the process that was forked: open another")
        loan = Loan(self._places.get())
        with self._lock:
            self._loans.add(loan)
        is_whole = False
        try:
            self._refuse_if_closed()
            yield loan
            is_whole = True
        finally:
            with self._lock:
                self._loans.discard(loan)
                broken = None if is_whole and not self._closed else loan.worker
                self._places.put(None if broken else loan.worker)
            if broken:
                broken.close()

    def renew(self, loan: Loan) -> Worker:
        """End the loan's worker, if it has one, and start a new one."""
        if loan.worker is not None:
            loan.worker.close()
        loan.worker = None
        try:
            loan.worker = self._start_worker()
        except ConfigurationError as error:  # the first one could be started
            raise SandboxError(f"a worker of the sandbox could not be replaced: {error}") from error
        self._refuse_if_closed()
        return loan.worker

    def close(self) -> None:
        """End all workers, also those with a run in progress."""
        if os.getpid() != self._owner:
            return
        with self._lock:
            self._closed = True
            lent = [loan.worker for loan in self._loans]
        for worker in lent:
            if worker is not None:
                worker.end()
        idle = []
        with contextlib.suppress(Empty):
            while True:
                idle.append(self._places.get_nowait())
        for worker in idle:
            self._places.put(None)  # for those who wait
            if worker is not None:
                worker.close()

    def _refuse_if_closed(self) -> None:
        if self._closed:
            raise SandboxError("this sandbox is closed: open another one")


_ALLOWANCE = 32 * 2**20  # memory of an interpreter before it runs anything
_RESERVE = 4 * 2**30  # of address space, which costs nothing until it is used
_DISK_SLACK = 2**20  # for folders
_SIGNALS = 1024  # pending ones and timers, which the kernel counts together for each user
_END = struct.Struct("<iq")


class BubblewrapSandbox(ProcessSandbox):
    """A pool of bwrap sandboxes; several threads can run code at the same time."""

    def __init__(self, *, workers: int = 1, packages: bool = False, python: str | None = None):
        """Start the first worker, so that a machine that cannot start one fails at once.

        Args:
            workers: how many runs may be active at the same time; the others wait.
            packages: whether code may import the packages installed beside the interpreter.
            python: another interpreter for the runs; the default is this process's.

        Raises:
            ConfigurationError: if no sandbox can be made here, or this process's own limits
                (ulimit) are too low; the message lists the remedies.
        """
        check_inherited_limits(self.rlimits(DEFAULT_LIMITS), DEFAULT_LIMITS)
        bwrap, interpreter, rules = find_bubblewrap(), find_interpreter(python), filter_program()

        def start() -> Worker:
            try:
                return Worker(bwrap, interpreter, packages=packages, filter_program=rules)
            except OSError as error:  # e.g. no descriptor is left
                raise SandboxError(f"a worker of the sandbox cannot be started: {error}") from error

        self._pool = WorkerPool(start, size=workers)
        weakref.finalize(self, self._pool.close)
        self._prove()

    def rlimits(self, limits: Limits) -> dict[str, int]:
        """Limits that the kernel enforces for each process; limits of the whole run are supervised.

        `RLIMIT_NPROC` is a second defense; it has no effect if we are root.
        """
        data = limits.memory + _ALLOWANCE
        return {
            "RLIMIT_DATA": data,
            "RLIMIT_AS": data + _RESERVE,
            "RLIMIT_NOFILE": limits.open_files,
            "RLIMIT_NPROC": 2 * limits.processes + 512,
            "RLIMIT_CORE": 1,  # not 0: that would still start a system's crash handler
            "RLIMIT_MEMLOCK": 0,
            "RLIMIT_MSGQUEUE": 0,
            "RLIMIT_SIGPENDING": _SIGNALS,
        }

    def result(self, program: Program) -> ExecutionResult:
        order, request = self._order(program.limits), _request(program)
        with self._pool.lend() as loan:
            worker = loan.worker or self._pool.renew(loan)
            try:
                prepared = worker.begin(order, request)
            except SandboxError:  # nothing of this run had begun
                worker = self._pool.renew(loan)
                prepared = worker.begin(order, request)
            try:
                worker.ask(order)
                return _result(prepared, program)
            finally:
                worker.retire(prepared)

    def _order(self, limits: Limits) -> RunSetup:
        """The settings for preparing a run.

        The bound on pids keeps a fork bomb small until the supervisor sees it. After using all pids
        the kernel starts again at 300, so there must be room above that.
        """
        pids = 300 + 4 * limits.processes + 64
        return {"disk": limits.disk + _DISK_SLACK, "pids": pids, "rlimits": self.rlimits(limits)}

    def _prove(self) -> None:
        try:
            result = self.run("print('there')")
        except SandboxError as error:
            self.close()
            raise cannot_start(str(error)) from None
        if result.text != "there\n":
            self.close()
            raise cannot_start(f"a first run ended as {result!r}")

    def close(self) -> None:
        """End all workers and their runs; a run in progress raises `SandboxError`."""
        self._pool.close()


def _result(prepared: Prepared, program: Program) -> ExecutionResult:
    accounting = Accounting(prepared.processes, program.limits, allowance=_ALLOWANCE)
    report = b""

    def kill() -> None:
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(prepared.init, signal.SIGKILL)

    def at_end() -> int | None:
        nonlocal report
        if report:
            return None
        report = prepared.report() or b"?"
        return None if report.startswith(b"D") else prepared.init

    supervision = Supervision(
        Streams(prepared.stdin, prepared.stdout, prepared.stderr, prepared.fileno()),
        stdin=program.stdin,
        limits=program.limits,
        kill=kill,
        look=accounting.look,
        at_end=at_end,
    )
    supervision.run()
    if report.startswith(b"E"):
        raise SandboxError(f"a run could not begin: {report[1:].decode(errors='replace')}")
    if len(report) != 1 + _END.size:
        if supervision.cause is None:
            raise SandboxError("process 1 of a run was ended from outside")
        return supervision.result(wait_status=signal.SIGKILL, memory=accounting.peak)
    status, resident = _END.unpack(report[1:])
    return supervision.result(wait_status=status, memory=max(accounting.peak, resident))


def _request(program: Program) -> bytes:
    """The request in the form that the zygote's main process reads (see `inside.zygote`)."""
    header = {
        "command": program.command,
        "source": len(program.code),
        "files": [(f"{WORK}/{path}", len(content)) for path, content in program.files],
    }
    encoded = json.dumps(header).encode()
    contents = (content for _, content in program.files)
    return b"".join([struct.pack("<I", len(encoded)), encoded, program.code, *contents])
