"""The queue of the adaptation server: requests that wait are trained and asked together.

    a request -> the queue -> adapters/ID, an inner loop -> answers/ID.json

The ID is the hash of the loop. So an equal request has the same answer, also from a server that was
killed and started anew, and is trained once: one that arrives while the other waits gets
the same answer, and one whose adapter was complete when the server was killed is only asked. An
adapter that was not complete is trained anew, from the untouched student. A request without a seed
has a new ID and a new seed each time, and its answer is not kept.
"""

from __future__ import annotations

import math
import threading
import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from secrets import randbelow
from typing import Any

from dataenvgym.adaptation.inner_loop import Adapted, InnerLoop, adapt
from dataenvgym.adaptation.requests import AdaptationRequest, answer_of
from dataenvgym.errors import InvalidInstanceError, PredictionError, ServerError, TrainingError
from dataenvgym.events import ContextThreadPool, warn_run, without_secrets
from dataenvgym.interfaces import TrainablePredictorInterface, can
from dataenvgym.storage import read_json, remove_folder, write_json
from dataenvgym.students.llama_factory import TrainingConfig
from dataenvgym.students.llama_factory.training_config import options_of, trainer_with
from dataenvgym.tasks.adapted_task import attemptable
from dataenvgym.tasks.base import Task
from dataenvgym.workspace import claim, opened

MOST_WAITING = 256
"""Largest number of requests that wait; more are refused."""
MOST_TOGETHER = 32
"""Largest number of requests that are answered together."""
MOST_STEPS = 100_000
"""Largest number of training steps of a request."""
MOST_TOKENS = 2**16
"""Largest number of tokens of a batch, with padding."""
MOST_BYTES = 64
"""Largest number of bytes of a text for each token that is learned of it (`cutoff_len`)."""
_ONCE = "once-"
"""Begins the ID of a request without a seed."""
_Future = Future[dict[str, Any]]


class RequestQueue:
    """Answers requests in a thread of its own, until it is closed; see `request_queue`.

    Args:
        task: puts and judges the questions.
        predictor: the student.
        directory: for adapters and answers; a folder for this task and student only.
    """

    def __init__(self, task: Task, predictor: TrainablePredictorInterface, directory: Path) -> None:
        self._task, self._predictor = attemptable(task), predictor
        self._answers, self._adapters = directory / "answers", directory / "adapters"
        self._lock = threading.Lock()
        self._waiting: list[InnerLoop] = []
        self._futures: dict[str, _Future] = {}
        self._refusal: str | None = None
        self._pool = ContextThreadPool(1, thread_name_prefix="adaptation")

    @property
    def n_waiting(self) -> int:
        """The number of requests without an answer."""
        return len(self._futures)

    def submit(self, fields: Any) -> _Future:
        """Accept a request; its answer, or why it failed, is in the future.

        Raises:
            InvalidInstanceError, ConfigurationError: for a bad request.
            ServerError: if no request is accepted now.
        """
        request = AdaptationRequest.read(fields)
        loop = self._loop(request)
        with self._lock:
            if self._refusal is not None:
                raise ServerError(self._refusal)
            if (shared := self._futures.get(loop.name)) is not None:
                return shared
            future: _Future = Future()
            if (file := self._answers / f"{loop.name}.json").exists():
                future.set_result(read_json(file))
                return future
            if len(self._futures) >= MOST_WAITING:
                raise ServerError(
                    f"{MOST_WAITING} requests are waiting, which is the most: send it again later"
                )
            future.set_running_or_notify_cancel()  # no client can cancel it
            self._futures[loop.name] = future
            self._waiting.append(loop)
            self._pool.submit(self._answer_waiting)
        return future

    def refuse_new(self, why: str = "the server is shutting down") -> None:
        """Refuse requests from now on; those that were accepted are answered."""
        with self._lock:
            self._refusal = self._refusal or why

    def cancel(self) -> None:
        """Refuse requests from now on, and also those that wait; what runs ends soon."""
        self.refuse_new()
        self._pool.shutdown(wait=False, cancel_futures=True)
        with self._lock:
            refused, self._waiting = self._waiting, []
        self._refuse(refused)

    def close(self) -> None:
        """Wait until all accepted requests have an answer."""
        self.refuse_new()
        self._pool.shutdown()

    def _loop(self, request: AdaptationRequest) -> InnerLoop:
        """The inner loop of a request; raises if it is a bad request."""
        completes = getattr(self._predictor, "format", "chat") == "completion"
        options = request.options()
        own: Any = getattr(self._predictor, "trainer", None)
        trainer = trainer_with(own, options) if options else None
        records = request.records(completes=completes)
        if own is not None:
            _refuse_long(request.train_sequences[: len(records)], options_of(trainer or own))
        loop = InnerLoop(
            name=f"{_ONCE}{uuid.uuid4().hex}",
            questions=request.problems(self._task.domain),
            records=records,
            seed=randbelow(2**32) if request.seed is None else request.seed,
            trainer=trainer,
        )
        return loop if request.seed is None else replace(loop, name=loop.content_hash(own))

    def _answer_waiting(self) -> None:
        """Answer the requests that wait, or as many as may be answered together."""
        with self._lock:
            group, self._waiting = self._waiting[:MOST_TOGETHER], self._waiting[MOST_TOGETHER:]
        if not group:
            return  # they were answered with others
        try:
            self._answer(group)
        except BaseException:
            self._refuse(group)
            raise

    def _answer(self, group: Sequence[InnerLoop]) -> None:
        try:
            found = adapt(self._task, self._predictor, group, self._adapters, retry_errors=True)
        except Exception as error:  # noqa: BLE001  the client gets it
            if len(group) > 1:  # only the request whose fault it is should fail
                for loop in group:
                    self._answer([loop])
                return
            self._end(group[0], error)
            return
        for loop, adapted in zip(group, found, strict=True):
            self._end(loop, self._kept(adapted))

    def _kept(self, adapted: Adapted) -> dict[str, Any] | Exception:
        """The answer; one that another try might change is not kept."""
        if adapted.error is not None:
            return TrainingError(adapted.error)
        if adapted.answers and all(answer.error for answer in adapted.answers):
            return PredictionError(f"no question could be scored: {adapted.answers[0].error}")
        answer = answer_of(adapted)
        if not (adapted.n_unscored or adapted.name.startswith(_ONCE)):
            write_json(self._answers / f"{adapted.name}.json", answer)
        return answer

    def _end(self, loop: InnerLoop, outcome: dict[str, Any] | Exception) -> None:
        if (self._adapters / loop.name).exists():
            remove_folder(self._adapters / loop.name)
        with self._lock:
            future = self._futures.pop(loop.name)
        if isinstance(outcome, Exception):
            warn_run(f"request {loop.name} failed: {outcome!r}")
            future.set_exception(outcome)
        else:
            future.set_result(outcome)

    def _refuse(self, loops: Sequence[InnerLoop]) -> None:
        for loop in loops:
            with self._lock:
                future = self._futures.pop(loop.name, None)
            if future is not None:
                future.set_exception(
                    ServerError("the server was stopped before there was an answer: send it again")
                )


