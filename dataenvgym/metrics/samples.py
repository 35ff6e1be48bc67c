"""One try at one problem, saved as a line of JSON."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from dataenvgym.interfaces import TaskInterface
from dataenvgym.metrics.answers import answers_of
from dataenvgym.records import CompletedTaskInstance, Conversation, Model, Scores, TaskInstance


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


class Draw(Model):
    """A try without its result.

    Attributes:
        instance_id: the problem.
        sample: the number of the try, from 0.
        seed: of the draw.
        transcript: the whole conversation.
    """

    instance_id: str
    sample: int = Field(ge=0)
    seed: int
    transcript: Conversation

    @property
    def phase(self) -> str:
        """The label of its number (see `tasks.purposes`)."""
        return f"sample-{self.sample:03d}"


class Sample(Judgment, Draw):
    """One try, and its result."""

    def completed(self, instance: TaskInstance) -> CompletedTaskInstance:
        """The try as a completed instance."""
        return CompletedTaskInstance(
            instance=instance,
            transcript=self.transcript,
            reward=self.reward,
            was_correct=self.was_correct,
            error=self.error,
            fault=self.fault,
            note=self.note,
            scores=self.scores,
        )


def judgments_of(task: TaskInterface, completed: Sequence[CompletedTaskInstance]) -> list[Judgment]:
    """The results of the tries, with their answers."""
    return [
        Judgment(
            reward=c.reward,
            was_correct=c.was_correct,
            error=c.error,
            fault=c.fault,
            scores=c.scores,
            note="; ".join(filter(None, (c.note, note))) or None,
            answer_class=answer,
        )
        for c, (answer, note) in zip(completed, answers_of(task, completed), strict=True)
    ]


def samples_of(
    task: TaskInterface,
    completed: Sequence[CompletedTaskInstance],
    *,
    sample: int,
    seed: int,
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
