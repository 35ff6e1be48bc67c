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
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Self

from dataenvgym.errors import ConfigurationError, SandboxError
from dataenvgym.sandbox.accounting import Accounting
from dataenvgym.sandbox.bubblewrap_command import cannot_start, find_bubblewrap, find_interpreter
from dataenvgym.sandbox.inside.places import WORK
from dataenvgym.sandbox.interface import DEFAULT_LIMITS, ExecutionResult, Limits
from dataenvgym.sandbox.program import Program, check_inherited_limits, checked_program
from dataenvgym.sandbox.seccomp import filter_program
from dataenvgym.sandbox.supervision import Streams, Supervision
from dataenvgym.sandbox.worker import Prepared, RunSetup, Worker


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


_ALLOWANCE = 32 * 2**20  # memory of an interpreter before it runs anything
_RESERVE = 4 * 2**30  # of address space, which costs nothing until it is used
_DISK_SLACK = 2**20  # for folders
_SIGNALS = 1024  # pending ones and timers, which the kernel counts together for each user
_END = struct.Struct("<iq")


class BubblewrapSandbox:
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
        check_inherited_limits(_rlimits(DEFAULT_LIMITS), DEFAULT_LIMITS)
        bwrap, interpreter, rules = find_bubblewrap(), find_interpreter(python), filter_program()

        def start() -> Worker:
            try:
                return Worker(bwrap, interpreter, packages=packages, filter_program=rules)
            except OSError as error:  # e.g. no descriptor is left
                raise SandboxError(f"a worker of the sandbox cannot be started: {error}") from error

        self._pool = WorkerPool(start, size=workers)
        weakref.finalize(self, self._pool.close)
        self._prove()

    def run(
        self,
        code: str | bytes | None = None,
        *,
        command: Sequence[str] | None = None,
        stdin: str | bytes = "",
        files: Mapping[str, str | bytes] = {},
        limits: Limits = DEFAULT_LIMITS,
    ) -> ExecutionResult:
        """Run it; see `Sandbox.run`."""
        program = checked_program(code, command=command, stdin=stdin, files=files, limits=limits)
        check_inherited_limits(_rlimits(limits), limits)
        order, request = _order(limits), _request(program)
        with self._pool.lend() as loan:
            try:
                prepared = loan.worker.begin(order, request)
            except SandboxError:  # nothing of this run had begun
                prepared = loan.replace().begin(order, request)
            try:
                loan.worker.ask(order)
                return _result(prepared, program)
            finally:
                loan.worker.retire(prepared)

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

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


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


def _order(limits: Limits) -> RunSetup:
    """The settings for preparing a run.

    The bound on pids keeps a fork bomb small until the supervisor sees it. After using all pids the
    kernel starts again at 300, so there must be room above that.
    """
    pids = 300 + 4 * limits.processes + 64
    return {"disk": limits.disk + _DISK_SLACK, "pids": pids, "rlimits": _rlimits(limits)}


def _request(program: Program) -> bytes:
    """The request in the form that the zygote's main process reads (see `inside.zygote`)."""
    source = program.code or b""
    header = {
        "command": program.command,
        "source": len(source),
        "files": [(f"{WORK}/{path}", len(content)) for path, content in program.files],
    }
    encoded = json.dumps(header).encode()
    contents = (content for _, content in program.files)
    return b"".join([struct.pack("<I", len(encoded)), encoded, source, *contents])


def _rlimits(limits: Limits) -> dict[str, int]:
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
