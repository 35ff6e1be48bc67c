"""Counts all tries at one problem, for the metrics."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from dataenvgym.metrics.answers import classes_of, sameness_of
from dataenvgym.metrics.samples import Judgment
from dataenvgym.records import Model, TaskInstance


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


def tally(task: Any, instance: TaskInstance, judgments: Sequence[Judgment]) -> Tally:
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
    task: Any,
    instances: Sequence[TaskInstance],
    judgments: Iterable[tuple[str, Judgment]],
) -> list[Tally]:
    """Make one tally for each instance, in order.

    Args:
        judgments: with the ids of their instances; those of one instance are in sample order.
    """
    by_instance: defaultdict[str, list[Judgment]] = defaultdict(list)
    for instance_id, judgment in judgments:
        by_instance[instance_id].append(judgment)
    return [tally(task, instance, by_instance[instance.id]) for instance in instances]
