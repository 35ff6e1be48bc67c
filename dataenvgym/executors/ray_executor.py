"""Episodes on the machines of a Ray cluster, each a task with its student in an actor.

    driver (this process)                    worker                           actor
    run directory -> EpisodeOrder ---------> episode in a temporary folder -> the student
    run directory <- files, events <-------- after every phase             <- adapters, replies

The driver alone writes run directories, so it may be killed at any time and the same command goes
on; a worker that dies is replaced by another one, which goes on from what the driver has; an actor
that dies is replaced by the worker (see `remote_predictor`).
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from dataenvgym.errors import ConfigurationError, WorkerLostError
from dataenvgym.executors.driving import DrivenEpisode
from dataenvgym.executors.errors import opened
from dataenvgym.executors.interface import Episode, Outcome
from dataenvgym.executors.ray_host import Surroundings
from dataenvgym.executors.ray_output import raylet_messages_logged
from dataenvgym.executors.ray_worker import EpisodeOrder, Told, run_order
from dataenvgym.progress import tell

_PATIENCE = 10.0  # seconds that a worker gets to clean up


class RayExecutor:
    """Runs episodes at the same time, as many as the cluster has room for.

    A Ray that this process is connected to already is used as it is. Otherwise one is started
    here (or joined, at `address`) for the length of `run`.

    Args:
        address: of a cluster; None starts one on this machine, unless RAY_ADDRESS names one.
        num_cpus, num_gpus: of the cluster that is started here; None is all that there are.
        cpus_per_episode: CPUs that one episode and its student are given, as many as the student
            has threads.
        gpus_per_predictor: GPUs that one student is given. It sees no others.
        max_restarts: how often a lost worker, or a student's process that is lost in one call, is
            replaced before the episode is given up.

    Raises:
        ConfigurationError: for a value that cannot be, and from `run` if Ray is not installed or
            has no room for an episode.
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
                f"address is {address!r}, so there is a cluster, and num_cpus and num_gpus, which "
                "are for one that is started here, have to be null"
            )
        numbers = {
            "num_cpus": (num_cpus, 1),
            "num_gpus": (num_gpus, 0),
            "cpus_per_episode": (cpus_per_episode, 0),
            "gpus_per_predictor": (gpus_per_predictor, 0),
            "max_restarts": (max_restarts, 0),
        }
        for name, (value, least) in numbers.items():
            if value is not None and value < least:
                raise ConfigurationError(f"{name} is {value}, expected {least} or more")
        self.address = address
        self.num_cpus = num_cpus
        self.num_gpus = num_gpus
        self.cpus_per_episode = cpus_per_episode
        self.gpus_per_predictor = gpus_per_predictor
        self.max_restarts = max_restarts

    def run(self, episodes: Sequence[Episode]) -> list[Outcome]:
        """Run all episodes to their end; one outcome for each, in their order.

        Raises:
            KeyboardInterrupt: after Ctrl-C here or in a worker; all episodes are then ended.
        """
        with self._cluster():
            running = [_RunningEpisode(self, episode) for episode in episodes]
            try:
                for one in running:
                    one.begin()
                while waiting := [one for one in running if one.outcome is None]:
                    _first_to_tell(waiting).listen()
            except BaseException as error:  # Ctrl-C, above all
                for one in running:
                    one.fail(error)
                raise
            finally:
                _wait_for_cleanup(running)
            return [one.outcome for one in running if one.outcome is not None]

    @contextmanager
    def _cluster(self) -> Iterator[None]:
        """The Ray that there is, or one for the time being."""
        ray = _ray()
        if ray.is_initialized():
            yield
            return
        with raylet_messages_logged():
            yield from self._started()

    def _started(self) -> Iterator[None]:
        """A Ray that is started or joined here, until the generator is resumed."""
        ray = _ray()
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        resources = {"num_cpus": self.num_cpus, "num_gpus": self.num_gpus}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                ray.init(
                    address=self.address,
                    log_to_driver=False,
                    logging_level="error",
                    include_dashboard=None if self.address else False,
                    **{name: value for name, value in resources.items() if value is not None},
                )
        except (ConnectionError, ValueError) as error:
            raise ConfigurationError(
                f"Ray cannot be reached or started (executor.address={self.address!r}): {error}"
            ) from error
        try:
            self._refuse_too_small(ray.cluster_resources())
            yield
        finally:
            ray.shutdown()

    def _refuse_too_small(self, resources: dict[str, float]) -> None:
        """An episode for which there is no room would wait for ever."""
        if self.address is not None:
            return  # a cluster may grow
        needs = {"CPU": self.cpus_per_episode, "GPU": self.gpus_per_predictor}
        names = {"CPU": "cpus_per_episode", "GPU": "gpus_per_predictor"}
        for kind, needed in needs.items():
            if needed > (there := resources.get(kind, 0)):
                raise ConfigurationError(
                    f"executor.{names[kind]} is {needed:g}, and the Ray cluster here has "
                    f"{there:g} {kind}s; ask for fewer, or set executor.num_{kind.lower()}s"
                )


