"""Runs episodes on a Ray cluster, each as a task that writes its run directory.

    driver (this process)                       task, one for each episode
    opens and locks the run directories ------> runs the episode there, with its student
    notifies the callbacks <-- events.jsonl --  its events
                           <-- Ray -----------  its summary or error

The run directories must be on storage that all machines see. If the driver is killed, the same
command continues; tasks that still run end before the new driver writes (`WorkerRequest.holder`). A
task whose process is lost is replaced by another one, which continues from the run directory.
"""

from __future__ import annotations

import importlib
import logging
import os
import signal
import threading
import uuid
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import NonNegativeFloat, NonNegativeInt, PositiveInt

from dataenvgym.errors import ConfigurationError
from dataenvgym.runs.episodes.summary import Summary
from dataenvgym.studies.executors.episode_driver import End, Lost, drive
from dataenvgym.studies.executors.interface import EpisodeJob, EpisodeOutcome
from dataenvgym.studies.executors.worker import (
    CarriedError,
    WorkerContext,
    WorkerRequest,
    run_request,
)

_log = logging.getLogger(__name__)


def import_ray() -> Any:
    """The package `ray`; raises ConfigurationError if it is not installed."""
    try:
        import ray
    except ImportError as error:
        raise ConfigurationError(
            'executor=ray needs Ray, which is not installed: pip install "dataenvgym[ray]"'
        ) from error
    return ray


@contextmanager
def cluster(
    address: str | None, num_cpus: int | None, needs: Mapping[str, float]
) -> Iterator[None]:
    """Use the Ray that this process is connected to, or connect to one for the block.

    Args:
        address: of a cluster to join; None starts one here, unless RAY_ADDRESS names one.
        num_cpus: of a cluster that is started here; None takes all.
        needs: the CPUs and GPUs of an episode, by Ray's names for them.
    """
    ray = import_ray()
    if ray.is_initialized():
        yield
        return
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    with _raylet_messages_logged():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                with _own_signal_handlers():
                    ray.init(
                        address=address,
                        log_to_driver=False,
                        logging_level="error",
                        include_dashboard=None if address else False,
                        **({} if num_cpus is None else {"num_cpus": num_cpus}),
                    )
        except (ConnectionError, ValueError) as error:
            raise ConfigurationError(
                f"Ray cannot be reached or started (executor.address={address!r}): {error}"
            ) from error
        try:
            there = ray.cluster_resources()
            options = {"CPU": "cpus_per_episode", "GPU": "gpus_per_predictor"}
            for kind, needed in needs.items() if address is None else ():  # others may grow
                if needed > (has := there.get(kind, 0)):  # it would wait forever
                    raise ConfigurationError(
                        f"executor.{options[kind]} is {needed:g}, and the Ray cluster here has "
                        f"{has:g} {kind}s; ask for fewer"
                    )
            yield
        finally:
            ray.shutdown()


def refuse_unshared(directories: Iterable[Path], needs: Mapping[str, float]) -> None:
    """Refuse run directories that a machine of the cluster does not see.

    Writes a test file next to the directories, and lets each node with room for an episode look
    for it.

    Raises:
        ConfigurationError: names a directory and the nodes that do not see it.
    """
    ray = import_ray()
    nodes = [
        node
        for node in ray.nodes()
        if node["Alive"] and all(node["Resources"].get(k, 0) >= n for k, n in needs.items())
    ]
    parents = {directory.parent for directory in directories}
    folders = {next(p for p in (parent, *parent.parents) if p.is_dir()) for parent in parents}
    for folder in folders:
        probe = folder / f".dataenvgym-{uuid.uuid4().hex}.tmp"
        probe.touch()
        try:
            seen = ray.get([_look(ray, node["NodeID"], probe) for node in nodes])
        finally:
            probe.unlink(missing_ok=True)
        if blind := [
            f"{node['NodeManagerHostname']} ({node['NodeName']})"
            for node, sees in zip(nodes, seen, strict=True)
            if not sees
        ]:
            raise ConfigurationError(
                f"runs are to be written below {folder.absolute()}, which these machines of the "
                f"Ray cluster do not see: {', '.join(blind)}. Set runs_dir (for a study, "
                "--studies-dir) to a folder on storage that all machines share"
            )


