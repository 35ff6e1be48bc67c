"""Episodes in processes of their own on this machine, several at a time.

    this process                                child, one for each episode
    waits for all children --- forkserver --->  runs the episode in its run directory
    tells the callbacks    <----- pipe -------  what happens, and what it came to

The forkserver has imported torch and its like once, so that a child begins within a fraction of a
second. A child that dies takes nobody with it; when this process goes, by Ctrl-C or by SIGKILL,
its children end too.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, wait
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from omegaconf import OmegaConf

from dataenvgym.errors import ConfigurationError, WorkerLostError
from dataenvgym.executors.driving import DrivenEpisode
from dataenvgym.executors.errors import opened
from dataenvgym.executors.interface import Episode, Outcome
from dataenvgym.executors.process_worker import ProcessOrder, run_order
from dataenvgym.executors.ray_host import Surroundings
from dataenvgym.executors.ray_worker import Told
from dataenvgym.external.processes import end_process_tree, last_lines

if TYPE_CHECKING:
    from multiprocessing.context import ForkServerProcess

_PATIENCE = 10.0  # seconds that children get to end by themselves
_HEAVY = (
    "torch",
    "transformers",
    "transformers.models.llama.modeling_llama",
    "peft",
    "dataenvgym.trainers.loop",
    "dataenvgym.predictors.generation",
)
_PRELOAD = (
    "dataenvgym.predictors.in_process",
    "dataenvgym.trainers.in_process",
    "dataenvgym.executors.in_process",
    "dataenvgym.episodes.report",
    "hydra",
    "matplotlib.figure",
    "matplotlib.backends.backend_agg",
    "datasketch",
    *_HEAVY,
)


class ProcessExecutor:
    """Runs each episode in a process of its own, `workers` at the same time.

    Args:
        workers: how many at the same time; None is as many as there are cores for students of
            `threads` threads.
        threads: cores that one student computes on; it decides nothing but that number.

    Raises:
        ConfigurationError: if a number is below 1.
    """

    def __init__(self, *, workers: int | None = None, threads: int = 1) -> None:
        for name, value in (("workers", workers), ("threads", threads)):
            if value is not None and value < 1:
                raise ConfigurationError(f"{name} is {value}, expected 1 or more")
        self.workers = workers or max(1, len(os.sched_getaffinity(0)) // threads)

    def run(self, episodes: Sequence[Episode]) -> list[Outcome]:
        """Run all episodes to their end; one outcome for each, in their order.

        Raises:
            KeyboardInterrupt: after Ctrl-C; all episodes are then ended.
        """
        _preload(episodes)
        outcomes: dict[int, Outcome] = {}
        waiting = list(enumerate(episodes))[::-1]
        running: dict[int, _Child] = {}
        with tempfile.TemporaryDirectory(prefix="dataenvgym-") as folder:
            try:
                while waiting or running:
                    while waiting and len(running) < self.workers:
                        i, episode = waiting.pop()
                        running[i] = _Child(episode, Path(folder) / f"{i}.log")
                    wait([handle for child in running.values() for handle in child.handles])
                    for i, child in list(running.items()):
                        if (outcome := child.listen()) is not None:
                            outcomes[i] = outcome
                            del running[i]
            except BaseException as error:  # Ctrl-C, above all
                _end(list(running.values()), error)
                raise
        return [outcomes[i] for i in range(len(episodes))]


class _Child:
    """An episode in its process, from our side.

    Args:
        log: a file for what the child writes to its standard output and error.
    """

    def __init__(self, episode: Episode, log: Path) -> None:
        self._driven = DrivenEpisode(episode)
        self._log = log
        self._result: Any = None
        context = multiprocessing.get_context("forkserver")
        self._connection, theirs = context.Pipe()
        order = ProcessOrder(
            config=self._driven.config_text,
            fresh=episode.fresh,
            surroundings=Surroundings.here(),
            variables=dict(os.environ),
            log=str(log),
        )
        self.process: ForkServerProcess = context.Process(target=run_order, args=(theirs, order))
        with _nameless_main():
            self.process.start()
        theirs.close()

    @property
    def handles(self) -> list[Connection | int]:
        """What becomes ready when there is something to hear."""
        sentinel = self.process.sentinel
        return [sentinel] if self._connection.closed else [self._connection, sentinel]

    def listen(self) -> Outcome | None:
        """Take what the child has told; its outcome if it has ended."""
        has_ended = not self.process.is_alive()
        try:
            self._hear()
        except Exception as error:  # of a callback
            self.end()
            return self._failed(error)
        if not has_ended:
            return None
        self.process.join()
        self._connection.close()
        if self._result is None:
            return self._failed(WorkerLostError(self._loss()))
        try:
            return Outcome(summary=opened(self._result))
        except Exception as error:
            return self._failed(error)

    def fail(self, error: BaseException) -> None:
        """Say in the run directory and to the callbacks that the episode was ended."""
        self._driven.fail(error)

    def end(self, patience: float = _PATIENCE) -> None:
        """End the process, and all that it started; it gets `patience` seconds to do so itself."""
        if (pid := self.process.pid) is not None and self.process.is_alive():
            end_process_tree(pid, grace=patience)
        self.process.join(_PATIENCE)
        self._connection.close()

    def _hear(self) -> None:
        with suppress(EOFError, ConnectionError):
            while not self._connection.closed and self._connection.poll():
                told = self._connection.recv()
                if isinstance(told, Told):
                    self._driven.take(told)
                else:
                    self._result = told
            return
        self._connection.close()

    def _failed(self, error: Exception) -> Outcome:
        self._driven.fail(error)
        return Outcome(error=error)

    def _loss(self) -> str:
        code = self.process.exitcode
        how = f"with exit code {code}"
        if code is not None and code < 0:
            how = f"by {signal.Signals(-code).name}"
        said = last_lines(self._log)
        said = f" It last said:\n{said}\n" if said and said != "(no log)" else " "
        return (
            f"the process of {self._driven.directory.name!r} was ended {how}.{said}"
            "The same command goes on"
        )


def _end(children: Sequence[_Child], error: BaseException) -> None:
    """End the children, all at the same time, and say so in their run directories."""
    for child in children:
        child.process.terminate()
    deadline = time.monotonic() + _PATIENCE
    for child in children:
        child.process.join(max(0.0, deadline - time.monotonic()))
        child.end(patience=1.0)
        with suppress(Exception):  # another one's callback: the first error is what counts
            child.fail(error)


def _preload(episodes: Sequence[Episode]) -> None:
    """Have the forkserver import, when it starts, what the students need."""
    needs_torch = any(
        str(OmegaConf.select(episode.config, "predictor._target_")).endswith("InProcessPredictor")
        for episode in episodes
    )
    modules = [m for m in _PRELOAD if needs_torch or m not in _HEAVY]
    with _nameless_main():
        multiprocessing.get_context("forkserver").set_forkserver_preload(modules)


@contextmanager
def _nameless_main() -> Iterator[None]:
    """Meanwhile, the main module has no file: children would run the caller's script again."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main
