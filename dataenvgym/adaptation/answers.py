"""Answers of the untouched student and of an adapter to the same questions."""

from __future__ import annotations

from collections.abc import Sequence

from dataenvgym.records import CompletedTaskInstance, Model


class Answer(Model):
    """A student's answer to a question.

    Attributes:
        question: the id of the problem.
        text: its last message, or None if it never answered.
        was_correct: False if `error` is set.
        error: why it could not be scored; such an answer is neither right nor wrong.
    """

    question: str
    text: str | None
    was_correct: bool
    error: str | None = None

    @classmethod
    def of(cls, completed: CompletedTaskInstance) -> Answer:
        return cls(
            question=completed.instance.id,
            text=completed.response,
            was_correct=completed.was_correct,
            error=completed.error,
        )


class Adapted(Model):
    """The answers of the base and of an adapter to the same questions, in their order.

    Attributes:
        n_records: the number of records that the adapter was trained on.
        error: why there is no adapter although there are records; `answers` is then empty.
    """

    name: str
    n_records: int
    base: tuple[Answer, ...]
    answers: tuple[Answer, ...]
    error: str | None = None

    @property
    def tried(self) -> tuple[Answer, ...]:
        """All answers."""
        return (*self.base, *self.answers)

    @property
    def baseline_accuracy(self) -> float | None:
        """The share of scored answers of the base that are right; None without any."""
        return accuracy(self.base)

    @property
    def adapter_accuracy(self) -> float | None:
        """The share of scored answers of the adapter that are right; None without any."""
        return accuracy(self.answers)

    @property
    def gains(self) -> tuple[int | None, ...]:
        """For each question 1 (only the adapter is right), -1 (only the base), 0, or None."""
        if self.error is not None:
            return (None,) * len(self.base)
        return tuple(
            None if before.error or after.error else after.was_correct - before.was_correct
            for before, after in zip(self.base, self.answers, strict=True)
        )

    @property
    def gain(self) -> float | None:
        """The mean of `gains` over the questions that both were scored on."""
        known = [gain for gain in self.gains if gain is not None]
        return sum(known) / len(known) if known else None

    @property
    def n_unscored(self) -> int:
        """The number of questions without a gain: a training or a call failed."""
        return self.gains.count(None)


def accuracy(answers: Sequence[Answer]) -> float | None:
    """The share of right answers among those that were scored; None if there are none."""
    scored = [answer.was_correct for answer in answers if answer.error is None]
    return sum(scored) / len(scored) if scored else None
