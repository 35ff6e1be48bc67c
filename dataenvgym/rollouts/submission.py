"""Without rounds: each conversation goes on as soon as the reply to it is there."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from queue import SimpleQueue

from dataenvgym.interfaces import Failure, Reply, SamplingParameters
from dataenvgym.records import Conversation
from dataenvgym.rollouts.episode import InstanceEpisode
from dataenvgym.rollouts.faults import TO_THE_CALLER, checked, describe


class WithoutRounds:
    """An episode is either ready to go on, in the hands of a thread, or waiting for its reply.

    A thread takes an episode that is ready, steps it and asks for its next reply; a reply that
    arrives makes its episode ready. Nothing else passes between threads.
    """

    def __init__(
        self,
        submit: Callable[[Conversation, SamplingParameters], Future[Reply | Failure]],
        episodes: Sequence[InstanceEpisode],
        sampling: SamplingParameters,
    ) -> None:
        self._submit = submit
        self._episodes = episodes
        self._sampling = sampling
        self._ready: SimpleQueue[InstanceEpisode | None] = SimpleQueue()  # None: it is over
        self._asked: dict[InstanceEpisode, Future[Reply | Failure]] = {}
        self._lock = threading.Lock()
        self._n_live = len(episodes)
        self._over = False

    def run(self, pool: ThreadPoolExecutor, threads: int) -> None:
        """Bring all episodes to their end, or raise what is for the caller."""
        if not self._episodes:
            return
        for episode in self._episodes:
            self._ready.put(episode)
        workers = [pool.submit(self._work) for _ in range(threads)]
        try:
            for worker in workers:
                worker.result()
        finally:
            self._end()
            wait(workers)
            for future in self._asked.values():
                future.cancel()

    def _work(self) -> None:
        try:
            while (episode := self._ready.get()) is not None and not self._over:
                self._advance(episode)
        finally:
            self._end()

    def _end(self) -> None:
        """End this thread's work, and by that the next one's."""
        self._over = True
        self._ready.put(None)

    def _advance(self, episode: InstanceEpisode) -> None:
        if (future := self._asked.pop(episode, None)) is None:
            episode.begin()
        elif isinstance(reply := _reply(future, episode), Failure):
            episode.fail(reply.reason)
        else:
            episode.answer(reply)
        if episode.live and self._ask(episode):
            return  # it is another thread's now, which may have ended it already
        with self._lock:
            self._n_live -= 1
            if not self._n_live:
                self._end()

    def _ask(self, episode: InstanceEpisode) -> bool:
        """Whether its reply is on the way; if not, it has failed."""
        try:
            future = self._submit(episode.conversation, self._sampling)
        except TO_THE_CALLER:
            raise
        except Exception as error:
            episode.fail(describe("predictor", error, episode.instance))
            return False
        self._asked[episode] = future
        future.add_done_callback(lambda _: self._ready.put(episode))
        return True


def _reply(future: Future[Reply | Failure], episode: InstanceEpisode) -> Reply | Failure:
    try:
        reply = future.result()
    except TO_THE_CALLER:
        raise
    except Exception as error:
        return Failure(reason=describe("predictor", error, episode.instance))
    return checked(reply, "submit")
