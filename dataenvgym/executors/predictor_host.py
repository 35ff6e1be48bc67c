"""The far end of a `RemotePredictor`: the real student, in a process and a folder of its own.

`PredictorHost` does what it is asked to, files coming and going as parcels. It mirrors the paths
of whoever asks below its own `folder`, so that a training goes on from the adapter that was loaded
before, and so that what it names in its files can be told as the asker's paths again.
`Host` is the line to one; `ray_host` has that to one in a Ray actor.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from dataenvgym.executors.errors import CarriedError, Done
from dataenvgym.executors.narration import Tell, narrate
from dataenvgym.executors.parcels import FolderWatch, Parcel
from dataenvgym.interfaces import (
    Failure,
    Reply,
    SamplingParameters,
    TrainablePredictorInterface,
    TrainingRun,
)
from dataenvgym.records import Conversation, TrainingDatum

AT_ONCE = 256  # conversations that a predictor with `submit` is asked at the same time, at most


class HostLostError(Exception):
    """The process of the host is gone, with all that it knew."""


class Host(Protocol):
    """A line to a `PredictorHost`."""

    def call(self, method: str, *arguments: Any) -> Any:
        """What the method returns, or raises.

        Raises:
            HostLostError: if the process is gone.
        """
        ...

    def narrate(self, method: str, *arguments: Any) -> Iterator[Any]:
        """What the method tells, up to its `Done` or `CarriedError`; raises as `call`."""
        ...

    def close(self) -> None:
        """End the host."""
        ...


@dataclass(frozen=True)
class PhaseTold:
    """A phase of the training begins, or has ended and left these files."""

    event: Literal["begin", "end"]
    phase: str
    files: Parcel | None = None


class PredictorHost:
    """Holds the student that `make` makes.

    Args:
        folder: for its files; whatever an earlier one left there is removed.
    """

    def __init__(self, make: Callable[[], TrainablePredictorInterface], folder: Path) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        self.folder = folder.resolve()
        self._predictor: Any = make()

    def offers(self) -> tuple[str, ...]:
        """The methods beyond those of the protocol that the student has."""
        return tuple(n for n in ("describe", "submit") if callable(getattr(self._predictor, n, 0)))

    def describe(self) -> Any:
        return self._predictor.describe()

    def predict(
        self, conversations: Sequence[Conversation], sampling: SamplingParameters
    ) -> list[Reply | Failure]:
        return list(self._predictor.predict(conversations, sampling))

    def answer(self, conversation: Conversation, sampling: SamplingParameters) -> Reply | Failure:
        """One reply, through the student's `submit`."""
        reply: Reply | Failure = self._predictor.submit(conversation, sampling).result()
        return reply

    def train(
        self,
        path: str,
        records: Sequence[TrainingDatum],
        seed: int,
        start: Literal["base", "adapter"],
        files: Parcel,
    ) -> Iterator[PhaseTold | Parcel | Done | CarriedError]:
        """Train in the mirror of the asker's folder `path`, which holds `files`."""
        directory = self._unpacked(path, files)
        watch = FolderWatch(directory, root=self.folder)

        def work(tell: Tell) -> None:
            @contextmanager
            def phase(name: str) -> Iterator[None]:
                tell(PhaseTold("begin", name))
                yield
                tell(PhaseTold("end", name, watch.changes()))

            run = TrainingRun(directory=directory, seed=seed, start=start, phase=phase)
            self._predictor.train(records, run)
            tell(watch.changes())

        return narrate(work, self.carry)

    def save(self) -> Parcel:
        """What the student has learnt, as its `save` writes it."""
        folder = self.folder / ".saved"
        self._predictor.save(folder)
        return Parcel.of(folder, root=self.folder)

    def load(self, path: str, files: Parcel) -> None:
        """Take up the adapter of the asker's folder `path`."""
        self._predictor.load(self._unpacked(path, files))

    def reset(self) -> None:
        self._predictor.reset()

    def close(self) -> None:
        """Have the student stop what it has started, if it can, and remove the folder."""
        try:
            if callable(close := getattr(self._predictor, "close", None)):
                close()
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)

    def carry(self, error: BaseException) -> CarriedError:
        """The error with the asker's paths."""
        return CarriedError.of(error, root=str(self.folder))

    def _unpacked(self, path: str, files: Parcel) -> Path:
        mirror = self.folder / path.lstrip("/")
        shutil.rmtree(mirror, ignore_errors=True)
        mirror.mkdir(parents=True)
        files.write(mirror)
        return mirror
