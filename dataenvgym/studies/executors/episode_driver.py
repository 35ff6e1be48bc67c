"""The driver of episodes that run in other processes.

`drive` starts a worker for each episode, notifies the episode's callbacks of the events in its run
directory, and replaces lost workers. `Workers` is the interface of a kind of worker: child
processes in `processes`, Ray tasks in `ray_executor`.
"""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from dataenvgym.environments.iterations import IterationFiles
from dataenvgym.errors import WorkerLostError
from dataenvgym.events import ProgressMessage, hearing_warnings
from dataenvgym.runs.config.run_directory import open_run
from dataenvgym.runs.config.values import resolved_yaml
from dataenvgym.runs.episodes.bookkeeping import CallbackList, described
from dataenvgym.runs.episodes.callbacks import EpisodePlan
from dataenvgym.runs.episodes.events import EventLog, EventReader
from dataenvgym.runs.episodes.summary import IterationSummary, RunWarning, Summary, whole_summary
from dataenvgym.storage import remove_temporaries, write_json
from dataenvgym.studies.executors.interface import EpisodeJob, EpisodeOutcome, build_episode
from dataenvgym.studies.executors.worker import CarriedError, WorkerContext, WorkerRequest

_PERIOD = 0.2  # seconds between two looks at the events
_PATIENCE = 10.0  # seconds that interrupted workers get to end by themselves
_Worker = TypeVar("_Worker")


@dataclass(frozen=True)
class Lost:
    """A worker ended without a summary or an error.

    Attributes:
        how: such as "ended by SIGKILL".
        said: the last lines of the worker's output.
    """

    how: str
    said: str = ""


End = Summary | CarriedError | Lost
"""How the work of a worker ended."""


class Workers(Protocol[_Worker]):
    """Processes that run requests."""

    def start(self, request: WorkerRequest) -> _Worker: ...

    def ended(self, seconds: float) -> Iterator[tuple[_Worker, End]]:
        """Wait until a worker has ended, at most `seconds`; return those that have."""
        ...

    def interrupt(self, worker: _Worker) -> None:
        """Ask the worker to end."""
        ...

    def end(self, worker: _Worker, patience: float) -> None:
        """Wait until the worker has ended; kill it after `patience` seconds."""
        ...


def drive(
    episodes: Sequence[EpisodeJob],
    workers: Workers[Any],
    *,
    at_once: int | None = None,
    opens: bool = False,
    max_restarts: int = 0,
) -> list[EpisodeOutcome]:
    """Run all episodes to their end; return one outcome for each, in order.

    Args:
        at_once: the most workers at a time.
        opens: open and lock the run directories here; otherwise each worker opens its own.
        max_restarts: the most times that an episode's lost worker is replaced.

    Raises:
        KeyboardInterrupt: after Ctrl-C here or in a worker; all episodes have ended then.
    """
    drives = [DrivenEpisode(episode, opens=opens, max_losses=max_restarts) for episode in episodes]
    _Drive(workers).run(drives, at_once or len(drives))
    return [one.outcome for one in drives if one.outcome is not None]


