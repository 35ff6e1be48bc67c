"""Runs episodes in separate processes on this machine, several at a time.

    this process                                child, one for each episode
    waits for all children --- forkserver --->  runs the episode in its run directory
    notifies the callbacks <-- events.jsonl --  its events
                           <----- pipe -------  its summary or error

The forkserver imports torch and similar packages once, so a child starts within a fraction of a
second. A child that dies does not affect the others. When this process ends, by Ctrl-C or by
SIGKILL, its children end too.
"""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import forkserver, resource_tracker
from multiprocessing.connection import Connection, wait
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from omegaconf import OmegaConf
from pydantic import PositiveInt

from dataenvgym.events import warn_run
from dataenvgym.runs.episodes.summary import Summary
from dataenvgym.students.external.processes import end_process_tree, last_lines
from dataenvgym.studies.executors.episode_driver import End, Lost, drive
from dataenvgym.studies.executors.interface import EpisodeJob, EpisodeOutcome
from dataenvgym.studies.executors.worker import CarriedError, WorkerRequest, run_request

if TYPE_CHECKING:
    from multiprocessing.context import ForkServerProcess

_PATIENCE = 10.0  # seconds for an episode to end after the driver has ended
_HEAVY = (
    "torch", "transformers", "transformers.models.llama.modeling_llama", "peft",
    "dataenvgym.students.trainers.loop", "dataenvgym.students.predictors.generation",
)  # fmt: skip
_PRELOAD = (
    "dataenvgym.students.predictors.in_process",
    "dataenvgym.students.trainers.in_process",
    "dataenvgym.studies.executors.in_process",
    "dataenvgym.runs.episodes.report",
    "hydra",
    "matplotlib.figure",
    "matplotlib.backends.backend_agg",
    "datasketch",
    *_HEAVY,
)


class ProcessExecutor:
    """Runs each episode in its own process, `workers` at the same time.

    Args:
        workers: the number of processes at a time; None takes the number of cores divided by
            `threads`.
        threads: threads of one student; only used to compute `workers`.
    """

    def __init__(self, *, workers: PositiveInt | None = None, threads: PositiveInt = 1) -> None:
        self.workers = workers or max(1, len(os.sched_getaffinity(0)) // threads)

    def run(self, episodes: Sequence[EpisodeJob]) -> list[EpisodeOutcome]:
        predictors = [dict(episode.config.get("predictor") or {}) for episode in episodes]
        own = [p for p in predictors if str(p.get("_target_")).endswith(".VllmPredictor")]
        n_servers = min(self.workers, sum(not p.get("base_url") for p in own))
        if n_servers > 1:
            warn_run(
                f"{n_servers} vLLM servers will run at the same time, one for each process: to "
                "share one, start it with `dataenvgym serve` and set predictor.base_url"
            )
        _preload(episodes)
        with tempfile.TemporaryDirectory(prefix="dataenvgym-") as folder:
            return drive(episodes, _Children(Path(folder)), at_once=self.workers)


class _Children:
    """The children of this process.

    Args:
        folder: for their standard output and error.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._n_started = 0
        self._children: list[_Child] = []

    def start(self, request: WorkerRequest) -> _Child:
        child = _Child(request, self._folder / f"{self._n_started}.log")
        self._n_started += 1
        self._children.append(child)
        return child

    def ended(self, seconds: float) -> Iterator[tuple[_Child, End]]:
        wait([handle for child in self._children for handle in child.handles], seconds)
        for child in list(self._children):
            if (end := child.outcome()) is not None:
                yield child, end

    def interrupt(self, child: _Child) -> None:
        child.process.terminate()

    def end(self, child: _Child, patience: float) -> None:
        self._children.remove(child)
        child.end(patience)


class _Child:
    """A child process that runs a request, with its standard output and error in `log`."""

    def __init__(self, request: WorkerRequest, log: Path) -> None:
        self._log = log
        self._reply: Summary | CarriedError | None = None
        context = multiprocessing.get_context("forkserver")
        self._connection, theirs = context.Pipe()
        self.process: ForkServerProcess = context.Process(
            target=_run_child, args=(theirs, request, dict(os.environ), str(log))
        )
        with _nameless_main():
            self.process.start()
        theirs.close()

    @property
    def handles(self) -> list[Connection | int]:
        """The objects that become ready when there is a message."""
        sentinel = self.process.sentinel
        awaits_reply = self._reply is None and not self._connection.closed
        return [self._connection, sentinel] if awaits_reply else [sentinel]

    def outcome(self) -> End | None:
        """How its work ended; None while the process runs."""
        has_ended = not self.process.is_alive()
        try:
            # open until the child has ended: it takes a closed one for the end of its driver
            if self._connection in self.handles and self._connection.poll():
                self._reply = self._connection.recv()
        except (EOFError, ConnectionError):
            self._connection.close()
        if not has_ended:
            return None
        self.process.join()
        if self._reply is not None:
            return self._reply
        code = self.process.exitcode or 0
        how = f"by {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"
        said = last_lines(self._log)
        return Lost(f"ended {how}", "" if said == "(no log)" else said)

    def end(self, patience: float) -> None:
        """Wait for its end; after `patience` seconds, kill it and the processes it started."""
        self.process.join(patience)
        if (pid := self.process.pid) is not None and self.process.is_alive():
            end_process_tree(pid, grace=1.0)
        self.process.join(_PATIENCE)
        self._connection.close()


def _run_child(
    connection: Connection, request: WorkerRequest, variables: dict[str, str], log: str
) -> None:
    """Run a request in this process, and send its outcome.

    SIGTERM and the end of the driver interrupt the episode; nothing is sent then.

    Args:
        variables: the environment variables of the driver.
    """
    terminated = threading.Event()

    def interrupt(number: int, frame: object) -> None:
        terminated.set()
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the driver handles Ctrl-C
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # for programs that run in it
    signal.signal(signal.SIGTERM, interrupt)
    # the episode's output goes to a file, and the traceback of a crash
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for stream in (1, 2):
        os.dup2(descriptor, stream)
    os.close(descriptor)
    faulthandler.enable()
    os.environ.clear()
    os.environ.update(variables)
    threading.Thread(target=_end_with, args=(connection,), daemon=True).start()
    try:
        reply = run_request(request)
        if not terminated.is_set():
            connection.send(reply)
            return
    except (KeyboardInterrupt, ConnectionError):
        pass
    sys.exit(128 + signal.SIGTERM)


def _end_with(connection: Connection) -> None:
    """Wait until the driver has ended; then interrupt this process, and kill it if that fails."""
    try:
        connection.recv()
    except (EOFError, OSError):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(_PATIENCE)
        os._exit(128 + signal.SIGTERM)


def _preload(episodes: Sequence[EpisodeJob]) -> None:
    """Start the forkserver, which imports the students' modules.

    SIGINT is blocked in it: Ctrl-C at a terminal reaches it, too, and would end the imports with a
    traceback. The driver handles Ctrl-C.
    """
    needs_torch = any(
        str(OmegaConf.select(episode.config, "predictor._target_")).endswith("InProcessPredictor")
        for episode in episodes
    )
    modules = [m for m in _PRELOAD if needs_torch or m not in _HEAVY]
    with _nameless_main():
        multiprocessing.get_context("forkserver").set_forkserver_preload(modules)
        resource_tracker.ensure_running()  # unblocks SIGINT when it starts, so it comes first
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            forkserver.ensure_running()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _nameless_main() -> Iterator[None]:
    """Hide the main module's file, or else children would run the caller's script again."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main
