"""The worker: runs an episode in this process, and reports to the driver.

The driver sends an `Order`. `run_order` runs it like the in-process executor, sends each call of a
callback as a `CallbackMessage`, and returns the summary or the error as the last message.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from dataenvgym.config.run_directory import open_run
from dataenvgym.episodes.callbacks import EpisodeCallback, EpisodePlan, PhaseEvent
from dataenvgym.episodes.summary import IterationSummary, Summary
from dataenvgym.episodes.warning_log import RunWarning
from dataenvgym.errors import RunDirectoryError
from dataenvgym.executors.errors import CarriedError
from dataenvgym.executors.in_process import run_here
from dataenvgym.executors.interface import Episode
from dataenvgym.progress import ProgressMessage
from dataenvgym.secrets import redacted_output

_PERIOD = 0.2
"""Seconds between two checks of the holder file (a new driver takes longer until it writes), and
at least between two progress messages with counts."""


@dataclass(frozen=True)
class WorkerContext:
    """The driver's working folder and environment, which a worker takes over.

    Attributes:
        folder: the current folder, for relative paths in a configuration.
        paths: Python's search path for modules.
        omp_threads: OMP_NUM_THREADS, which Ray would set to the CPUs of the task.
    """

    folder: str
    paths: tuple[str, ...]
    omp_threads: str | None

    @classmethod
    def here(cls) -> WorkerContext:
        paths = tuple(os.path.abspath(path) for path in sys.path)
        return cls(os.getcwd(), paths, os.environ.get("OMP_NUM_THREADS"))

    def enter(self) -> None:
        """Apply it to this process; a folder that this machine lacks is left out."""
        sys.path += [p for p in self.paths if p not in sys.path and os.path.exists(p)]
        if self.omp_threads is None:
            os.environ.pop("OMP_NUM_THREADS", None)
        else:
            os.environ["OMP_NUM_THREADS"] = self.omp_threads
        if os.path.isdir(self.folder):
            os.chdir(self.folder)


@dataclass(frozen=True)
class Order:
    """An order to run or resume an episode.

    Attributes:
        config: the resolved configuration, as YAML text.
        fresh: start over.
        holder: a file in the run directory that exists as long as the order is valid; the next
            driver that opens the directory removes it. None: the worker opens the directory itself.
    """

    config: str
    fresh: bool
    holder: Path | None
    context: WorkerContext


Method = Literal["on_start", "on_phase", "on_warning", "on_iteration", "on_end", "on_progress"]


@dataclass(frozen=True)
class CallbackMessage:
    """A call of a callback's method, with its arguments."""

    method: Method
    arguments: tuple[Any, ...]


def run_order(order: Order, tell: Callable[[CallbackMessage], None]) -> Summary | CarriedError:
    """Run the episode; an interrupt ends it and is sent to the driver like any error."""
    from omegaconf import OmegaConf

    order.context.enter()
    config: Any = OmegaConf.create(order.config)
    relay = Relay(tell)
    episode = Episode(config, [relay], order.fresh)
    try:
        with redacted_output():
            if order.holder is None:
                return run_here(episode, open_run(config, fresh=order.fresh)).result()
            if not order.holder.exists():
                raise RunDirectoryError(
                    f"{os.uname().nodename} does not see the run directory {episode.directory}, "
                    "or another process writes to it"
                )
            with _ending_without(order.holder):
                return run_here(episode, nullcontext()).result()
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001  the error travels to the driver
        return CarriedError.of(error)


@contextmanager
def _ending_without(holder: Path) -> Iterator[None]:
    """End this process at once if the file disappears: another process writes to the directory.

    The driver was killed, or considers this worker lost. Nothing more may be written, not even
    that the episode failed.
    """
    done = threading.Event()

    def watch() -> None:
        while not done.wait(_PERIOD):
            with suppress(OSError):  # storage may not answer for a moment
                if not holder.exists() and not done.is_set():
                    os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    finally:
        done.set()


class Relay(EpisodeCallback):
    """Sends each callback call to the driver, from any thread."""

    def __init__(self, tell: Callable[[CallbackMessage], None]) -> None:
        self._tell = tell
        self._lock = threading.Lock()
        self._counted_at = float("-inf")

    def on_start(self, plan: EpisodePlan) -> None:
        self._pass_on("on_start", plan)

    def on_phase(self, event: PhaseEvent, iteration: int, phase: str, seconds: float) -> None:
        self._pass_on("on_phase", event, iteration, phase, seconds)

    def on_warning(self, warning: RunWarning) -> None:
        self._pass_on("on_warning", warning)

    def on_iteration(self, summary: IterationSummary) -> None:
        self._pass_on("on_iteration", summary)

    def on_end(self, summary: Summary) -> None:
        self._pass_on("on_end", summary)

    def on_progress(self, message: ProgressMessage) -> None:
        """Send a progress message; of the many counts, only a few per second."""
        now = time.monotonic()
        if message.total is not None:
            if now - self._counted_at < _PERIOD:
                return
            self._counted_at = now
        self._pass_on("on_progress", message)

    def _pass_on(self, method: Method, *arguments: Any) -> None:
        with self._lock:
            self._tell(CallbackMessage(method, arguments))
