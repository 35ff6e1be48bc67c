"""Finds or starts the Ray cluster for episodes, and checks its size and shared storage."""

from __future__ import annotations

import importlib
import logging
import os
import signal
import threading
import uuid
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dataenvgym.errors import ConfigurationError
from dataenvgym.executors.worker import WorkerContext

_log = logging.getLogger(__name__)


def import_ray() -> Any:
    """The package `ray`; raises ConfigurationError if it is not installed."""
    try:
        import ray
        import ray.util.queue
    except ImportError as error:
        raise ConfigurationError(
            'executor=ray needs Ray, which is not installed: pip install "dataenvgym[ray]"'
        ) from error
    return ray


@contextmanager
def cluster(
    address: str | None, own: Mapping[str, int | None], needs: Mapping[str, float]
) -> Iterator[None]:
    """Use the Ray that this process is connected to, or connect to one for the block.

    Args:
        address: of a cluster to join; None starts one here, unless RAY_ADDRESS names one.
        own: `num_cpus` and `num_gpus` of a cluster that is started here; None takes all.
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
                        **{name: value for name, value in own.items() if value is not None},
                    )
        except (ConnectionError, ValueError) as error:
            raise ConfigurationError(
                f"Ray cannot be reached or started (executor.address={address!r}): {error}"
            ) from error
        try:
            if address is None:  # a cluster may grow
                refuse_too_small(ray.cluster_resources(), needs)
            yield
        finally:
            ray.shutdown()


def refuse_too_small(there: Mapping[str, float], needs: Mapping[str, float]) -> None:
    """Refuse an episode that needs more than the cluster has: it would wait forever."""
    options = {"CPU": "cpus_per_episode", "GPU": "gpus_per_predictor"}
    for kind, needed in needs.items():
        if needed > (has := there.get(kind, 0)):
            raise ConfigurationError(
                f"executor.{options[kind]} is {needed:g}, and the Ray cluster here has "
                f"{has:g} {kind}s; ask for fewer, or set executor.num_{kind.lower()}s"
            )


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
    for folder in {_existing(directory.parent) for directory in directories}:
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


def _existing(folder: Path) -> Path:
    """The folder, or its nearest existing parent; a relative path stays relative."""
    while not folder.is_dir():
        folder = folder.parent
    return folder


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
