"""Runs episodes in this process: one after another, or several together.

Each episode of `TogetherExecutor` has a thread. Their trainings meet (see `trainers.meeting`): the
adapters of one base are trained in common steps, and the untouched student answers what several
episodes ask it once.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import as_completed
from contextlib import AbstractContextManager, ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from dataenvgym import events
from dataenvgym.errors import ConfigurationError, check_at_least
from dataenvgym.events import ContextThreadPool, hearing_warnings, interrupt, redact, warn_run
from dataenvgym.runs.config.building import check_stored
from dataenvgym.runs.config.run_directory import open_run
from dataenvgym.runs.episodes.callbacks import EpisodeCallback, EpisodePlan
from dataenvgym.runs.episodes.report import write_report
from dataenvgym.runs.episodes.runner import run_episode, teaching_of
from dataenvgym.storage import read_json
from dataenvgym.students.external.memory import free_memory
from dataenvgym.students.trainers.many import train_each
from dataenvgym.students.trainers.meeting import Meeting
from dataenvgym.studies.executors.interface import EpisodeJob, EpisodeOutcome, build_episode
from dataenvgym.tasks.adapted_task import task_of
from dataenvgym.tasks.rollouts import close_speakers


class InProcessExecutor:
    """The default executor: it needs no setup, and debuggers work."""

    def run(self, episodes: Sequence[EpisodeJob]) -> list[EpisodeOutcome]:
        return [
            run_here(episode, open_run(episode.config, fresh=episode.fresh)) for episode in episodes
        ]


def run_here(episode: EpisodeJob, opened: AbstractContextManager[object]) -> EpisodeOutcome:
    """Run one episode.

    Args:
        opened: locks the run directory. It is entered only after the configuration has been
            checked, so that a typo leaves no files.
    """
    config, directory = episode.config, episode.directory
    try:
        early = _EarlyWarnings()
        with events.secrets_apart(), ExitStack() as stack:
            with hearing_warnings(early.texts.append):
                environment, agent = build_episode(config, directory)
            stack.enter_context(opened)
            stack.enter_context(log_to(directory / "log.txt"))
            # the models that the task's environments ask were made with the task
            task = task_of(teaching_of(environment).task)
            stack.callback(close_speakers, task.others)
            summary = run_episode(
                environment,
                agent,
                iterations=config.episode.iterations,
                seed=config.seed,
                test_each=bool(config.episode.get("test_each")),
                callbacks=(*episode.callbacks, early),
                progress=False,
                lock=False,  # `opened` holds it
            )
            environment.close()
            write_report(directory)
            check_stored(teaching_of(environment).task, directory)
    except Exception as error:  # noqa: BLE001  the error is the outcome
        return EpisodeOutcome(error=error)
    return EpisodeOutcome(summary=summary)


class _EarlyWarnings(EpisodeCallback):
    """Collects warnings while an episode is built, and repeats them once its run has started."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def on_start(self, plan: EpisodePlan) -> None:
        for text in self.texts:
            warn_run(text)


_current: ContextVar[Path | None] = ContextVar("log", default=None)


@contextmanager
def log_to(path: Path) -> Iterator[None]:
    """Within the block, write the libraries' log messages to `path`, with tracebacks.

    Those of other episodes in this process are left out. The file is created with the first
    message.
    """
    handler = logging.FileHandler(path, encoding="utf-8", errors="backslashreplace", delay=True)
    handler.setLevel(logging.WARNING)
    handler.setFormatter(_Redacting("%(asctime)s %(name)s %(levelname)s: %(message)s"))
    handler.addFilter(lambda record: _current.get() in (None, path))
    logging.getLogger().addHandler(handler)
    token = _current.set(path)
    try:
        yield
    finally:
        _current.reset(token)
        logging.getLogger().removeHandler(handler)
        handler.close()


class _Redacting(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return redact(super().format(record))


class TogetherExecutor:
    """Runs `workers` episodes at the same time, and trains their adapters together.

    A training waits until every running episode waits for one, so an interrupted and resumed study
    may train other adapters together. An adapter is then the same up to rounding, and an answer
    between two almost equally likely tokens may differ. Undisturbed, the same call gives the same
    results, bit for bit.

    Args:
        workers: the number of episodes at a time. Each holds its student's adapter in memory.
        threads: CPU cores to compute on; None takes all.

    Raises:
        ConfigurationError: if a number is below 1.
    """

    def __init__(self, *, workers: int = 16, threads: int | None = None) -> None:
        check_at_least(1, workers=workers, threads=1 if threads is None else threads)
        self.workers = workers
        self.threads = threads or len(os.sched_getaffinity(0))

    def estimate(self, episodes: Sequence[EpisodeJob]) -> None:
        """Warn if the trainings of these episodes could need more memory than is free."""
        warn_of_memory(episodes, self.workers, self.threads)

    def run(self, episodes: Sequence[EpisodeJob]) -> list[EpisodeOutcome]:
        outcomes: list[EpisodeOutcome] = [EpisodeOutcome()] * len(episodes)
        self.estimate(episodes)
        waiting = iter(enumerate(episodes))
        lock = threading.RLock()
        members = min(self.workers, len(episodes))
        meeting = Meeting(members, threads=self.threads, train=train_each)

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
                    with meeting.attended(number):
                        outcomes[number] = run_here(own, opened)
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


def warn_of_memory(episodes: Sequence[EpisodeJob], workers: int, threads: int) -> None:
    """Warn if the trainings of episodes could need more memory than is free."""
    from dataenvgym.students.trainers.together import FULL

    found = [trainings for one in episodes if (trainings := _Memory.of(one.config)) is not None]
    if not found:
        return
    members = min(workers, len(found))
    bases = sum({one.student: one.base for one in found}.values())
    adapters = sum(sorted((one.adapter for one in found), reverse=True)[:members])
    # a group is full once its batches have this many tokens; the last to join may have more
    largest = max(found, key=lambda one: one.tokens * one.of_token)
    n_tokens = largest.tokens + (FULL * threads if members > 1 else 0)
    batches = 4 * n_tokens * largest.of_token
    needed, free = bases + adapters + batches, free_memory()
    if needed <= free:
        return
    rank = max(one.rank for one in found)
    warn_run(
        f"{members} episodes that train together need up to {needed / 1e9:.1f} GB of memory, and "
        f"{free / 1e9:.1f} GB are free: {bases / 1e9:.1f} GB for the student, {adapters / 1e9:.1f} "
        f"GB for adapters of rank {rank}, {batches / 1e9:.1f} GB for batches of up to "
        f"{largest.tokens} tokens. If the system ends the study, set executor.workers (now "
        f"{workers}), trainer.lora_rank, trainer.per_device_train_batch_size or trainer.cutoff_len "
        "lower"
    )


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
        from safetensors import safe_open

        from dataenvgym.students.predictors.in_process import resolve_student

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
