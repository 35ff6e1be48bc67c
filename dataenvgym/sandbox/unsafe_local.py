"""`unsafe_local`: no protection at all, for code that you would run by hand.

A run is a process of this user in a temporary folder. It can read and write the user's files, use
the network, and deliberately leave processes behind. The limits only help against accidents. Time
and output are supervised as in other backends. Memory is limited for each process and supervised
for all of them. Files are limited one by one (`Limits.disk` is not a sum here). This backend exists
for systems that have no sandbox, and is never chosen silently.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path

import psutil

from dataenvgym.errors import SandboxError
from dataenvgym.sandbox.interface import ExecutionResult, Limits, Status
from dataenvgym.sandbox.program import ProcessSandbox, Program
from dataenvgym.sandbox.supervision import Streams, Supervision

# A program of its own: no code of ours may run between a fork and an exec if there are threads.
_START = """
import os, resource, signal, sys
split = sys.argv.index("--")
for name in [name for name in dir(resource) if name.startswith("RLIMIT_")]:
    number = getattr(resource, name)  # the soft limits are not those of the user's shell
    hard = resource.getrlimit(number)[1]
    resource.setrlimit(number, (8 * 2**20 if name == "RLIMIT_STACK" else hard, hard))
os.umask(0o022)
for setting in sys.argv[1:split]:
    name, _, amount = setting.partition("=")
    number = getattr(resource, name)
    hard = resource.getrlimit(number)[1]
    value = int(amount) if hard == resource.RLIM_INFINITY else min(int(amount), hard)
    resource.setrlimit(number, (value, value))
for number in (signal.SIGPIPE, signal.SIGXFSZ):
    signal.signal(number, signal.SIG_DFL)
command = sys.argv[split + 1:]
try:
    os.execvp(command[0], command)
except OSError as error:
    os.write(2, f"{command[0]}: {error.strerror}\\n".encode())
    os._exit(127)
"""
"""Sets limits, RESOURCE=AMOUNT ... before "--", and becomes the command behind it."""
_HEADROOM = 32 * 2**20  # of address space, for an interpreter before it runs anything


class UnsafeLocalSandbox(ProcessSandbox):
    """Runs code as an ordinary process of this user: as unsafe as its name says."""

    def __init__(self, *, workers: int = 1):
        self._slots = threading.BoundedSemaphore(workers)
        self._closed = False

    def rlimits(self, limits: Limits) -> dict[str, int]:
        return {
            "RLIMIT_DATA": limits.memory + _HEADROOM,
            "RLIMIT_NOFILE": limits.open_files,
            "RLIMIT_FSIZE": limits.disk,
            "RLIMIT_CORE": 1,
        }

    def result(self, program: Program) -> ExecutionResult:
        with self._slots:
            if self._closed:
                raise SandboxError("this sandbox is closed: open another one")
            if signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN:
                raise SandboxError(
                    "this process ignores SIGCHLD, so the end of a run cannot be seen: reset "
                    "it with signal.signal(signal.SIGCHLD, signal.SIG_DFL)"
                )
            with tempfile.TemporaryDirectory(
                prefix="dataenvgym-run-", ignore_cleanup_errors=True
            ) as folder:
                return _Run(program, Path(folder), self).result()

    def command(self, words: Sequence[str]) -> Sequence[str]:
        """What is started for the words of a program: a subclass may put a launcher before them."""
        return words

    def close(self) -> None:
        """Refuse further runs."""
        self._closed = True


class _Run:
    def __init__(self, program: Program, folder: Path, box: UnsafeLocalSandbox):
        self._program = program
        self._box = box
        self._work = folder / "work"
        self._main = folder / "code" / "main.py"
        self._peak = 0
        self._family: dict[int, psutil.Process] = {}
        for path, content in program.files:
            target = self._work / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        self._work.mkdir(exist_ok=True)
        self._main.parent.mkdir()
        self._main.write_bytes(program.code)

    def result(self) -> ExecutionResult:
        pipes = [os.pipe() for _ in range(3)]
        (their_in, our_in), (our_out, their_out), (our_err, their_err) = pipes
        ended, tell_end = os.pipe()
        try:
            process = subprocess.Popen(
                self._command_line(),
                stdin=their_in,
                stdout=their_out,
                stderr=their_err,
                cwd=self._work,
                env=self._environment(),
                start_new_session=True,
            )
        except OSError as error:
            for fd in (our_in, our_out, our_err, tell_end, ended):
                os.close(fd)
            raise SandboxError(f"no process could be started: {error}") from error
        finally:
            for fd in (their_in, their_out, their_err):
                os.close(fd)
        self._family[process.pid] = psutil.Process(process.pid)
        waiter = threading.Thread(target=_tell_when_ended, args=(process, tell_end), daemon=True)
        waiter.start()
        try:
            supervision = Supervision(
                Streams(our_in, our_out, our_err, ended),
                stdin=self._program.stdin,
                limits=self._program.limits,
                kill=lambda: self._kill(process),
                look=self._look,
                at_end=lambda: self._kill(process),
            )
            supervision.run()
        finally:
            self._kill(process)
            waiter.join()
            os.close(ended)
        code = process.returncode
        status = -code if code < 0 else code << 8
        return supervision.result(wait_status=status, memory=self._peak)

    def _command_line(self) -> list[str]:
        program = self._program
        wanted = program.command or (sys.executable, "-s", "-B", "-X", "utf8", str(self._main))
        rlimits = self._box.rlimits(program.limits).items()
        before = (sys.executable, "-I", "-S", "-c", _START, *(f"{n}={most}" for n, most in rlimits))
        return [*before, "--", *self._box.command(wanted)]

    def _environment(self) -> dict[str, str]:
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(self._work),
            "TMPDIR": str(self._work),
            "LANG": "C.UTF-8",
            "PYTHONPATH": str(self._work),
            "PYTHONHASHSEED": "0",
        }

    def _look(self) -> Status | None:
        """Resource usage of the main process and all its descendants so far."""
        count = memory = 0
        for process in list(self._family.values()):
            try:
                for child in process.children(recursive=True):
                    self._family.setdefault(child.pid, child)
            except psutil.Error:
                continue
        for process in list(self._family.values()):
            try:
                count += process.num_threads()
                memory += process.memory_info().rss
            except psutil.Error:
                del self._family[process.pid]
        most = self._program.limits.memory + _HEADROOM
        if memory > most:  # shared pages were counted for each process
            memory = sum(map(_proportional, self._family.values()))
        self._peak = max(self._peak, memory)
        if count > self._program.limits.processes:
            return "killed"
        return "out_of_memory" if memory > most else None

    def _kill(self, process: subprocess.Popen[bytes]) -> None:
        """End the session's group, and every descendant that was ever seen."""
        with contextlib.suppress(ProcessLookupError, PermissionError):  # gone, or only zombies
            os.killpg(process.pid, signal.SIGKILL)
        for member in self._family.values():
            try:
                member.kill()
            except psutil.Error:
                continue


def _proportional(process: psutil.Process) -> int:
    """Bytes of a process, counting shared pages by its share, if the system reports it."""
    with contextlib.suppress(psutil.Error):
        try:
            full = process.memory_full_info()
            return int(getattr(full, "pss", full.rss))
        except psutil.AccessDenied:
            return int(process.memory_info().rss)
    return 0


def _tell_when_ended(process: subprocess.Popen[bytes], tell: int) -> None:
    process.wait()
    os.close(tell)