def _look(ray: Any, node: str, probe: Path) -> Any:
    """Let a node look for the file; return a reference to its answer."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    there = NodeAffinitySchedulingStrategy(node, soft=False)
    task = ray.remote(_sees).options(num_cpus=0, scheduling_strategy=there)
    return task.remote(WorkerContext.here(), str(probe))


def _sees(context: WorkerContext, probe: str) -> bool:
    context.enter()
    return Path(probe).exists()


@contextmanager
def _own_signal_handlers() -> Iterator[None]:
    """Restore our signal handlers afterwards: Ray's abort on SIGTERM with a stack trace."""
    ours = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    if threading.current_thread() is threading.main_thread():
        for number, handler in ours.items():
            if callable(handler):
                signal.signal(number, handler)


@contextmanager
def _raylet_messages_logged() -> Iterator[None]:
    """Within the block, log what Ray's raylets report, such as a dead worker.

    Ray prints such messages to the standard output even with `log_to_driver=False`, and has no
    option to stop it. If a version of Ray lacks the function that we replace, it still prints.
    """
    worker: Any = importlib.import_module("ray._private.worker")
    printing = getattr(worker, "print_worker_logs", None)
    if printing is None:
        yield
        return
    worker.print_worker_logs = _log_lines
    try:
        yield
    finally:
        worker.print_worker_logs = printing


def _log_lines(data: dict[str, Any], *_: Any, **__: Any) -> None:
    for line in data.get("lines", ()):
        _log.warning("%s: %s", data.get("pid"), line)


_PATIENCE = 10.0  # seconds for a killed process to disappear


@dataclass(frozen=True, kw_only=True)
class RayExecutor:
    """Runs as many episodes at the same time as the cluster has room for.

    If this process is already connected to Ray, that cluster is used. Otherwise one is started here
    (or joined at `address`) during `run`.

    Args:
        address: of a cluster; None starts one on this machine, unless RAY_ADDRESS names one.
        num_cpus: of the cluster that is started here; None takes all.
        cpus_per_episode: CPUs for one episode and its student: the student's number of threads.
        gpus_per_predictor: GPUs for one student, which sees no others.
        max_restarts: the most times that an episode's lost process is replaced.

    Raises:
        ConfigurationError: for an impossible value, and from `run` if Ray is not installed, has no
            room for an episode, or has a machine that does not see the run directories.
    """

    address: str | None = None
    num_cpus: PositiveInt | None = None
    cpus_per_episode: NonNegativeFloat = 1
    gpus_per_predictor: NonNegativeFloat = 0
    max_restarts: NonNegativeInt = 3

    def __post_init__(self) -> None:
        if self.address is not None and self.num_cpus is not None:
            raise ConfigurationError(
                f"address is {self.address!r}, so an existing cluster is used; num_cpus is for a "
                "cluster that is started here, and has to be null"
            )

    def run(self, episodes: Sequence[EpisodeJob]) -> list[EpisodeOutcome]:
        needs = {"CPU": self.cpus_per_episode, "GPU": self.gpus_per_predictor}
        with cluster(self.address, self.num_cpus, needs):
            refuse_unshared([episode.directory for episode in episodes], needs)
            tasks = _Tasks(self.cpus_per_episode, self.gpus_per_predictor)
            return drive(episodes, tasks, opens=True, max_restarts=self.max_restarts)


class _Tasks:
    """The tasks of this driver, by Ray's references to their results."""

    def __init__(self, cpus: float, gpus: float) -> None:
        self._ray = import_ray()
        self._resources = {"num_cpus": cpus, "num_gpus": gpus}
        self._running: list[Any] = []

    def start(self, request: WorkerRequest) -> Any:
        # we replace a lost task ourselves: its leftovers in the run directory must be removed
        run = self._ray.remote(**self._resources, max_retries=0)(_run_task)
        self._running.append(task := run.remote(request))
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


def _run_task(request: WorkerRequest) -> Summary | CarriedError:
    """Run a request in this process."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # Ray cancels a task with SIGINT
    return run_request(request)
