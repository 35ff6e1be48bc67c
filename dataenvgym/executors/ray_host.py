"""A `PredictorHost` in a Ray actor, the line to it, and what it finds around it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dataenvgym.executors.errors import CarriedError, Done, opened
from dataenvgym.executors.predictor_host import AT_ONCE, HostLostError, PredictorHost


@dataclass(frozen=True)
class Surroundings:
    """What a process finds around it, taken over from the driver for the same results.

    Attributes:
        folder: the current one, to which relative paths in a configuration refer.
        paths: where Python looks for modules.
        omp_threads: the driver's OMP_NUM_THREADS, which Ray would set to the CPUs of the task.
    """

    folder: str
    paths: tuple[str, ...]
    omp_threads: str | None

    @classmethod
    def here(cls) -> Surroundings:
        paths = tuple(os.path.abspath(path) for path in sys.path)
        return cls(os.getcwd(), paths, os.environ.get("OMP_NUM_THREADS"))

    def enter(self) -> None:
        """Be there, for good; a folder that this machine does not have is left out."""
        sys.path += [p for p in self.paths if p not in sys.path and os.path.exists(p)]
        if self.omp_threads is None:
            os.environ.pop("OMP_NUM_THREADS", None)
        else:
            os.environ["OMP_NUM_THREADS"] = self.omp_threads
        if os.path.isdir(self.folder):
            os.chdir(self.folder)


class PredictorActor:
    """The process around a `PredictorHost`. Errors leave it as data."""

    def start(self, config: str, surroundings: Surroundings, folder: str) -> Done | CarriedError:
        """Make the student of that configuration."""
        from dataenvgym.config.building import build_predictor

        surroundings.enter()
        try:
            self._host = PredictorHost(lambda: build_predictor(_config(config)), Path(folder))
        except Exception as error:
            return CarriedError.of(error)
        return Done(None)

    def call(self, method: str, *arguments: Any) -> Done | CarriedError:
        try:
            return Done(getattr(self._host, method)(*arguments))
        except Exception as error:
            return self._host.carry(error)

    def narrate(self, method: str, *arguments: Any) -> Iterator[Any]:
        yield from getattr(self._host, method)(*arguments)


class RayHost:
    """A `PredictorHost` in a new Ray actor.

    Args:
        config: YAML text of the configuration whose predictor it holds.
        folder: for its files, on whichever machine it is.
        num_gpus: GPUs that it is given. Without any it computes beside whoever makes it, on the
            CPUs that were given there.
    """

    def __init__(
        self, config: str, surroundings: Surroundings, folder: Path, *, num_gpus: float
    ) -> None:
        import ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        # beside the calls, which come one after the other: what needs no turn
        remote: Any = ray.remote  # its types do not know this argument
        actor = remote(concurrency_groups={"aside": AT_ONCE})(PredictorActor)
        node = ray.get_runtime_context().get_node_id()
        beside = NodeAffinitySchedulingStrategy(node, soft=True)
        self._actor: Any = actor.options(
            num_cpus=0,
            num_gpus=num_gpus,
            max_restarts=0,
            scheduling_strategy="DEFAULT" if num_gpus else beside,
        ).remote()
        self._get(self._actor.start.remote(config, surroundings, str(folder)))

    def call(self, method: str, *arguments: Any) -> Any:
        ask = self._actor.call
        if method == "answer":
            ask = ask.options(concurrency_group="aside")
        return self._get(ask.remote(method, *arguments))

    def narrate(self, method: str, *arguments: Any) -> Iterator[Any]:
        import ray

        with _loss():
            for reference in self._actor.narrate.options(num_returns="streaming").remote(
                method, *arguments
            ):
                yield ray.get(reference)

    def close(self) -> None:
        import ray

        try:
            aside = self._actor.call.options(concurrency_group="aside")
            ray.get(aside.remote("close"), timeout=10)
        except ray.exceptions.RayError:
            pass  # it is gone already, or does not answer
        finally:
            ray.kill(self._actor)

    def _get(self, reference: Any) -> Any:
        import ray

        with _loss():
            reply = ray.get(reference)
        return opened(reply)


@contextmanager
def _loss() -> Iterator[None]:
    """Ray's errors about a process that is gone as `HostLostError`."""
    import ray

    try:
        yield
    except ray.exceptions.RayTaskError:
        raise
    except ray.exceptions.RayError as error:
        raise HostLostError(str(error).partition("\n")[0]) from error


def _config(text: str) -> Any:
    from omegaconf import OmegaConf

    return OmegaConf.create(text)
