"""Drops records that the student already knows, because it would learn nothing new from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dataenvgym.errors import ConfigurationError, check_at_least
from dataenvgym.interfaces import Failure, PredictorInterface, SamplingParameters, TaskInterface
from dataenvgym.options import Given
from dataenvgym.quality.model_questions import refuse_gone, warn_of_idle_check
from dataenvgym.records import TaskInstance, TrainingDatum
from dataenvgym.seeding import derive_seed
from dataenvgym.tasks.adapted_task import attemptable, task_of
from dataenvgym.tasks.record_conversion import problem_of


class AlreadyKnownCheck:
    """A record fails if the student solves its problem.

    The student answers once greedily and `samples` more times at `temperature`. It knows the answer
    if the greedy one is right and at least `share` of the other tries are. Records that are not
    problems of the task (plain text, undesirable answers, records with earlier turns) pass.

    Args:
        task: makes problems of records, and judges the answers.
        samples: tries besides the greedy answer.
        share: the share of these tries that must be right, in (0, 1].
        temperature: of these tries.
        max_tokens: the longest answer, in tokens; None takes the task's limit.
        seed: of the tries.
    """

    reason = "already_known"

    def __init__(
        self,
        task: TaskInterface,
        *,
        samples: int = 0,
        share: float = 1.0,
        temperature: float = 1.0,
        max_tokens: int | None = None,
        seed: Given[int] = 0,
    ) -> None:
        check_at_least(0, samples=samples)
        if not 0 < share <= 1 or not temperature > 0:
            raise ConfigurationError(
                f"share is {share} and temperature is {temperature}, expected a share above 0 and "
                "at most 1, and a temperature above 0"
            )
        self._task = task_of(task)
        self._greedy = SamplingParameters(max_tokens=max_tokens or self._task.sampling.max_tokens)
        self._samples = samples
        self._share = share
        self._temperature = temperature
        self._seed = seed

    def passes(
        self, records: Sequence[TrainingDatum], predictor: PredictorInterface
    ) -> list[bool | Failure]:
        try:
            attemptable(self._task)
        except ConfigurationError as error:  # a task without environments cannot be judged
            return [Failure(reason=str(error))] * len(records)
        passes: list[bool | Failure] = [True] * len(records)
        domain = self._task.domain
        taught = {i: p for i, r in enumerate(records) if (p := problem_of(domain, r)) is not None}
        warn_of_idle_check(self.reason, records, len(taught))
        greedy = self._right(taught, predictor, self._greedy)
        left = {i: taught[i] for i, verdict in greedy.items() if verdict is True}
        tries: dict[int, list[bool | Failure]] = {i: [] for i in left}
        for number in range(self._samples if left else 0):
            seed = derive_seed(self._seed, "already_known", number)
            update = {"temperature": self._temperature, "seed": seed}
            sampling = self._greedy.model_copy(update=update)
            for i, verdict in self._right(left, predictor, sampling).items():
                tries[i].append(verdict)
        enough = self._share * self._samples
        for i, verdict in greedy.items():
            if verdict is not True:
                passes[i] = verdict or True
                continue
            n_right = sum(other is True for other in tries[i])
            failures = [other for other in tries[i] if isinstance(other, Failure)]
            # the failed tries could decide it
            undecided = n_right < enough <= n_right + len(failures)
            passes[i] = failures[0] if undecided else n_right < enough
        return passes

    def _right(
        self,
        problems: Mapping[int, TaskInstance],
        predictor: PredictorInterface,
        sampling: SamplingParameters,
    ) -> dict[int, bool | Failure]:
        """For each problem, True if the student solves it; a failure says why that is unknown."""
        tried = self._task.attempt(predictor, list(problems.values()), sampling=sampling)
        refuse_gone(
            lambda conversations: predictor.predict(conversations, sampling),
            [c.error for c in tried],
            who="the student",
        )
        return {
            i: c.was_correct if c.error is None else Failure(reason=c.error)
            for i, c in zip(problems, tried, strict=True)
        }
