"""Drops what the student knows already: it would learn nothing new from it."""

from __future__ import annotations

from collections.abc import Sequence

from dataenvgym.errors import ConfigurationError
from dataenvgym.interfaces import (
    Failure,
    PredictorInterface,
    Reply,
    SamplingParameters,
    TaskInterface,
)
from dataenvgym.quality.answering import answers_of
from dataenvgym.quality.final_answers import same_answers
from dataenvgym.records import Conversation, TrainingDatum
from dataenvgym.seeding import derive_seed
from dataenvgym.tasks.claims import Claim, claims_of

_LONGEST = 64
_OUT_OF_TIME = Failure(reason="comparing the student's answer with the record's took too long")


class AlreadyKnownCheck:
    """A record fails if the student answers its prompt as the record does.

    The student is asked greedily, and in `samples` further tries at `temperature`; it knows the
    answer if the greedy one is right and at least `share` of the tries are. Records that teach no
    right answer to a prompt (plain text, undesirable answers) pass.

    Args:
        task: whose `sampling` says how long the student's answers may be, unless `max_tokens` does.
        samples: tries besides the greedy answer.
        share: of the tries that have to be right, in (0, 1].
        temperature: of the tries.
        max_tokens: the longest answer, in tokens; None is that of the task.
        chunk_size: how many conversations one `predict` call gets.
        seed: of the tries.
    """

    reason = "already_known"

    def __init__(
        self,
        task: TaskInterface | None = None,
        *,
        samples: int = 0,
        share: float = 1.0,
        temperature: float = 1.0,
        max_tokens: int | None = None,
        chunk_size: int = 128,
        seed: int = 0,
    ) -> None:
        if samples < 0 or chunk_size < 1:
            raise ConfigurationError(
                f"samples is {samples} and chunk_size is {chunk_size}, expected 0 or more samples "
                "and chunks of 1 or more"
            )
        if not 0 < share <= 1 or temperature <= 0:
            raise ConfigurationError(
                f"share is {share} and temperature is {temperature}, expected a share above 0 and "
                "at most 1, and a temperature above 0"
            )
        usual = getattr(task, "sampling", None)
        if max_tokens is None:
            max_tokens = usual.max_tokens if isinstance(usual, SamplingParameters) else _LONGEST
        self._greedy = SamplingParameters(max_tokens=max_tokens)
        self._samples = samples
        self._share = share
        self._temperature = temperature
        self._chunk_size = chunk_size
        self._seed = seed

    def passes(
        self, records: Sequence[TrainingDatum], predictor: PredictorInterface
    ) -> list[bool | Failure]:
        """Whether the student does not know it yet; a `Failure` where that cannot be told.

        Raises:
            PredictionError: if the student is gone.
        """
        passes: list[bool | Failure] = [True] * len(records)
        taught = {i: claim for i, r in enumerate(records) if (claim := _taught(r)) is not None}
        greedy = self._right(taught, predictor, self._greedy)
        left = {i: taught[i] for i, verdict in greedy.items() if verdict is True}
        tries: dict[int, list[bool | Failure]] = {i: [] for i in left}
        for number in range(self._samples if left else 0):
            seed = derive_seed(self._seed, "already_known", number)
            update = {"temperature": self._temperature, "seed": seed}
            sampling = self._greedy.model_copy(update=update)
            for i, verdict in self._right(left, predictor, sampling).items():
                tries[i].append(verdict)
        for i, verdict in greedy.items():
            passes[i] = self._is_new(tries[i]) if verdict is True else verdict or True
        return passes

    def _is_new(self, tries: Sequence[bool | Failure]) -> bool | Failure:
        """Whether too few of the tries are right; a failure if those that failed decide that."""
        enough = self._share * self._samples
        n_right = sum(verdict is True for verdict in tries)
        failures = [verdict for verdict in tries if isinstance(verdict, Failure)]
        if n_right < enough <= n_right + len(failures):
            return failures[0]
        return n_right < enough

    def _right(
        self, claims: dict[int, Claim], predictor: PredictorInterface, sampling: SamplingParameters
    ) -> dict[int, bool | Failure]:
        """For each claim whether the student's answer is the same, or why that cannot be told."""
        replies = self._asked([claim.prompt for claim in claims.values()], predictor, sampling)
        given = {i: r.text for i, r in zip(claims, replies, strict=True) if isinstance(r, Reply)}
        same = same_answers([(claims[i].answer, text) for i, text in given.items()])
        failed = {i: r for i, r in zip(claims, replies, strict=True) if isinstance(r, Failure)}
        compared = {i: _OUT_OF_TIME if s is None else s for i, s in zip(given, same, strict=True)}
        return {i: failed[i] if i in failed else compared[i] for i in claims}

    def _asked(
        self,
        prompts: list[Conversation],
        predictor: PredictorInterface,
        sampling: SamplingParameters,
    ) -> list[Reply | Failure]:
        def ask(conversations: Sequence[Conversation]) -> Sequence[Reply | Failure]:
            return predictor.predict(conversations, sampling)

        size = self._chunk_size
        chunks = (prompts[i : i + size] for i in range(0, len(prompts), size))
        return [reply for chunk in chunks for reply in answers_of(ask, chunk, who="the student")]


def _taught(record: TrainingDatum) -> Claim | None:
    """The right answer that a record teaches, or None."""
    return next((claim for claim in claims_of(record) if claim.is_right), None)