class DrivenEpisode:
    """One episode: opens its run directory, notifies its callbacks, has its outcome."""

    def __init__(self, episode: EpisodeJob, *, opens: bool = True, max_losses: int = 0) -> None:
        self.directory = episode.directory
        self.outcome: EpisodeOutcome | None = None
        self._episode = episode
        self._opens = opens
        self._max_losses = max_losses
        self._losses = 0
        self._open = ExitStack()
        self._plan: EpisodePlan | None = None
        self._callbacks = CallbackList(episode.callbacks)
        self._n_announced = 0

    def request(self) -> WorkerRequest:
        """Make the request for a worker; the first call opens the run directory.

        It is opened and locked only if the configuration works.
        """
        config, holder = self._episode.config, None
        if not self._losses:
            if self._opens:
                with hearing_warnings(lambda text: None):  # the worker warns when it builds it
                    build_episode(config, self.directory)
                self._open.enter_context(open_run(config, fresh=self._episode.fresh))
            self._events = EventReader(self.directory)
        if self._opens:
            # with the name of a temporary file, which `workspace.opened` and `_lose` remove
            name = f".holder.{os.getpid()}-{uuid.uuid4().int}.tmp"
            holder = self.directory.absolute() / name
            holder.touch()
            self._open.callback(holder.unlink, missing_ok=True)
        return WorkerRequest(
            config=resolved_yaml(config),
            fresh=self._episode.fresh,
            holder=holder,
            context=WorkerContext.here(),
        )

    def follow(self) -> None:
        """Notify the callbacks of the events since the last call."""
        for event in self._events.read():
            facts = {name: value for name, value in event.items() if name not in ("time", "event")}
            match event["event"]:
                case "start":
                    if self._plan is None:
                        self._plan = EpisodePlan(directory=self.directory, **facts)
                        self._callbacks.start(self._plan)
                    self._announce(facts["n_finished"])
                case "iteration":
                    self._announce(facts["iteration"] + 1)
                case "end" if (summary := whole_summary(self.directory)) is not None:
                    self._callbacks.end(summary)
                case "begin":
                    self._callbacks.tell("on_phase", "begin", **facts, seconds=0.0)
                case "phase":
                    self._callbacks.tell("on_phase", "end", **facts)
                case "warning":
                    self._callbacks.tell("on_warning", RunWarning(**facts))
                case "progress":
                    self._callbacks.tell("on_progress", ProgressMessage.of(**facts))

    def end(self, how: End) -> None:
        """The worker has ended; raises the error that ends the episode."""
        self.follow()
        match how:
            case CarriedError():
                raise how.error()
            case Lost():
                self._lose(how)
            case Summary():
                self._announce(len(how.iterations))
                self._callbacks.end(how)
                self._open.close()
                self.outcome = EpisodeOutcome(summary=how)

    def fail(self, error: BaseException) -> None:
        """Report the error in the run directory and to the callbacks, and release the directory."""
        self.outcome = EpisodeOutcome(error=error if isinstance(error, Exception) else None)
        with self._open:
            if self._plan is None or self._callbacks.has_ended:
                return
            status = "interrupted" if isinstance(error, KeyboardInterrupt) else "failed"
            plan = self._plan
            before = whole_summary(self.directory) or Summary(
                task=plan.task, agent=plan.agent, seed=plan.seed, status="failed",
                iterations=(), best_iteration=0,
            )  # fmt: skip
            summary = before.model_copy(update={"status": status, "error": described(error)})
            write_json(self.directory / "summary.json", summary)
            EventLog(self.directory).on_end(summary)
            self._callbacks.end(summary)

    def _lose(self, lost: Lost) -> None:
        self._losses += 1
        name = self.directory.name
        if self._losses > self._max_losses:
            times = f", the last of {self._losses}," if self._losses > 1 else ""
            said = f". It last said:\n{lost.said}\n" if lost.said else ""
            raise WorkerLostError(
                f"the process of {name!r}{times} {lost.how}; the same command continues{said}"
            )
        remove_temporaries(self.directory)
        message = ProgressMessage(f"the process of {name!r} {lost.how}: another one continues")
        self._callbacks.tell("on_progress", message)

    def _announce(self, n_finished: int) -> None:
        """Report finished iterations, each once, although a second worker repeats the first."""
        for number in range(self._n_announced, n_finished if self._callbacks.started else 0):
            files = IterationFiles(self.directory / "iterations", number)
            if not files.is_finished:
                return  # an environment that does not resume does it again
            result = files.read_result()
            self._n_announced = number + 1  # also if a callback raises
            self._callbacks.tell("on_iteration", IterationSummary.of(result))


class _Drive(Generic[_Worker]):
    """Episodes and the workers that run them."""

    def __init__(self, workers: Workers[_Worker]) -> None:
        self._workers = workers
        self._running: dict[_Worker, DrivenEpisode] = {}

    def run(self, episodes: Sequence[DrivenEpisode], at_once: int) -> None:
        waiting = list(reversed(episodes))
        try:
            while waiting or self._running:
                while waiting and len(self._running) < at_once:
                    self._start(waiting.pop())
                if self._running:
                    for worker, how in self._workers.ended(_PERIOD):
                        self._hear(worker, how)
                    for worker in list(self._running):
                        self._hear(worker, None)
        except BaseException as error:  # Ctrl-C, above all
            self._end(self._running, error)
            raise

    def _start(self, one: DrivenEpisode) -> None:
        try:
            self._running[self._workers.start(one.request())] = one
        except Exception as error:  # noqa: BLE001  an episode that cannot start fails alone
            one.fail(error)

    def _hear(self, worker: _Worker, how: End | None) -> None:
        """Follow the worker's episode, or end it."""
        if (one := self._running.get(worker)) is None:
            return  # its episode has ended
        try:
            one.follow() if how is None else one.end(how)
        except Exception as error:  # noqa: BLE001  an event that cannot be handled ends its episode alone
            self._end({worker: self._running.pop(worker)}, error, are_busy=how is None)
            return
        if how is not None:
            del self._running[worker]
            self._workers.end(worker, _PATIENCE)
        if isinstance(how, Lost):
            self._start(one)

    def _end(
        self,
        running: Mapping[_Worker, DrivenEpisode],
        error: BaseException,
        *,
        are_busy: bool = True,
    ) -> None:
        """End the workers, all at the same time, and report it in their run directories.

        Workers that have ended are not interrupted: Ray ends this process if it cancels a task
        whose reply arrives.
        """
        for worker in running if are_busy else ():
            self._workers.interrupt(worker)
        deadline = time.monotonic() + _PATIENCE
        for worker, one in running.items():
            self._workers.end(worker, max(0.0, deadline - time.monotonic()))
            with suppress(Exception):  # from a callback: the first error counts
                one.fail(error)
