"""Runs episodes as Slurm jobs, by submitit, each in its run directory.

    driver (this process, on a login node)      job, one for each episode
    opens and locks the run directories ------> runs the episode there, with its student
    notifies the callbacks <-- events.jsonl --  its events
                           <-- submitit -----  its summary or error

The run directories must be on storage that all machines see. A job that reaches its time limit is
queued again, and continues from the run directory; its episode fails if that does not bring it
forward. A job that is lost (cancelled, killed, failed to start) is replaced by another; `squeue`
shows it, so the cluster needs no accounting. If the driver is killed, the same command continues;
jobs that still run end before the new driver writes (`WorkerRequest.holder`).
"""

from __future__ import annotations

import logging
import os
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from pydantic import NonNegativeInt, PositiveInt

from dataenvgym.errors import ConfigurationError, WorkerLostError
from dataenvgym.runs.episodes.summary import Summary
from dataenvgym.students.external.processes import last_lines
from dataenvgym.studies.executors.episode_driver import End, Lost, drive
from dataenvgym.studies.executors.interface import EpisodeJob, EpisodeOutcome
from dataenvgym.studies.executors.worker import CarriedError, WorkerRequest, run_request

Cluster = Literal["slurm", "local"]
_TIMEOUTS = 1_000_000  # after so many, submitit would raise an error in the middle of anything
_PATIENCE = 20.0  # seconds for a job at its time limit to be queued again, and to end
_STANDSTILLS = 3  # time limits in a row without anything new, after which an episode fails
_POLL = 10.0  # seconds between two calls of squeue
_GONE = "no longer queued"
# states of jobs that Slurm does not start again
_ENDED = {
    "BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY",
    "PREEMPTED", "REVOKED", "TIMEOUT", _GONE,
}  # fmt: skip
_log = logging.getLogger(__name__)


class SlurmExecutor:
    """Runs each episode as a Slurm job; the driver waits for all of them.

    Args:
        timeout_min: the time limit of a job, in minutes.
        cpus_per_task: CPUs for one episode and its student.
        gpus_per_node: GPUs for one episode and its student.
        parameters: more of `sbatch`'s options by name, such as {"partition": "gpu", "mem": "32G"}.
        at_once: the most jobs in the queue at a time; None submits all.
        max_restarts: how often a lost job is replaced. One that reached its time limit is queued
            again as often as it needs, but not more than three times without a new file in its run
            directory.
        folder: for the jobs' logs, on shared storage; None is `.jobs` beside the run directories.
        cluster: "slurm", or "local" to try it out without Slurm, in processes of this machine.

    Raises:
        ConfigurationError: from `run`, without submitit or Slurm.
    """

    def __init__(
        self,
        *,
        timeout_min: PositiveInt = 240,
        cpus_per_task: PositiveInt = 1,
        gpus_per_node: NonNegativeInt = 0,
        parameters: Mapping[str, Any] | None = None,
        at_once: PositiveInt | None = None,
        max_restarts: NonNegativeInt = 3,
        folder: str | Path | None = None,
        cluster: Cluster = "slurm",
    ) -> None:
        self.limits = {
            "timeout_min": timeout_min,
            "cpus_per_task": cpus_per_task,
            "gpus_per_node": gpus_per_node,
        }
        self.parameters = dict(parameters or {})
        self.at_once = at_once
        self.max_restarts = max_restarts
        self.folder = None if folder is None else Path(folder)
        self.cluster = cluster

    def run(self, episodes: Sequence[EpisodeJob]) -> list[EpisodeOutcome]:
        if not episodes:
            return []
        folder = self.folder or episodes[0].directory.parent / ".jobs"
        try:
            import submitit
        except ImportError as error:
            raise ConfigurationError(
                "executor=slurm needs submitit, which is not installed: pip install "
                '"dataenvgym[slurm]"'
            ) from error
        if self.cluster == "slurm" and submitit.SlurmExecutor.affinity() < 0:
            raise ConfigurationError(
                "executor=slurm finds no Slurm here (no srun): start it on a login node of the "
                "cluster; executor.cluster=local tries it out without Slurm"
            )

        def queue() -> Any:  # makes the folder
            again = {f"{self.cluster}_max_num_timeout": _TIMEOUTS}
            made = submitit.AutoExecutor(folder.absolute() / "%j", self.cluster, **again)
            made.update_parameters(
                name="dataenvgym",
                slurm_additional_parameters=self.parameters,
                slurm_signal_delay_s=min(90, 20 * minutes),  # Slurm may send it a minute earlier
                **self.limits,
            )
            return made

        minutes = self.limits["timeout_min"]
        jobs = _Jobs(queue, minutes)
        return drive(
            episodes, jobs, at_once=self.at_once, opens=True, max_restarts=self.max_restarts
        )


