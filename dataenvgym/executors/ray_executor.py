"""Runs episodes on a Ray cluster, each as a task that writes its run directory.

    driver (this process)                       task, one for each episode
    opens and locks the run directories ------> runs the episode there, with its student
    notifies the callbacks <----- queue ------  its events, and its summary or error

The run directories must be on storage that all machines see. If the driver is killed, the same
command continues; tasks that still run end before the new driver writes (`worker.Order.holder`). A
task whose process is lost is replaced by another one, which continues from the run directory.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from dataenvgym.errors import ConfigurationError, check_at_least
from dataenvgym.executors.driving import Lost, Message, drive
from dataenvgym.executors.interface import Episode, EpisodeOutcome
from dataenvgym.executors.ray_cluster import cluster, import_ray, refuse_unshared
from dataenvgym.executors.worker import CallbackMessage, CarriedError, Order, run_order

_PATIENCE = 10.0  # seconds for a killed process to disappear


class RayExecutor:
    """Runs as many episodes at the same time as the cluster has room for.

    If this process is already connected to Ray, that cluster is used. Otherwise one is started here
    (or joined at `address`) during `run`.

    Args:
        address: of a cluster; None starts one on this machine, unless RAY_ADDRESS names one.
        num_cpus, num_gpus: of the cluster that is started here; None takes all.
        cpus_per_episode: CPUs for one episode and its student: the student's number of threads.
        gpus_per_predictor: GPUs for one student, which sees no others.
        max_restarts: the most times that an episode's lost process is replaced.

    Raises:
        ConfigurationError: for an impossible value, and from `run` if Ray is not installed, has no
            room for an episode, or has a machine that does not see the run directories.
    """

    def __init__(
        self,
        *,
        address: str | None = None,
        num_cpus: int | None = None,
        num_gpus: int | None = None,
        cpus_per_episode: float = 1,
        gpus_per_predictor: float = 0,
        max_restarts: int = 3,
    ) -> None:
        if address is not None and (num_cpus is not None or num_gpus is not None):
            raise ConfigurationError(
                f"address is {address!r}, so an existing cluster is used; num_cpus and num_gpus "
                "are for a cluster that is started here, and have to be null"
            )
        check_at_least(1, num_cpus=1 if num_cpus is None else num_cpus)
        check_at_least(
            0,
            num_gpus=num_gpus or 0,
            cpus_per_episode=cpus_per_episode,
            gpus_per_predictor=gpus_per_predictor,
            max_restarts=max_restarts,
        )
        self.address = address
        self.num_cpus = num_cpus
        self.num_gpus = num_gpus
        self.cpus_per_episode = cpus_per_episode
        self.gpus_per_predictor = gpus_per_predictor
        self.max_restarts = max_restarts

    def run(self, episodes: Sequence[Episode]) -> list[EpisodeOutcome]:
        """Run all episodes to their end; return one outcome for each, in order.

        Raises:
            ConfigurationError: see above; nothing has started then.
            KeyboardInterrupt: after Ctrl-C here or in a task; all episodes have ended then.
        """
        own = {"num_cpus": self.num_cpus, "num_gpus": self.num_gpus}
        needs = {"CPU": self.cpus_per_episode, "GPU": self.gpus_per_predictor}
        with cluster(self.address, own, needs):
            refuse_unshared([episode.directory for episode in episodes], needs)
            tasks = _Tasks(self.cpus_per_episode, self.gpus_per_predictor)
            try:
                return drive(episodes, tasks, opens=True, max_restarts=self.max_restarts)
            finally:
                tasks.close()


@dataclass(frozen=True)
class _Task:
    """A Ray task that runs an order: its number, and Ray's reference to its result."""

    number: int
    reference: Any


class _Tasks:
    """The tasks of this driver, and the queue for their messages."""

    def __init__(self, cpus: float, gpus: float) -> None:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        self._ray = import_ray()
        self._resources = {"num_cpus": cpus, "num_gpus": gpus}
        node = self._ray.get_runtime_context().get_node_id()
        here = NodeAffinitySchedulingStrategy(node, soft=True)
        options = {"num_cpus": 0, "scheduling_strategy": here}
        self._queue = self._ray.util.queue.Queue(actor_options=options)
        self._next: Any = None  # reference to the queue's next item
        self._started: list[_Task] = []
        self._running: dict[Any, _Task] = {}

    def start(self, order: Order) -> _Task:
        number = len(self._started)
        # we replace a lost task ourselves: its leftovers in the run directory must be removed
        run = self._ray.remote(**self._resources, max_retries=0)(_run_task)
        task = _Task(number, run.remote(order, number, self._queue))
        self._started.append(task)
        self._running[task.reference] = task
        return task

    def listen(self) -> Iterator[tuple[_Task, Message]]:
        if self._next is None:
            self._next = self._queue.actor.get.remote()
        (first,), _ = self._ray.wait([self._next, *self._running])
        if first is self._next:
            self._next = None
            number, message = self._ray.get(first)
            yield self._started[number], message
        elif (ended := self._end_of(task := self._running.pop(first))) is not None:
            yield task, ended

    def interrupt(self, task: _Task) -> None:
        self._ray.cancel(task.reference)

    def end(self, task: _Task, patience: float) -> None:
        self._running.pop(task.reference, None)  # not there if it is lost
        _, busy = self._ray.wait([task.reference], timeout=patience)
        if busy:
            self._ray.cancel(task.reference, force=True)
            self._ray.wait([task.reference], timeout=_PATIENCE)

    def close(self) -> None:
        """Remove the queue."""
        self._queue.shutdown(force=True)

    def _end_of(self, task: _Task) -> CarriedError | Lost | None:
        """How a task ended; None if its last message is in the queue."""
        exceptions = self._ray.exceptions
        try:
            self._ray.get(task.reference)
        except exceptions.RayTaskError as error:  # it could not even begin
            return CarriedError.of(error.cause)
        except exceptions.RayError as loss:
            return Lost(f"was lost: {str(loss).partition(chr(10))[0]}")
        return None


def _run_task(order: Order, number: int, queue: Any) -> None:
    """Run an order in this process, and put its messages into the queue."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # Ray cancels a task with SIGINT

    def tell(message: CallbackMessage) -> None:
        queue.put((number, message))

    queue.put((number, run_order(order, tell)))
