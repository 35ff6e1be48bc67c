"""Child processes that never outlive their use, their last output, and free ports."""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import psutil


def guarded(command: Sequence[str]) -> list[str]:
    """The command line that runs `command` so that it ends, with all its children, when we do.

    See `guard`. This process must start it itself, not through a shell.
    """
    guard = Path(__file__).with_name("guard.py")
    return [sys.executable, "-P", str(guard), str(os.getpid()), *command]


def end_process_tree(pid: int, *, grace: float = 10.0) -> None:
    """End a process and everything that it started.

    First the process is asked to end (a guard then ends the others itself). When it is gone, or
    after `grace` seconds, the remaining processes are asked; after `grace` more, all are killed.
    """
    try:
        root = psutil.Process(pid)
        tree = {root, *root.children(recursive=True)}
    except psutil.NoSuchProcess:
        return
    asked = {root}
    for ask in (psutil.Process.terminate, psutil.Process.terminate, psutil.Process.kill):
        for process in asked:
            with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
                ask(process)
        # not `psutil.wait_procs`, which takes exit codes from the code that started the processes
        deadline = time.monotonic() + grace
        while any(map(_runs, asked)) and time.monotonic() < deadline:
            time.sleep(0.02)
        for process in tuple(tree):
            with suppress(psutil.NoSuchProcess):
                tree.update(process.children(recursive=True))
        asked = set(filter(_runs, tree))


def end_session(leader: int) -> None:
    """Kill what is left of the session that a process led, also if that process is gone."""
    for process in psutil.process_iter():
        with suppress(OSError, psutil.Error):
            if os.getsid(process.pid) == leader:
                process.kill()


def last_lines(path: Path, count: int = 12, *, at_most: int = 4000) -> str:
    """The last lines of a log, or a note that there is no log."""
    try:
        with path.open("rb") as stream:
            stream.seek(max(0, os.fstat(stream.fileno()).st_size - 64 * 1024))
            text = stream.read().decode(errors="replace")
    except FileNotFoundError:
        return "(no log)"
    # a progress bar rewrites its line: only its last state counts
    lines = [line.rsplit("\r", 1)[-1].rstrip() for line in text.split("\n") if line.strip()]
    return "\n".join(lines[-count:])[-at_most:]


def end_of_log(path: Path, count: int = 12) -> str:
    """The end of an error message: the path of the log, and its last lines if it has any.

    The first line of such a message can be shown alone.
    """
    if not path.is_file():
        return f"It wrote no log to {path}."
    if lines := last_lines(path, count):
        return f"Its log is {path}.\nThe log ends with:\n{lines}"
    return f"Its log, {path}, is empty."


def _runs(process: psutil.Process) -> bool:
    """Whether it runs; a zombie does not."""
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def free_port() -> int:
    """A TCP port of the loopback interface that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def is_free(port: int) -> bool:
    """Whether the port is free."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True
