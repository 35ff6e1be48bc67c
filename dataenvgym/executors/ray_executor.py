"""Runs episodes on a Ray cluster, each as a task that writes its run directory.

    driver (this process)                       task, one for each episode
    opens and locks the run directories ------> runs the episode there, with its student
    notifies the callbacks <-- events.jsonl --  its events
                           <-- Ray -----------  its summary or error

The run directories must be on storage that all machines see. If the driver is killed, the same
command continues; tasks that still run end before the new driver writes (`worker.Order.holder`). A
task whose process is lost is replaced by another one, which continues from the run directory.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from typing import Any

from dataenvgym.episodes.summary import Summary
from dataenvgym.errors import ConfigurationError, check_at_least
from dataenvgym.executors.driving import End, Lost, drive
from dataenvgym.executors.interface import Episode, EpisodeOutcome
from dataenvgym.executors.ray_cluster import cluster, import_ray, refuse_unshared
from dataenvgym.executors.worker import CarriedError, Order, run_order

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
            return drive(episodes, tasks, opens=True, max_restarts=self.max_restarts)


class _Tasks:
    """The tasks of this driver, by Ray's references to their results."""

    def __init__(self, cpus: float, gpus: float) -> None:
        self._ray = import_ray()
        self._resources = {"num_cpus": cpus, "num_gpus": gpus}
        self._running: list[Any] = []

    def start(self, order: Order) -> Any:
        # we replace a lost task ourselves: its leftovers in the run directory must be removed
        run = self._ray.remote(**self._resources, max_retries=0)(_run_task)
        self._running.append(task := run.remote(order))
        return task

    def ended(self, seconds: float) -> Iterator[tuple[Any, End]]:
        for task in self._ray.wait(self._running, timeout=seconds)[0]:
            self._running.remove(task)
            yield task, self._end_of(task)

    def interrupt(self, task: Any) -> None:
        self._ray.cancel(task)

    def end(self, task: Any, patience: float) -> None:
        if task in self._running:
            self._running.remove(task)
        _, busy = self._ray.wait([task], timeout=patience)
        if busy:
            self._ray.cancel(task, force=True)
            self._ray.wait([task], timeout=_PATIENCE)

    def _end_of(self, task: Any) -> End:
        try:
            end: End = self._ray.get(task)
        except self._ray.exceptions.RayTaskError as error:  # it could not even begin
            return CarriedError.of(error.cause)
        except self._ray.exceptions.RayError as loss:
            return Lost(f"was lost: {str(loss).partition(chr(10))[0]}")
        return end


def _run_task(order: Order) -> Summary | CarriedError:
    """Run an order in this process."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # Ray cancels a task with SIGINT
    return run_order(order)
