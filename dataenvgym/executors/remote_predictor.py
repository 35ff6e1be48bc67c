"""A student that lives in another process, and survives that process.

`RemotePredictor` is a predictor like any other; what is asked of it is done by a host (see
`predictor_host`), which it makes with `make_host`. It keeps what the student has learnt: when the
host is lost, a new one is made, given the adapter that was active, and asked again. So nothing is
lost, and no answer of an untaught student is mistaken for one of a taught student.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeVar

from dataenvgym.errors import ConfigurationError, PredictionError, PredictorLostError
from dataenvgym.executors.errors import CarriedError, Done, opened
from dataenvgym.executors.parcels import Parcel
from dataenvgym.executors.predictor_host import AT_ONCE, Host, HostLostError, PhaseTold
from dataenvgym.interfaces import Failure, Reply, SamplingParameters, TrainingRun
from dataenvgym.records import Conversation, TrainingDatum
from dataenvgym.storage import publishing

_T = TypeVar("_T")


class RemotePredictor:
    """Passes what it is asked on to a host, and files between there and here.

    It offers `describe` and `submit` if the student does.

    Args:
        make_host: makes a host with the untouched student.
        max_restarts: how often one call is asked again of a new host before it is given up.

    Raises:
        PredictorLostError: from any method, when a call has cost `max_restarts` + 1 hosts.
    """

    def __init__(self, make_host: Callable[[], Host], *, max_restarts: int = 3) -> None:
        if max_restarts < 0:
            raise ConfigurationError(f"max_restarts is {max_restarts}, expected 0 or more")
        self._make_host = make_host
        self._max_restarts = max_restarts
        self._host: Host | None = None
        self._loaded: tuple[str, Parcel] | None = None
        self._is_closed = False
        self._lock = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None
        offers: tuple[str, ...] = self._call("offers")
        if "describe" in offers:
            self.describe: Callable[[], Any] = lambda: self._call("describe")
        if "submit" in offers:
            self._pool = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="remote")
            self.submit = self._submit

    # --- the protocol ---

    def predict(
        self, conversations: Sequence[Conversation], sampling: SamplingParameters
    ) -> list[Reply | Failure]:
        """One reply or failure for each conversation, in their order."""
        replies: list[Reply | Failure] = self._call("predict", list(conversations), sampling)
        return replies

    def train(self, training_data: Sequence[TrainingDatum], run: TrainingRun) -> None:
        """Have the student trained over there; all files come to `run.directory`."""
        path = str(run.directory.resolve())

        def ask(host: Host) -> None:
            files = Parcel.of(run.directory)
            records = list(training_data)
            with ExitStack() as entered:
                phases: list[ExitStack] = []
                for told in host.narrate("train", path, records, run.seed, run.start, files):
                    match told:
                        case PhaseTold(event="begin"):
                            phases.append(entered.enter_context(ExitStack()))
                            phases[-1].enter_context(run.phase(told.phase))
                        case PhaseTold(files=Parcel() as left):
                            left.write(run.directory, root="")
                            phases.pop().close()
                        case Parcel():
                            told.write(run.directory, root="")
                        case Done() | CarriedError():
                            opened(told)

        self._ask(ask)
        adapter = run.directory / "adapter"
        self._loaded = (str(adapter.resolve()), Parcel.of(adapter))

    def save(self, path: Path) -> None:
        """Write what was learnt to the folder `path`."""
        files: Parcel = self._call("save")
        with publishing(path) as folder:
            files.write(folder, root="")

    def load(self, path: Path) -> None:
        """Have the student answer with what is in the folder `path`."""
        wanted = (str(path.resolve()), Parcel.of(path))
        self._call("load", *wanted)
        self._loaded = wanted

    def reset(self) -> None:
        """Be the untouched base student again."""
        self._call("reset")
        self._loaded = None

    def close(self) -> None:
        """End the host; nothing can be asked afterwards."""
        with self._lock:
            self._is_closed = True
            host, self._host = self._host, None
        if host is not None:
            host.close()
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)

    # --- hosts ---

    def _submit(
        self, conversation: Conversation, sampling: SamplingParameters
    ) -> Future[Reply | Failure]:
        assert self._pool is not None
        return self._pool.submit(self._call, "answer", conversation, sampling)

    def _call(self, method: str, *arguments: Any) -> Any:
        return self._ask(lambda host: host.call(method, *arguments))

    def _ask(self, question: Callable[[Host], _T]) -> _T:
        """What a host says to it, be it the second or third that is asked."""
        for _ in range(self._max_restarts + 1):
            host: Host | None = None
            try:
                host = self._current_host()
                return question(host)
            except HostLostError as error:
                loss = error
                self._forget(host)
        raise PredictorLostError(
            f"the student's process died {self._max_restarts + 1} times at the same work "
            f"({loss}); it may need more memory (smaller batches, fewer episodes at a time)"
        ) from loss

    def _current_host(self) -> Host:
        """The host with what the student has learnt; a new one if there is none."""
        with self._lock:
            if self._is_closed:
                raise PredictionError("the predictor is closed, so it answers no more")
            if self._host is None:
                self._host = self._new_host()
            return self._host

    def _new_host(self) -> Host:
        host = self._make_host()
        try:
            if self._loaded is not None:
                host.call("load", *self._loaded)
        except BaseException:
            host.close()
            raise
        return host

    def _forget(self, lost: Host | None) -> None:
        """Do without the lost host, unless another thread has seen to it already."""
        with self._lock:
            if lost is not None and self._host is lost:
                self._host = None
        if lost is not None:
            lost.close()
