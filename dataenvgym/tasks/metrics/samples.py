"""One try at one problem, saved as a line of JSON.

A tally counts all tries at one problem, for the metrics.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from pydantic import Field

from dataenvgym.records import CompletedTaskInstance, Conversation, Model, Scores, TaskInstance
from dataenvgym.tasks.base import Task
from dataenvgym.tasks.metrics.answers import answers_of, classes_of, sameness_of

_KEPT = ("reward", "was_correct", "error", "fault", "scores")


class Judgment(Model):
    """The result of a try; the fields are those of `CompletedTaskInstance`.

    Attributes:
        answer_class: the answer as read by the task (see `evaluation.answers`); None if the try
            has no answer, or an error.
    """

    reward: float = Field(allow_inf_nan=False)
    was_correct: bool
    error: str | None = None
    fault: str | None = Field(default=None, exclude_if=lambda fault: fault is None)
    note: str | None = None
    scores: Scores = {}
    answer_class: str | None = None

    @property
    def verdict(self) -> str:
        """It is "right", "wrong" or "error"."""
        if self.error is not None:
            return "error"
        return "right" if self.was_correct else "wrong"

    @property
    def judgment(self) -> Judgment:
        """The result without the try itself."""
        return Judgment(**{name: getattr(self, name) for name in Judgment.model_fields})


class Place(Model):
    """Which try it is.

    Attributes:
        instance_id: the problem.
        sample: the number of the try, from 0.
    """

    instance_id: str
    sample: int = Field(ge=0)


class Draw(Place):
    """A try without its result.

    Attributes:
        seed: of the draw.
        transcript: the whole conversation.
    """

    seed: int
    transcript: Conversation

    @property
    def phase(self) -> str:
        """The label of its number (see `attempts_for`)."""
        return f"sample-{self.sample:03d}"


class Sample(Judgment, Draw):
    """One try, and its result."""

    def completed(self, instance: TaskInstance) -> CompletedTaskInstance:
        """The try as a completed instance."""
        kept = {name: getattr(self, name) for name in ("transcript", "note", *_KEPT)}
        return CompletedTaskInstance(instance=instance, **kept)


def judgments_of(task: Task, completed: Sequence[CompletedTaskInstance]) -> list[Judgment]:
    """The results of the tries, with their answers."""
    return [
        Judgment(
            **{name: getattr(c, name) for name in _KEPT},
            note="; ".join(filter(None, (c.note, note))) or None,
            answer_class=answer,
        )
        for c, (answer, note) in zip(completed, answers_of(task, completed), strict=True)
    ]


def samples_of(
    task: Task, completed: Sequence[CompletedTaskInstance], *, sample: int, seed: int
) -> list[Sample]:
    """Turn completed instances into samples with this number."""
    return [
        Sample(
            instance_id=c.instance.id,
            sample=sample,
            seed=seed,
            transcript=c.transcript,
            **judgment.model_dump(),
        )
        for c, judgment in zip(completed, judgments_of(task, completed), strict=True)
    ]


class Tally(Model):
    """The samples of one instance, in order.

    Attributes:
        instance_id: the problem.
        outcomes: True for right samples; None if infrastructure failed.
        votes: the class of each sample's answer, as an index into `answers`; None without an
            answer, or after a failure.
        answers: the first answer of each class (see `answers.classes_of`).
    """

    instance_id: str
    outcomes: tuple[bool | None, ...]
    votes: tuple[int | None, ...]
    answers: tuple[str, ...] = ()

    @property
    def n(self) -> int:
        """The number of judged samples."""
        return len(self.outcomes) - self.n_errors

    @property
    def n_correct(self) -> int:
        return self.outcomes.count(True)

    @property
    def n_errors(self) -> int:
        return self.outcomes.count(None)

    @property
    def n_silent(self) -> int:
        """The number of judged samples without an answer."""
        return self.votes.count(None) - self.n_errors

    @property
    def classes(self) -> list[tuple[int, int]]:
        """For each class of answers, the number of samples, and of right ones."""
        right = [vote for vote, ok in zip(self.votes, self.outcomes, strict=True) if ok]
        return [(self.votes.count(i), right.count(i)) for i in range(len(self.answers))]


def tally(task: Task, instance: TaskInstance, judgments: Sequence[Judgment]) -> Tally:
    """Count the judgments of one instance, given in the samples' order."""
    answers = [None if j.error is not None else j.answer_class for j in judgments]
    founders, votes = classes_of(answers, sameness_of(task, instance))
    return Tally(
        instance_id=instance.id,
        outcomes=tuple(None if j.error is not None else j.was_correct for j in judgments),
        votes=tuple(votes),
        answers=tuple(founders),
    )


def tally_all(
    task: Task, instances: Sequence[TaskInstance], judgments: Iterable[tuple[str, Judgment]]
) -> list[Tally]:
    """Make one tally for each instance, in order.

    Args:
        judgments: with the ids of their instances; those of one instance are in sample order.
    """
    by_instance: defaultdict[str, list[Judgment]] = defaultdict(list)
    for instance_id, judgment in judgments:
        by_instance[instance_id].append(judgment)
    return [tally(task, instance, by_instance[instance.id]) for instance in instances]
