"""A model that speaks in a rollout, the student or another one; its failures carry its name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from typing import Any

from dataenvgym.errors import PredictionError
from dataenvgym.interfaces import Failure, PredictorInterface, Reply, Submits
from dataenvgym.interfaces.expecting import expect
from dataenvgym.rollouts.faults import OF_ALL, STUDENT, TO_THE_CALLER, describe, is_outage
from dataenvgym.rollouts.instance_rollout import Rollout

_MOST_IN_VAIN = 3


class Speaker:
    """Asks a predictor for rollouts; an exception for one becomes a `Failure` under its name."""

    def __init__(self, name: str, predictor: PredictorInterface) -> None:
        expect(predictor, PredictorInterface, "the predictor" if name == STUDENT else name)
        self.name = name
        self._predictor = predictor
        self._submit = predictor.submit if isinstance(predictor, Submits) else None

    def submit(self, rollout: Rollout) -> Future[Reply | Failure] | Failure | None:
        """Ask for one reply without waiting for it; None if the predictor has only `predict`."""
        if self._submit is None:
            return None
        try:
            future = self._submit(rollout.ask.conversation, rollout.ask.sampling)
        except TO_THE_CALLER:
            raise
        except Exception as error:  # noqa: BLE001  attributed to the speaker
            return self._failure(error, rollout)
        if not isinstance(future, Future):
            raise PredictionError(
                f"{self._title}.submit returned {future!r}, expected a concurrent.futures.Future"
            )
        return future

    def result(self, future: Future[Reply | Failure], rollout: Rollout) -> Reply | Failure:
        """The result of `submit`."""
        try:
            reply = future.result()
        except TO_THE_CALLER:
            raise
        except Exception as error:  # noqa: BLE001  attributed to the speaker
            return self._failure(error, rollout)
        return self._checked(reply, "submit")

    def predict(self, chunk: Sequence[Rollout]) -> Sequence[Reply | Failure]:
        """One reply or failure for each rollout of a chunk; their asks have the same sampling.

        An exception does not fail all of them (see `_one_by_one`).
        """
        asked = [rollout.ask.conversation for rollout in chunk]
        try:
            found: Any = self._predictor.predict(asked, chunk[0].ask.sampling)
            replies = [*found] if isinstance(found, Iterable) else None
        except TO_THE_CALLER:
            raise
        except Exception as error:  # noqa: BLE001  attributed to the speaker
            reason = describe(self.name, error, chunk[0].instance, among=len(chunk))
            failure = Failure(reason=reason, outage=is_outage(error))
            if len(chunk) == 1 or isinstance(error, OF_ALL):
                return [failure] * len(chunk)
            return self._one_by_one(chunk, failure)
        if replies is None:
            raise PredictionError(
                f"{self._title}.predict gave {found!r:.80}, expected a list with one Reply or "
                f"Failure for each of {len(chunk)} conversations"
            )
        if len(replies) != len(chunk):
            raise PredictionError(
                f"{self._title}.predict returned {len(replies)} replies to {len(chunk)} "
                "conversations, expected one Reply or Failure for each"
            )
        return [self._checked(reply, "predict") for reply in replies]

    def _one_by_one(self, chunk: Sequence[Rollout], failure: Failure) -> Sequence[Reply | Failure]:
        """One reply or failure for each rollout of a chunk for which `predict` raised: `failure`.

        If the first `_MOST_IN_VAIN` fail as well, the others are not asked: the predictor fails for
        any conversation.
        """
        replies: list[Reply | Failure] = []
        for rollout in chunk:
            in_vain = len(replies) >= _MOST_IN_VAIN and all(isinstance(r, Failure) for r in replies)
            replies += [failure] if in_vain else self.predict([rollout])
        return replies

    def _checked(self, reply: Any, method: str) -> Reply | Failure:
        """Check that the result of the predictor's `method` is a reply or a failure."""
        if not isinstance(reply, Reply | Failure):
            raise PredictionError(
                f"{self._title}.{method} returned {reply!r}, expected a Reply or a Failure"
            )
        if isinstance(reply, Failure) and self.name != STUDENT:
            return Failure(reason=f"{self.name}: {reply.reason}", outage=reply.outage)
        return reply

    def _failure(self, error: Exception, rollout: Rollout) -> Failure:
        reason = describe(self.name, error, rollout.instance)
        return Failure(reason=reason, outage=is_outage(error))

    @property
    def _title(self) -> str:
        name = getattr(self._predictor, "title", type(self._predictor).__name__)
        return name if self.name == STUDENT else f"{self.name}: {name}"