class _RunningEpisode:
    """An episode, and the stream of what its worker tells."""

    def __init__(self, executor: RayExecutor, episode: Episode) -> None:
        self.outcome: Outcome | None = None
        self.stream: Any = None
        self._executor = executor
        self._driven = DrivenEpisode(episode)
        self._losses = 0

    def begin(self) -> None:
        """Open the run directory and hand the episode to a worker."""
        try:
            self._driven.open()
            self._start()
        except Exception as error:
            self.fail(error)

    def listen(self) -> None:
        """Take the next thing that the worker tells."""
        ray = _ray()
        try:
            try:
                told = ray.get(next(self.stream))
            except ray.exceptions.RayTaskError:
                raise
            except ray.exceptions.RayError as loss:
                self._replace_worker(loss)
                return
            if isinstance(told, Told):
                self._driven.take(told)
                return
            summary = opened(told)
            self._driven.finish()
            self.outcome = Outcome(summary=summary)
        except Exception as error:
            self.fail(error)

    def fail(self, error: BaseException) -> None:
        """End the episode, here and on its worker."""
        if self.outcome is not None:
            return
        if self.stream is not None:
            _cancel(self.stream)
        self.outcome = Outcome(error=error if isinstance(error, Exception) else None)
        self._driven.fail(error)

    def _start(self) -> None:
        options, driven = self._executor, self._driven
        order = EpisodeOrder(
            name=driven.directory.name,
            config=driven.config_text,
            files=driven.files(),
            surroundings=Surroundings.here(),
            gpus=options.gpus_per_predictor,
            max_restarts=options.max_restarts,
        )
        # a lost worker is replaced by us, to go on from where the run directory stands by then
        task = _ray().remote(run_order)
        task = task.options(
            num_cpus=options.cpus_per_episode, num_returns="streaming", max_retries=0
        )
        self.stream = task.remote(order)

    def _replace_worker(self, loss: Exception) -> None:
        self._losses += 1
        if self._losses > self._executor.max_restarts:
            raise WorkerLostError(
                f"the Ray worker of {self._driven.directory.name!r} died {self._losses} times, at "
                f"last with: {str(loss).partition(chr(10))[0]} The same command goes on"
            ) from loss
        tell(f"the Ray worker of {self._driven.directory.name!r} died: another one continues")
        self._start()


def _first_to_tell(running: Sequence[_RunningEpisode]) -> _RunningEpisode:
    """The first episode of which there is something to hear; waits for it."""
    (stream,), _ = _ray().wait([one.stream for one in running], num_returns=1)
    return next(one for one in running if one.stream is stream)


def _cancel(stream: Any) -> None:
    """Have the worker clean up and end; end it if it does not."""
    ray = _ray()
    ray.cancel(stream)
    _, busy = ray.wait([stream.completed()], timeout=_PATIENCE)
    if busy:
        ray.cancel(stream, force=True)


def _wait_for_cleanup(running: Sequence[_RunningEpisode]) -> None:
    """Give workers the time to end students and remove folders, before Ray is shut down."""
    if streams := [one.stream.completed() for one in running if one.stream is not None]:
        _ray().wait(streams, num_returns=len(streams), timeout=_PATIENCE)


def _ray() -> Any:
    try:
        import ray
    except ImportError as error:
        raise ConfigurationError(
            'executor=ray needs Ray, which is not installed: pip install "dataenvgym[ray]"'
        ) from error
    return ray
