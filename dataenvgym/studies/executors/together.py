"""Runs several episodes in threads of this process; they train together and share answers.

Each episode is a member of a `Meeting`, known to its student and trainer alone (`Meeting.joined`).
A training of a member waits until every member waits for one, so which trainings are together does
not depend on time. Then all waiting ones are trained (`train_each`), and each member continues when
its own has ended. What members ask the untouched student is computed once.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, as_completed, wait
from dataclasses import dataclass
from functools import partial
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from omegaconf import DictConfig, OmegaConf
from pydantic import PositiveInt
from safetensors import safe_open

from dataenvgym.errors import ConfigurationError
from dataenvgym.events import ContextThreadPool, interrupt, raise_if_cancelled, warn_run
from dataenvgym.interfaces import Failure, Reply, SamplingParameters, TrainablePredictorInterface
from dataenvgym.records import Conversation
from dataenvgym.runs.config.run_directory import open_run
from dataenvgym.runs.episodes.callbacks import EpisodeCallback
from dataenvgym.storage import read_json
from dataenvgym.students.external.memory import free_memory
from dataenvgym.students.predictors.in_process import OPTIONS, InProcessPredictor
from dataenvgym.students.predictors.learner import resolve_student
from dataenvgym.students.trainers.in_process import InProcessTrainer
from dataenvgym.studies.executors.in_process import run_here
from dataenvgym.studies.executors.interface import EpisodeJob, EpisodeOutcome

if TYPE_CHECKING:
    from dataenvgym.students.trainers.together import TrainingRequest

_T = TypeVar("_T")
_PERIOD = 0.2  # seconds between two looks whether the pool of this thread was cancelled


class TogetherExecutor:
    """Runs episodes in threads of this process; trains their adapters together on one base.

    A training waits until every running episode waits for one, so an interrupted and resumed study
    may train other adapters together. An adapter is then the same up to rounding, and an answer
    between two almost equally likely tokens may differ. Undisturbed, the same call gives the same
    results, bit for bit.

    Args:
        workers: the number of episodes at a time. Each holds its student's adapter in memory.
        threads: CPU cores to compute on; None takes all.
    """

    def __init__(self, *, workers: PositiveInt = 16, threads: PositiveInt | None = None) -> None:
        self.workers = workers
        self.threads = threads or len(os.sched_getaffinity(0))

    def estimate(self, episodes: Sequence[EpisodeJob]) -> None:
        """Warn if the trainings of these episodes could need more memory than is free."""
        from dataenvgym.students.trainers.together import FULL

        found = [trainings for one in episodes if (trainings := _Memory.of(one.config)) is not None]
        if not found:
            return
        members = min(self.workers, len(found))
        bases = sum({one.student: one.base for one in found}.values())
        adapters = sum(sorted((one.adapter for one in found), reverse=True)[:members])
        # a group is full once its batches have this many tokens; the last to join may have more
        largest = max(found, key=lambda one: one.tokens * one.of_token)
        n_tokens = largest.tokens + (FULL * self.threads if members > 1 else 0)
        batches = 4 * n_tokens * largest.of_token
        needed, free = bases + adapters + batches, free_memory()
        if needed <= free:
            return
        rank = max(one.rank for one in found)
        warn_run(
            f"{members} episodes that train together need up to {needed / 1e9:.1f} GB of memory, "
            f"and {free / 1e9:.1f} GB are free: {bases / 1e9:.1f} GB for the student, "
            f"{adapters / 1e9:.1f} GB for adapters of rank {rank}, {batches / 1e9:.1f} GB for "
            f"batches of up to {largest.tokens} tokens. If the system ends the study, set "
            f"executor.workers (now {self.workers}), trainer.lora_rank, "
            "trainer.per_device_train_batch_size or trainer.cutoff_len lower"
        )

    def run(self, episodes: Sequence[EpisodeJob]) -> list[EpisodeOutcome]:
        outcomes: list[EpisodeOutcome] = [EpisodeOutcome()] * len(episodes)
        self.estimate(episodes)
        waiting = iter(enumerate(episodes))
        lock = threading.RLock()
        members = min(self.workers, len(episodes))
        meeting = Meeting(members, self.threads)

        running: set[int] = set()  # threads

        def work() -> None:
            running.add(threading.get_ident())
            try:
                while True:
                    with lock:
                        number, episode = next(waiting, (-1, None))
                    if episode is None:
                        return
                    callbacks: Any = [_InTurn(callback, lock) for callback in episode.callbacks]
                    own = EpisodeJob(episode.config, callbacks, fresh=episode.fresh)
                    opened = open_run(episode.config, fresh=episode.fresh)
                    around = partial(meeting.joined, number)
                    outcomes[number] = run_here(own, opened, around)
            finally:
                running.discard(threading.get_ident())
                meeting.leave()

        with ContextThreadPool(members + 1, thread_name_prefix="episode") as pool:
            started = [pool.submit(work) for _ in range(members)]
            started.append(pool.submit(meeting.serve))
            try:
                for one in as_completed(started):
                    one.result()
            except BaseException:  # Ctrl-C, here or in an episode
                interrupt(running)
                raise
        return outcomes


class Meeting:
    """Members, what they wait for, and what they share.

    Args:
        members: how many will take part; each leaves in the end.
        threads: CPU cores to train and to answer on.
    """

    def __init__(self, members: int, threads: int) -> None:
        self._changed = threading.Condition()
        self._members = members
        self._waiting: dict[int, TrainingRequest] = {}
        self._threads = threads
        self._cores = threading.Semaphore(threads)
        self._shared: dict[str, Future[Any]] = {}

    def joined(
        self, number: int, student: TrainablePredictorInterface
    ) -> TrainablePredictorInterface:
        """The student as a member with that number, by which trainings are ordered.

        Users' own kinds of students and trainers answer and train alone.
        """
        joined: Any = student
        if type(joined) is InProcessPredictor:
            joined = _Student(joined, self)
        if type(trainer := getattr(joined, "trainer", None)) is InProcessTrainer:
            joined.trainer = _Trainer(trainer, self, number)
        return cast(TrainablePredictorInterface, joined)

    def leave(self) -> None:
        """One member fewer to wait for."""
        with self._changed:
            self._members -= 1
            self._changed.notify_all()

    def serve(self) -> None:
        """Train what members wait for, until all have left."""
        from dataenvgym.students.trainers.together import train_each

        while True:
            with self._changed:
                while len(self._waiting) < self._members:
                    raise_if_cancelled()
                    self._changed.wait(_PERIOD)
                if not self._members:
                    return
                waiting, self._waiting = self._waiting, {}
            requests = [request for _, request in sorted(waiting.items())]
            try:
                train_each(requests, self._threads)
            except BaseException as error:
                for request in requests:
                    if not request.done.done():
                        request.done.set_exception(error)
                if not isinstance(error, Exception):
                    raise

    def train(self, number: int, request: TrainingRequest) -> Path:
        """Wait until a member's training has ended; return the adapter's folder."""
        with self._changed:
            self._waiting[number] = request
            self._changed.notify_all()
        return _result(request.done)

    def once(self, key: str, compute: Callable[[], _T]) -> _T:
        """The result of `compute`, which is called once for each key."""
        with self._changed:
            is_first = key not in self._shared
            found = self._shared.setdefault(key, Future())
        if is_first:
            try:
                found.set_result(self.compute(compute))
            except BaseException as error:
                found.set_exception(error)
                with self._changed:  # the next one may be luckier
                    del self._shared[key]
                raise
        result: _T = _result(found)
        return result

    def compute(self, compute: Callable[[], _T]) -> _T:
        """The result of `compute`, once there is a core for it."""
        while not self._cores.acquire(timeout=_PERIOD):
            raise_if_cancelled()
        try:
            return compute()
        finally:
            self._cores.release()


def _result(future: Future[_T]) -> _T:
    while wait([future], _PERIOD).not_done:
        raise_if_cancelled()
    return future.result()


class _Trainer(InProcessTrainer):
    """The trainer of a member."""

    def __init__(self, own: InProcessTrainer, meeting: Meeting, number: int) -> None:
        vars(self).update(vars(own))
        self._meeting, self._number = meeting, number

    def train(self, config_path: Path) -> Path:
        from dataenvgym.students.trainers.together import TrainingRequest

        return self._meeting.train(self._number, TrainingRequest(self, config_path))


class _Student(InProcessPredictor):
    """The student of a member; a copy of it is not one."""

    def __init__(self, own: InProcessPredictor, meeting: Meeting) -> None:
        vars(self).update(vars(own))
        self._own, self._meeting = own, meeting

    def __reduce__(self) -> tuple[Any, ...]:
        return self._own.__reduce__()

    def predict(
        self, conversations: Sequence[Conversation], sampling: SamplingParameters
    ) -> list[Reply | Failure]:
        answer = partial(super().predict, conversations, sampling)
        if self.has_learned:
            return self._meeting.compute(answer)
        known = [self.student, *(getattr(self, name) for name in OPTIONS)]
        return list(self._meeting.once(repr((known, sampling, conversations)), answer))

    def describe(self) -> dict[str, Any]:
        return self._own.describe()


@dataclass(frozen=True)
class _Memory:
    """An estimate of the bytes that the trainings of one episode need, from the student's files.

    Attributes:
        base: the frozen weights, which episodes of one student share.
        adapter: the weights, with gradients, the optimizer's two moments, and copies for a pass.
        tokens: of a batch, if each record has `cutoff_len`.
        of_token: numbers that a pass keeps of each token for its backward half.
    """

    student: str
    rank: int
    base: int
    adapter: int
    tokens: int
    of_token: int

    @classmethod
    def of(cls, config: DictConfig) -> _Memory | None:
        """The estimate for a configuration; None if its adapters are not trained here on CPU."""
        trainer, name = config.trainer, OmegaConf.select(config, "predictor.student")
        is_ours = str(trainer.get("_target_")).endswith(".InProcessTrainer")
        if not is_ours or name is None or trainer.get("device") != "cpu":
            return None
        try:
            folder = Path(resolve_student(name))
        except ConfigurationError:  # its own episode says so
            return None
        shapes: list[Sequence[int]] = []
        for file in folder.glob("*.safetensors"):
            with safe_open(file, framework="np") as tensors:
                shapes += [tensors.get_slice(key).get_shape() for key in tensors.keys()]  # noqa: SIM118
        model = read_json(folder / "config.json") if (folder / "config.json").is_file() else {}
        n_layers, width = model.get("num_hidden_layers"), model.get("hidden_size")
        words, inner = model.get("vocab_size"), model.get("intermediate_size")
        if not shapes or not (n_layers and width and words and inner):
            return None
        matrices = [shape for shape in shapes if len(shape) == 2 and words not in shape]
        rank, size = int(trainer.lora_rank), int(trainer.per_device_train_batch_size)
        adapter = rank * sum(map(sum, matrices))
        of_token = n_layers * (8 * width + 2 * inner) + 3 * words
        base, tokens = sum(map(prod, shapes)), size * int(trainer.cutoff_len)
        return cls(str(folder), rank, 4 * base, 4 * 7 * adapter, tokens, of_token)


class _InTurn:
    """A callback that is called by one episode at a time."""

    def __init__(self, callback: EpisodeCallback, lock: threading.RLock) -> None:
        self._callback = callback
        self._lock = lock

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._callback, name)

        def call(*given: Any, **named: Any) -> Any:
            with self._lock:
                return method(*given, **named)

        return call
