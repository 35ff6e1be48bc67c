"""The worker: runs an episode in this process for a driver in another one.

The driver sends a `WorkerRequest`. `run_request` runs it like the in-process executor, and returns
the summary or the error. Meanwhile the driver reads the run's `events.jsonl`.
"""

from __future__ import annotations

import os
import pickle
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from dataenvgym.errors import DataEnvGymError, RunDirectoryError
from dataenvgym.events import redact, redacted_output
from dataenvgym.registration import import_own
from dataenvgym.runs.config.run_directory import open_run
from dataenvgym.runs.episodes.summary import Summary
from dataenvgym.studies.executors.in_process import run_here
from dataenvgym.studies.executors.interface import EpisodeJob


@dataclass(frozen=True)
class CarriedError:
    """An exception as data, for another process.

    Pickle restores an exception by calling its class with `args`, which fails for classes with
    other arguments, and Ray wraps errors into its own. The exception that `error` restores has the
    class, the message and the attributes of the original; the traceback is a note. Secrets are
    redacted here: the other process may not know them.

    Attributes:
        module, name: of its class.
        args, attributes: of the exception, except those that cannot be pickled.
        text: its class and message.
        trace: the traceback, as text.
    """

    module: str
    name: str
    args: tuple[Any, ...]
    attributes: dict[str, Any]
    text: str
    trace: str

    @classmethod
    def of(cls, error: BaseException) -> CarriedError:
        attributes = {k: v for k, v in vars(error).items() if k != "__notes__" and _travels(v)}
        args = (arg if _travels(arg) else repr(arg) for arg in error.args)
        return cls(
            module=type(error).__module__,
            name=type(error).__qualname__,
            args=tuple(redact(arg) if isinstance(arg, str) else arg for arg in args),
            attributes=attributes,
            text=redact(f"{type(error).__name__}: {error}"),
            trace=redact("".join(traceback.format_exception(error))),
        )

    def error(self) -> BaseException:
        """Restore the exception; a `DataEnvGymError` with its text if the class is unknown here."""
        try:
            kind: Any = import_own(self.module)
            for part in self.name.split("."):
                kind = getattr(kind, part)
            error = kind.__new__(kind, *self.args)
            error.args = self.args
            error.__dict__.update(self.attributes)
        except (ImportError, AttributeError, TypeError):
            error = DataEnvGymError(self.text)
        assert isinstance(error, BaseException)
        error.add_note(f"In another process:\n{self.trace}")
        return error


def _travels(value: Any) -> bool:
    try:
        pickle.dumps(value)
    except Exception:  # noqa: BLE001  a class may raise anything while it is pickled
        return False
    return True


_PERIOD = 0.2
"""Seconds between two checks of the holder file; a new driver takes longer until it writes."""


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
class WorkerRequest:
    """A request to run or resume an episode.

    Attributes:
        config: the resolved configuration, as YAML text.
        fresh: start over.
        holder: a file in the run directory that exists as long as the request is valid; the next
            driver that opens the directory removes it. None: the worker opens the directory itself.
    """

    config: str
    fresh: bool
    holder: Path | None
    context: WorkerContext


def run_request(request: WorkerRequest) -> Summary | CarriedError:
    """Run the episode; an interrupt ends it and is sent to the driver like any error."""
    request.context.enter()
    config: Any = OmegaConf.create(request.config)
    episode = EpisodeJob(config, fresh=request.fresh)
    try:
        with redacted_output():
            if request.holder is None:
                return run_here(episode, open_run(config, fresh=request.fresh)).result()
            if not request.holder.exists():
                raise RunDirectoryError(
                    f"{os.uname().nodename} does not see the run directory {episode.directory}, "
                    "or another process writes to it"
                )
            with _ending_without(request.holder):
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
