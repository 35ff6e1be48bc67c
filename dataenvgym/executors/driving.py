"""The driver of episodes that run in other processes.

`drive` starts a worker for each episode, forwards its messages to the episode's callbacks, and
replaces lost workers. `Workers` is the interface of a kind of worker: child processes in
`processes`, Ray tasks in `ray_executor`.
"""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from dataenvgym.config.resolved import resolved_yaml
from dataenvgym.config.run_directory import open_run
from dataenvgym.episodes.bookkeeping import described
from dataenvgym.episodes.callbacks import EpisodeCallback, EpisodePlan
from dataenvgym.episodes.events import EventLog
from dataenvgym.episodes.summary import Status, Summary, whole_summary
from dataenvgym.episodes.warning_log import read_warnings
from dataenvgym.errors import WorkerLostError
from dataenvgym.executors.interface import Episode, EpisodeOutcome, build_episode
from dataenvgym.executors.worker import CallbackMessage, CarriedError, Order, WorkerContext
from dataenvgym.progress import ProgressMessage
from dataenvgym.run_warnings import listening
from dataenvgym.storage import remove_temporaries, write_json

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


Message = CallbackMessage | Summary | CarriedError | Lost
"""Messages of a worker; each kind except `CallbackMessage` is its last one."""


class Workers(Protocol[_Worker]):
    """Processes that run orders."""

    def start(self, order: Order) -> _Worker: ...

    def listen(self) -> Iterator[tuple[_Worker, Message]]:
        """Wait until there are messages, and return them."""
        ...

    def interrupt(self, worker: _Worker) -> None:
        """Ask the worker to end; it sends nothing from then on."""
        ...

    def end(self, worker: _Worker, patience: float) -> None:
        """Wait until the worker has ended; kill it after `patience` seconds."""
        ...


def drive(
    episodes: Sequence[Episode],
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

    def __init__(self, episode: Episode, *, opens: bool = True, max_losses: int = 0) -> None:
        self.directory = episode.directory
        self.outcome: EpisodeOutcome | None = None
        self._episode = episode
        self._opens = opens
        self._max_losses = max_losses
        self._losses = 0
        self._open = ExitStack()
        self._plan: EpisodePlan | None = None
        self._started: list[EpisodeCallback] = []
        self._n_announced = 0
        self._has_ended = False

    def open(self) -> None:
        """Check the configuration; only if it works, lock and open the run directory."""
        config = self._episode.config
        with listening(lambda text: None):  # the worker builds it again, and warns then
            build_episode(config, self.directory)
        self._open.enter_context(open_run(config, fresh=self._episode.fresh))

    def order(self) -> Order:
        """Make the order for a worker; the first call opens the run directory."""
        if self._opens and not self._losses:
            self.open()
        return Order(
            config=resolved_yaml(self._episode.config),
            fresh=self._episode.fresh,
            holder=self._hold() if self._opens else None,
            context=WorkerContext.here(),
        )

    def hear(self, message: Message) -> None:
        """Forward a message to the callbacks; raises the error that ends the episode."""
        match message:
            case CallbackMessage():
                self._hear_told(message)
            case CarriedError():
                raise message.error()
            case Lost():
                self._lose(message)
            case Summary():
                self._open.close()
                self.outcome = EpisodeOutcome(summary=message)

    def fail(self, error: BaseException) -> None:
        """Report the error in the run directory and to the callbacks, and release the directory."""
        self.outcome = EpisodeOutcome(error=error if isinstance(error, Exception) else None)
        with self._open:
            if self._plan is None or self._has_ended:
                return
            summary = self._failed_summary(self._plan, error)
            write_json(self.directory / "summary.json", summary.model_dump(mode="json"))
            EventLog(self.directory).on_end(summary)
            self._on_end(summary)

    def _hold(self) -> Path:
        """Create a file in the run directory that exists as long as the order is valid.

        It has the name of a temporary file, so `workspace.opened` and `_lose` remove it.
        """
        name = f".holder.{os.getpid()}-{uuid.uuid4().int}.tmp"
        holder = self.directory.absolute() / name
        holder.touch()
        self._open.callback(holder.unlink, missing_ok=True)
        return holder

    def _hear_told(self, told: CallbackMessage) -> None:
        match told.method:
            case "on_start":
                self._on_start(*told.arguments)
            case "on_iteration" if told.arguments[0].iteration < self._n_announced:
                pass  # a second worker repeats the messages of the first one
            case "on_end":
                self._on_end(*told.arguments)
            case str(method):
                self._n_announced += method == "on_iteration"
                for callback in self._started:
                    getattr(callback, method)(*told.arguments)

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
        for callback in self._started:
            callback.on_progress(message)

    def _on_start(self, plan: EpisodePlan) -> None:
        if self._plan is not None:
            return
        self._plan = plan
        for callback in self._episode.callbacks:
            self._started.append(callback)
            callback.on_start(plan)

    def _on_end(self, summary: Summary) -> None:
        """Notify every callback of the end, even if another one raises."""
        self._has_ended = True
        with ExitStack() as stack:
            for callback in self._started:
                stack.callback(callback.on_end, summary)

    def _failed_summary(self, plan: EpisodePlan, error: BaseException) -> Summary:
        status: Status = "interrupted" if isinstance(error, KeyboardInterrupt) else "failed"
        changes: dict[str, Any] = {
            "status": status,
            "error": described(error),
            "warnings": read_warnings(self.directory),
        }
        if (before := whole_summary(self.directory)) is not None:
            return before.model_copy(update=changes)
        return Summary(
            task=plan.task,
            agent=plan.agent,
            seed=plan.seed,
            iterations=(),
            best_iteration=0,
            **changes,
        )


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
                    for worker, message in self._workers.listen():
                        self._hear(worker, message)
        except BaseException as error:  # Ctrl-C, above all
            self._end(self._running, error)
            raise

    def _start(self, one: DrivenEpisode) -> None:
        try:
            self._running[self._workers.start(one.order())] = one
        except Exception as error:  # noqa: BLE001  an episode that cannot start fails alone
            one.fail(error)

    def _hear(self, worker: _Worker, message: Message) -> None:
        if (one := self._running.get(worker)) is None:
            return  # its episode has ended
        try:
            one.hear(message)
        except Exception as error:  # noqa: BLE001  a message that cannot be handled ends its episode alone
            self._end({worker: self._running.pop(worker)}, error)
            return
        if not isinstance(message, CallbackMessage):
            del self._running[worker]
            self._workers.end(worker, _PATIENCE)
        if isinstance(message, Lost):
            self._start(one)

    def _end(self, running: Mapping[_Worker, DrivenEpisode], error: BaseException) -> None:
        """End the workers, all at the same time, and report it in their run directories."""
        for worker in running:
            self._workers.interrupt(worker)
        deadline = time.monotonic() + _PATIENCE
        for worker, one in running.items():
            self._workers.end(worker, max(0.0, deadline - time.monotonic()))
            with suppress(Exception):  # from a callback: the first error counts
                one.fail(error)