def _refuse_long(texts: Sequence[str], config: TrainingConfig) -> None:
    size, cutoff = config.per_device_train_batch_size, config.cutoff_len
    batches = math.ceil(len(texts) / size)
    steps = config.num_train_epochs * math.ceil(batches / config.gradient_accumulation_steps)
    if config.max_steps > 0:
        steps = config.max_steps
    if steps > MOST_STEPS:
        raise InvalidInstanceError(
            f"the request takes {steps:.3g} training steps, expected {MOST_STEPS} at most: set "
            "finetune_epochs lower, or batch_size higher"
        )
    longest = max((len(text.encode()) for text in texts), default=0)  # a token has a byte or more
    if longest > (most := MOST_BYTES * cutoff):
        raise InvalidInstanceError(
            f"a text of train_sequences has {longest} bytes, expected {most} at most: divide it, "
            "or start the server with a larger trainer.cutoff_len"
        )
    if (tokens := min(size, len(texts)) * min(longest, cutoff)) > MOST_TOKENS:
        raise InvalidInstanceError(
            f"a batch of the request has up to {tokens} tokens, expected {MOST_TOKENS} at most: "
            "set batch_size lower, and gradient_accumulation_steps higher"
        )


@contextmanager
def opened_queue(
    task: Task, predictor: TrainablePredictorInterface, directory: Path
) -> Iterator[RequestQueue]:
    """A queue over a folder, which no other process uses meanwhile; at the end it is cancelled.

    Raises:
        RunDirectoryError: if another process uses it, or it has answers of another student.
    """
    with opened(directory):
        identity: dict[str, Any] = {"environment": "adaptation server", "instances": None}
        identity["task"] = attemptable(task).name
        if can(predictor, "describe"):
            identity["predictor"] = without_secrets(predictor.describe())
        claim(directory, identity, is_begun=any(directory.glob("answers/*")))
        for left in (directory / "adapters").glob(f"{_ONCE}*"):  # by a killed server
            remove_folder(left)
        queue = RequestQueue(task, predictor, directory)
        try:
            yield queue
        finally:
            queue.cancel()
            queue.close()
