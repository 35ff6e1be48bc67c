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
from dataenvgym.quality.final_answers import same_answers
from dataenvgym.records import Conversation, TrainingDatum
from dataenvgym.seeding import derive_seed
from dataenvgym.tasks.claims import Claim, claims_of

_LONGEST = 64


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

    def passes(self, records: Sequence[TrainingDatum], predictor: PredictorInterface) -> list[bool]:
        """Whether the student does not know it yet; a failed call, or a doubt, passes."""
        passes = [True] * len(records)
        taught = {i: claim for i, r in enumerate(records) if (claim := _taught(r)) is not None}
        known = self._right(taught, predictor, self._greedy)
        left = {i: taught[i] for i, is_right in known.items() if is_right}
        counts = dict.fromkeys(left, 0)
        for number in range(self._samples if left else 0):
            seed = derive_seed(self._seed, "already_known", number)
            update = {"temperature": self._temperature, "seed": seed}
            sampling = self._greedy.model_copy(update=update)
            for i, is_right in self._right(left, predictor, sampling).items():
                counts[i] += bool(is_right)
        for i, count in counts.items():
            passes[i] = count < self._share * self._samples
        return passes

    def _right(
        self, claims: dict[int, Claim], predictor: PredictorInterface, sampling: SamplingParameters
    ) -> dict[int, bool | None]:
        """For each claim whether the student's answer is the same; None if it gave none."""
        replies = self._asked([claim.prompt for claim in claims.values()], predictor, sampling)
        given = {i: r.text for i, r in zip(claims, replies, strict=True) if isinstance(r, Reply)}
        same = same_answers([(claims[i].answer, text) for i, text in given.items()])
        return {**dict.fromkeys(claims), **dict(zip(given, same, strict=True))}

    def _asked(
        self,
        prompts: list[Conversation],
        predictor: PredictorInterface,
        sampling: SamplingParameters,
    ) -> list[Reply | Failure]:
        size = self._chunk_size
        chunks = (prompts[i : i + size] for i in range(0, len(prompts), size))
        return [reply for chunk in chunks for reply in predictor.predict(chunk, sampling)]


def _taught(record: TrainingDatum) -> Claim | None:
    """The right answer that a record teaches, or None."""
    return next((claim for claim in claims_of(record) if claim.is_right), None)
