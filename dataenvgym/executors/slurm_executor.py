"""Runs episodes as Slurm jobs, by submitit, each in its run directory.

    driver (this process, on a login node)      job, one for each episode
    opens and locks the run directories ------> runs the episode there, with its student
    notifies the callbacks <-- events.jsonl --  its events
                           <-- submitit -----  its summary or error

The run directories must be on storage that all machines see. A job that reaches its time limit is
queued again, and continues from the run directory; one that is lost is replaced by another. If the
driver is killed, the same command continues; jobs that still run end before the new driver writes
(`WorkerRequest.holder`).
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

from dataenvgym.episodes.summary import Summary
from dataenvgym.errors import ConfigurationError, check_at_least, check_one_of
from dataenvgym.executors.episode_driver import End, Lost, drive
from dataenvgym.executors.interface import EpisodeJob, EpisodeOutcome
from dataenvgym.executors.worker import CarriedError, WorkerRequest, run_request
from dataenvgym.external.processes import last_lines

Cluster = Literal["slurm", "local"]
_TIMEOUTS = 1_000_000  # after so many, submitit would raise an error in the middle of anything
_PATIENCE = 20.0  # seconds for a job at its time limit to be queued again, and to end


def import_submitit() -> Any:
    """The package `submitit`; raises ConfigurationError if it is not installed."""
    try:
        import submitit
    except ImportError as error:
        raise ConfigurationError(
            'executor=slurm needs submitit, which is not installed: pip install "dataenvgym[slurm]"'
        ) from error
    return submitit


class SlurmExecutor:
    """Runs each episode as a Slurm job; the driver waits for all of them.

    Args:
        timeout_min: the time limit of a job, in minutes.
        cpus_per_task: CPUs for one episode and its student.
        gpus_per_node: GPUs for one episode and its student.
        mem_gb: memory of a job; None leaves it to the cluster.
        partition: of the cluster; None takes its default.
        parameters: more of `sbatch`'s options by name, such as {"account": "mine", "qos": "low"}.
        at_once: the most jobs in the queue at a time; None submits all.
        max_restarts: how often a lost job is replaced. One that reached its time limit is queued
            again as often as it needs.
        folder: for the jobs' logs, on shared storage; None is `.jobs` beside the run directories.
        cluster: "slurm", or "local" to try it out without Slurm, in processes of this machine.

    Raises:
        ConfigurationError: for an impossible value, and from `run` without submitit or Slurm.
    """

    def __init__(
        self,
        *,
        timeout_min: int = 240,
        cpus_per_task: int = 1,
        gpus_per_node: int = 0,
        mem_gb: float | None = None,
        partition: str | None = None,
        parameters: Mapping[str, Any] | None = None,
        at_once: int | None = None,
        max_restarts: int = 3,
        folder: str | Path | None = None,
        cluster: Cluster = "slurm",
    ) -> None:
        check_one_of(get_args(Cluster), cluster=cluster)
        check_at_least(1, timeout_min=timeout_min, cpus_per_task=cpus_per_task)
        check_at_least(1, at_once=1 if at_once is None else at_once)
        check_at_least(
            0, gpus_per_node=gpus_per_node, max_restarts=max_restarts, mem_gb=mem_gb or 0
        )
        if partition is not None and "partition" in (parameters or {}):
            raise ConfigurationError(
                f"partition is {partition!r} and parameters has another one, expected one of them"
            )
        self.limits = {
            "timeout_min": timeout_min,
            "cpus_per_task": cpus_per_task,
            "gpus_per_node": gpus_per_node,
            **({} if mem_gb is None else {"mem_gb": mem_gb}),
        }
        own = {**({} if partition is None else {"partition": partition}), **(parameters or {})}
        self.parameters = own
        self.at_once = at_once
        self.max_restarts = max_restarts
        self.folder = None if folder is None else Path(folder)
        self.cluster = cluster

    def run(self, episodes: Sequence[EpisodeJob]) -> list[EpisodeOutcome]:
        if not episodes:
            return []
        folder = self.folder or episodes[0].directory.parent / ".jobs"
        submitit = import_submitit()
        if self.cluster == "slurm" and submitit.SlurmExecutor.affinity() < 0:
            raise ConfigurationError(
                "executor=slurm finds no Slurm here (no srun): start it on a login node of the "
                "cluster; executor.cluster=local tries it out without Slurm"
            )

        def queue() -> Any:  # makes the folder
            again = {"slurm_max_num_timeout": _TIMEOUTS} if self.cluster == "slurm" else {}
            made = submitit.AutoExecutor(
                folder=folder.absolute() / "%j", cluster=self.cluster, **again
            )
            own = {"slurm_additional_parameters": self.parameters} if again else {}
            made.update_parameters(name="dataenvgym", **self.limits, **own)
            return made

        return drive(
            episodes, _Jobs(queue), at_once=self.at_once, opens=True, max_restarts=self.max_restarts
        )


class _Jobs:
    """The jobs of this driver."""

    def __init__(self, make_queue: Callable[[], Any]) -> None:
        self._make_queue = make_queue
        self._queue: Any = None
        self._running: list[Any] = []

    def start(self, request: WorkerRequest) -> Any:
        self._queue = self._queue or self._make_queue()
        self._running.append(job := self._queue.submit(_Task(request)))
        return job

    def ended(self, seconds: float) -> Iterator[tuple[Any, End]]:
        time.sleep(seconds)
        for job in list(self._running):
            if job.done():
                self._running.remove(job)
                yield job, _end_of(job)

    def interrupt(self, job: Any) -> None:
        job.cancel(check=False)

    def end(self, job: Any, patience: float) -> None:
        deadline = time.monotonic() + patience
        while not job.done() and time.monotonic() < deadline:
            time.sleep(0.1)
        if not job.done():
            job.cancel(check=False)
        self._running = [other for other in self._running if other is not job]


class _Task:
    """The function of a job: runs the request. After a time limit, submitit queues it again."""

    def __init__(self, request: WorkerRequest) -> None:
        self.request = request

    def __call__(self) -> Summary | CarriedError:
        return run_request(self.request)

    def checkpoint(self) -> Any:
        from submitit.helpers import DelayedSubmission

        # submitit ends this process next; a thread that does not end would keep the job running
        end = threading.Timer(_PATIENCE, os._exit, (1,))
        end.daemon = True
        end.start()
        return DelayedSubmission(self)


def _end_of(job: Any) -> End:
    from submitit.core.utils import FailedJobError, UncompletedJobError

    try:
        end: End = job.result()
    except UncompletedJobError:
        said = last_lines(job.paths.stderr)
        return Lost(f"ended without a result ({job.state})", "" if said == "(no log)" else said)
    except FailedJobError as error:  # it could not even begin
        return CarriedError.of(error)
    return end
