"""Starts programs that the kernel ends together with this process.

bwrap asks for that (--die-with-parent), but the kernel watches the *thread* that started it. So one
thread, which ends only with the process, starts all programs.
"""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue

_Job = tuple[Callable[[], "subprocess.Popen[bytes]"], "Future[subprocess.Popen[bytes]]"]
_jobs: SimpleQueue[_Job] = SimpleQueue()
_starter: threading.Thread | None = None
_starter_lock = threading.Lock()


def start_program(
    command: list[str], *, inherited: tuple[int, ...], errors: int
) -> Future[subprocess.Popen[bytes]]:
    """Start a program with these descriptors; its error output goes to the file `errors`.

    The descriptors must stay open until it has started.
    """
    global _starter
    with _starter_lock:
        if _starter is None or not _starter.is_alive():
            _starter = threading.Thread(target=_start_all, name="sandbox-starter", daemon=True)
            _starter.start()
    future: Future[subprocess.Popen[bytes]] = Future()

    def start() -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=errors,
            stderr=errors,
            pass_fds=inherited,
            cwd="/",
            start_new_session=True,  # an interrupt from the terminal is for us alone
        )

    _jobs.put((start, future))
    return future


def _start_all() -> None:
    while True:
        start, future = _jobs.get()
        try:
            future.set_result(start())
        except Exception as error:  # noqa: BLE001  raised again in the thread that asked
            future.set_exception(error)


def _after_fork() -> None:
    global _starter, _starter_lock, _jobs
    _starter, _starter_lock, _jobs = None, threading.Lock(), SimpleQueue()


os.register_at_fork(after_in_child=_after_fork)
