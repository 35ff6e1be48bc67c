"""Episodes in threads of one process that train together and share the untouched student's answers.

A training of a member waits until every member waits for one, so which trainings are together does
not depend on time. Then all waiting ones are trained (see `many.train_each`), and each member
goes on as soon as its own have ended. What a member asks the untouched student is computed once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager
from contextvars import Context, ContextVar, copy_context
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from dataenvgym.events import raise_if_cancelled

if TYPE_CHECKING:
    from dataenvgym.students.trainers.in_process import InProcessTrainer

_T = TypeVar("_T")
_PERIOD = 0.2  # seconds between two looks whether the pool of this thread was cancelled


@dataclass(frozen=True)
class TrainingRequest:
    """A training to take part in `train_each`.

    Attributes:
        config_path: its YAML file, as for `InProcessTrainer.train`.
        context: the context of the episode that sees its warnings and progress.
        done: gets the adapter's folder, or the error, as soon as the training has ended.
    """

    trainer: InProcessTrainer
    config_path: Path
    context: Context = field(default_factory=copy_context)
    done: Future[Path] = field(default_factory=Future)


class Meeting:
    """Members, what they wait for, and what they share.

    Args:
        members: how many will take part; each leaves in the end.
        threads: CPU cores to train and to answer on.
        train: does all trainings, on that many threads.
    """

    def __init__(
        self,
        members: int,
        *,
        threads: int,
        train: Callable[[Sequence[TrainingRequest], int], None],
    ) -> None:
        self._changed = threading.Condition()
        self._members = members
        self._waiting: dict[int, Sequence[TrainingRequest]] = {}
        self._threads = threads
        self._train = train
        self._cores = threading.Semaphore(threads)
        self._shared: dict[str, Future[Any]] = {}

    @contextmanager
    def attended(self, number: int) -> Iterator[None]:
        """Let this context be a member with that number, by which trainings are ordered."""
        token = _HERE.set((self, number))
        try:
            yield
        finally:
            _HERE.reset(token)

    def leave(self) -> None:
        """One member fewer to wait for."""
        with self._changed:
            self._members -= 1
            self._changed.notify_all()

    def serve(self) -> None:
        """Train what members wait for, until all have left."""
        while True:
            with self._changed:
                while len(self._waiting) < self._members:
                    raise_if_cancelled()
                    self._changed.wait(_PERIOD)
                if not self._members:
                    return
                waiting, self._waiting = self._waiting, {}
            requests = [request for _, own in sorted(waiting.items()) for request in own]
            try:
                self._train(requests, self._threads)
            except BaseException as error:
                for request in requests:
                    if not request.done.done():
                        request.done.set_exception(error)
                if not isinstance(error, Exception):
                    raise

    def train(self, number: int, requests: Sequence[TrainingRequest]) -> None:
        """Wait until a member's trainings have ended."""
        with self._changed:
            self._waiting[number] = requests
            self._changed.notify_all()
        _wait(*(request.done for request in requests))

    def once(self, key: str, compute: Callable[[], _T]) -> _T:
        """The result of `compute`, which is called once for each key."""
        with self._changed:
            found = self._shared.get(key)
            is_first = found is None
            if found is None:
                found = self._shared[key] = Future()
        if is_first:
            try:
                found.set_result(self.compute(compute))
            except BaseException as error:
                found.set_exception(error)
                with self._changed:  # the next one may be luckier
                    del self._shared[key]
                raise
        _wait(found)
        result: _T = found.result()
        return result

    def compute(self, compute: Callable[[], _T]) -> _T:
        """The result of `compute`, once there is a core for it."""
        while not self._cores.acquire(timeout=_PERIOD):
            raise_if_cancelled()
        try:
            return compute()
        finally:
            self._cores.release()


def _wait(*futures: Future[Any]) -> None:
    while wait(futures, _PERIOD).not_done:
        raise_if_cancelled()


_HERE: ContextVar[tuple[Meeting, int] | None] = ContextVar("meeting", default=None)


def train_here(requests: Sequence[TrainingRequest]) -> bool:
    """Train with the other members of this context's meeting; False if there is none."""
    if not requests:
        return True  # others wait for no one who has nothing to train
    if (here := _HERE.get()) is None:
        return False
    meeting, number = here
    meeting.train(number, requests)
    return True


def answer_here(compute: Callable[[], _T], key: Callable[[], str] | None) -> _T:
    """The result of `compute`; members of a meeting share those with equal keys."""
    if (here := _HERE.get()) is None:
        return compute()
    meeting, _ = here
    return meeting.compute(compute) if key is None else meeting.once(key(), compute)
