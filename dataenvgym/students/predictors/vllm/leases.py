"""The servers on this machine and their users, as files that outlive a killed process.

    <cache>/servers/<host>/<key>/{server.json, log.txt, users/<pid>-<began>-<number>}

The last user of a server ends it. A killed process cannot do so: the next one that looks for a
server ends those without users.

A server has a session of its own, so its children are found even after it was killed.
"""

from __future__ import annotations

import fcntl
import os
import platform
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from dataenvgym.errors import ExternalError
from dataenvgym.storage import read_json, write_json
from dataenvgym.students.external import cache_directory
from dataenvgym.students.external.processes import created_at, end_process_tree, is_alive

GRACE = 10.0
"""Seconds that a server gets to end by itself."""
_KILLED_SECONDS = 5.0
"""Seconds that killed processes may take to disappear."""


@dataclass(frozen=True)
class RunningServer:
    """A server process, identified for good by its pid and its start time."""

    pid: int
    began: float
    port: int

    @property
    def is_alive(self) -> bool:
        """Whether the process runs."""
        return is_alive(self.pid, self.began)

    @property
    def base_url(self) -> str:
        """Its URL."""
        return f"http://127.0.0.1:{self.port}"


class Lease:
    """One user of one kind of server, in the folder of its key."""

    def __init__(self, key: str) -> None:
        self.folder = _root() / key
        self._me = f"{os.getpid()}-{created_at():.2f}-{uuid.uuid4().hex[:8]}"

    @property
    def log(self) -> Path:
        """The server's output."""
        return self.folder / "log.txt"

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Start or end servers one user at a time."""
        try:
            _root().mkdir(parents=True, exist_ok=True)
            lock = (_root() / ".lock").open("w")
        except OSError as error:
            raise ExternalError(
                f"{_root()} cannot be written to, where it is kept which servers run: {error}. Set "
                "DATAENVGYM_CACHE to a folder that can"
            ) from error
        with lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def running(self) -> RunningServer | None:
        """The server that runs, if there is one."""
        server = self.last()
        return server if server is not None and server.is_alive else None

    def last(self) -> RunningServer | None:
        """The server that was started last, running or not."""
        try:
            return RunningServer(**read_json(self.folder / "server.json"))
        except (OSError, ValueError, TypeError):
            return None

    def record(self, server: RunningServer) -> None:
        """Record a server that has just been started."""
        write_json(self.folder / "server.json", asdict(server))

    def join(self) -> None:
        """Become one of the users."""
        (self.folder / "users").mkdir(parents=True, exist_ok=True)
        (self.folder / "users" / self._me).touch()

    def leave(self, *, grace: float = GRACE) -> None:
        """Stop being a user; the last user ends the server, which gets `grace` seconds for that."""
        with self.alone():
            (self.folder / "users" / self._me).unlink(missing_ok=True)
            if not self.users():
                self.end_server(grace=grace)

    def users(self) -> list[int]:
        """The processes that use the server; killed ones are removed."""
        found = []
        for file in sorted(self.folder.glob("users/[0-9]*-[0-9]*")):
            pid, began, *_ = file.name.split("-")
            if is_alive(int(pid), float(began)):
                found.append(int(pid))
            else:
                file.unlink(missing_ok=True)
        return found

    def end_server(self, *, grace: float = GRACE) -> None:
        """End the server and all its children, even if it has ended itself."""
        if (server := self.last()) is not None:
            if server.is_alive:
                end_process_tree(server.pid, grace=grace)
            _kill(_left_of(server))


def _left_of(server: RunningServer) -> list[psutil.Process]:
    """Processes that an ended server has left: the rest of its session.

    No process gets the pid of a session that is not empty. So if another process has the server's
    pid by now, nothing was left.
    """
    with suppress(psutil.NoSuchProcess):
        if psutil.Process(server.pid).status() != psutil.STATUS_ZOMBIE:
            return []
    left = []
    for process in psutil.process_iter():
        with suppress(OSError, psutil.Error):
            if process.pid != server.pid and os.getsid(process.pid) == server.pid:
                left.append(process)
    return left


def _kill(processes: list[psutil.Process]) -> None:
    """Kill them; Python's resource trackers last, which free the others' shared memory."""
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            if "resource_tracker" not in " ".join(process.cmdline()):
                process.kill()
    _, alive = psutil.wait_procs(processes, timeout=_KILLED_SECONDS)
    for process in alive:  # including trackers that have not ended by themselves
        with suppress(psutil.NoSuchProcess):
            process.kill()


def end_left_over() -> None:
    """End servers without users."""
    for folder in sorted(_root().glob("*/")):
        lease = Lease(folder.name)
        if lease.running() is not None and not lease.users():
            lease.end_server()


def _root() -> Path:
    # machines may share a home folder, and do not see each other's processes
    return cache_directory() / "servers" / (platform.node() or "localhost")
