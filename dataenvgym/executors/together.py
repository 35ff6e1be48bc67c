"""Runs episodes in threads of this process; those with the same student train together.

Each episode has a thread. Their trainings meet (see `trainers.meeting`): the adapters of one base
are trained in common steps, and the untouched student answers what several episodes ask it once.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from concurrent.futures import as_completed
from typing import Any

from dataenvgym.config.run_directory import open_run
from dataenvgym.episodes.callbacks import EpisodeCallback
from dataenvgym.errors import check_at_least
from dataenvgym.executors.in_process import run_here
from dataenvgym.executors.interface import EpisodeJob, EpisodeOutcome
from dataenvgym.threads import ContextThreadPool, interrupt
from dataenvgym.trainers.many import train_each
from dataenvgym.trainers.meeting import Meeting


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

    def run(self, episodes: Sequence[EpisodeJob]) -> list[EpisodeOutcome]:
        outcomes: list[EpisodeOutcome] = [EpisodeOutcome()] * len(episodes)
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
