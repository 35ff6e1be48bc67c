"""Drops records that the student already knows, because it would learn nothing new from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Annotated

from annotated_types import Gt, Le
from pydantic import NonNegativeInt, PositiveFloat

from dataenvgym.errors import ConfigurationError, PredictionError
from dataenvgym.events import warn_run
from dataenvgym.interfaces import Failure, PredictorInterface, Reply, SamplingParameters
from dataenvgym.options import Given
from dataenvgym.records import Conversation, Message, TaskInstance, TrainingDatum
from dataenvgym.seeding import derive_seed
from dataenvgym.tasks.adapted_task import attemptable
from dataenvgym.tasks.base import Task


@dataclass(eq=False)
class AlreadyKnownCheck:
    """Also drops records that the student already answers right.

    A record fails if the student solves its problem.

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

    task: Task
    _: KW_ONLY
    samples: NonNegativeInt = 0
    share: Annotated[float, Gt(0), Le(1)] = 1.0
    temperature: PositiveFloat = 1.0
    max_tokens: int | None = None
    seed: Given[int] = 0

    def __post_init__(self) -> None:
        most = self.max_tokens or self.task.sampling.max_tokens
        self._greedy = SamplingParameters(max_tokens=most)

    def passes(
        self, records: Sequence[TrainingDatum], predictor: PredictorInterface
    ) -> list[bool | Failure]:
        try:
            attemptable(self.task)
        except ConfigurationError as error:  # a task without environments cannot be judged
            return [Failure(reason=str(error))] * len(records)
        passes: list[bool | Failure] = [True] * len(records)
        found = map(self.task.problem_of, records)
        taught = {i: problem for i, problem in enumerate(found) if problem is not None}
        warn_of_idle_check(self.reason, records, len(taught))
        greedy = self._right(taught, predictor, self._greedy)
        left = {i: taught[i] for i, verdict in greedy.items() if verdict is True}
        tries: dict[int, list[bool | Failure]] = {i: [] for i in left}
        for number in range(self.samples if left else 0):
            seed = derive_seed(self.seed, "already_known", number)
            update = {"temperature": self.temperature, "seed": seed}
            sampling = self._greedy.model_copy(update=update)
            for i, verdict in self._right(left, predictor, sampling).items():
                tries[i].append(verdict)
        enough = self.share * self.samples
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
        tried = self.task.attempt(predictor, list(problems.values()), sampling=sampling)
        refuse_gone(
            lambda conversations: predictor.predict(conversations, sampling),
            [c.error for c in tried],
            who="the student",
        )
        return {
            i: c.was_correct if c.error is None else Failure(reason=c.error)
            for i, c in zip(problems, tried, strict=True)
        }


def warn_of_idle_check(reason: str, records: Sequence[TrainingDatum], n_judged: int) -> None:
    """Warn the run if the check of that `reason` judged none of the records."""
    if records and not n_judged:
        kinds = ", ".join(sorted({record.kind for record in records}))
        warn_run(
            f"quality check {reason}: it can judge none of the {len(records)} records (of kind "
            f"{kinds}), and they all pass"
        )


AskModel = Callable[[Sequence[Conversation]], Sequence[Reply | Failure]]

_GREETING: Conversation = (Message(role="user", content="Hello!"),)


def refuse_gone(ask: AskModel, errors: Sequence[str | None], *, who: str) -> None:
    """If all questions failed, send a greeting to see if the model still answers.

    Args:
        errors: why each question failed, or None for one that was answered.
        who: the name of the model, for the message.

    Raises:
        PredictionError: if not even the greeting is answered.
    """
    if not errors or None in errors:
        return
    if not any(isinstance(outcome, Failure) for outcome in ask([_GREETING])):
        return
    raise PredictionError(
        f"{who} answered none of {len(errors)} questions of a quality check, nor a greeting: "
        f"{errors[0]}. The same command checks these records again once {who} answers"
    )