class _Queue:
    """The jobs in Slurm's queue: takes the place of submitit's watcher, which needs accounting."""

    def __init__(self) -> None:
        self._states: dict[str, str] = {}
        self._n_ended = Counter[str]()  # answers in a row in which a job has ended
        self._next = 0.0
        self._answers = True

    def get_state(self, job_id: str, mode: str = "standard") -> str:
        return self._states.get(job_id, "UNKNOWN")

    def is_done(self, job_id: str, mode: str = "standard") -> bool:
        """True if the job had ended in two answers: its result may be seen later than its end."""
        if time.monotonic() >= self._next:
            self._ask()
            self._next = time.monotonic() + _POLL
        return self._n_ended[job_id] > 1

    def _ask(self) -> None:
        ask = ["squeue", "--noheader", f"--user={os.getuid()}", "--states=all", "--format=%i %T"]
        answer = subprocess.run(ask, capture_output=True, text=True, check=False)
        answered, self._answers = self._answers, answer.returncode == 0
        if not self._answers:
            if answered:
                _log.warning("squeue fails, lost jobs are noticed later: %s", answer.stderr.strip())
            return
        found = {w[0]: w[1] for w in map(str.split, answer.stdout.splitlines()) if len(w) == 2}
        for job_id in {*self._states, *found}:
            self._states[job_id] = found.get(job_id, _GONE)
            has_ended = self._states[job_id] in _ENDED
            self._n_ended[job_id] = self._n_ended[job_id] + 1 if has_ended else 0


class _Jobs:
    """The jobs of this driver."""

    def __init__(self, make_queue: Callable[[], Any], minutes: float) -> None:
        self._make_queue = make_queue
        self._minutes = minutes
        self._watcher = _Queue()
        self._queue: Any = None
        self._running: list[Any] = []

    def start(self, request: WorkerRequest) -> Any:
        self._queue = self._queue or self._make_queue()
        self._running.append(job := self._queue.submit(_Task(request, self._minutes)))
        job.watcher = self._watcher  # not asked by jobs without Slurm
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


@dataclass(frozen=True)
class _Task:
    """The function of a job: runs the request. After a time limit, submitit queues it again.

    Attributes:
        minutes: the time limit.
        files: of the run directory, at the last time limit.
        standstills: the number of time limits in a row without a new file.
    """

    request: WorkerRequest
    minutes: float
    files: frozenset[str] = frozenset()
    standstills: int = 0

    def __call__(self) -> Summary | CarriedError:
        if self.standstills < _STANDSTILLS:
            return run_request(self.request)
        limit = f"time limit (executor.timeout_min is {self.minutes}); raise it to continue"
        said = f"{self.standstills} jobs in a row finished no phase before their {limit}"
        return CarriedError.of(WorkerLostError(said))

    def checkpoint(self) -> Any:
        from submitit.helpers import DelayedSubmission

        # submitit ends this process next; a thread that does not end would keep the job running
        end = threading.Timer(_PATIENCE, os._exit, (1,))
        end.daemon = True
        end.start()
        assert self.request.holder is not None
        below = self.request.holder.parent
        found = (f"/{path.relative_to(below)}" for path in below.rglob("*"))
        files = self.files.union(name for name in found if "/." not in name)
        standstills = self.standstills + 1 if files == self.files else 0
        return DelayedSubmission(replace(self, files=files, standstills=standstills))


def _end_of(job: Any) -> End:
    from submitit.core.utils import FailedJobError

    if not job.paths.result_pickle.exists():
        said = last_lines(job.paths.stderr)
        return Lost(f"ended without a result ({job.state})", "" if said == "(no log)" else said)
    try:
        end: End = job.result()
    except FailedJobError as error:  # it could not even begin
        return CarriedError.of(error)
    return end
