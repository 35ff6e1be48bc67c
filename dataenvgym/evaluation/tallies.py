"""All tries at one problem, counted, for the metrics."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from dataenvgym.evaluation.answers import classes_of, sameness_of
from dataenvgym.evaluation.samples import Judgment
from dataenvgym.records import Model, TaskInstance


class Tally(Model):
    """The samples of one instance, each in its place.

    Attributes:
        instance_id: the problem.
        outcomes: whether each sample is right; None where infrastructure failed.
        votes: the class of each sample's answer, as a place in `answers`; None where it has none
            or failed.
        answers: of each class, the answer that founded it (see `answers.classes_of`).
    """

    instance_id: str
    outcomes: tuple[bool | None, ...]
    votes: tuple[int | None, ...]
    answers: tuple[str, ...] = ()

    @property
    def n(self) -> int:
        """How many samples were judged."""
        return len(self.outcomes) - self.n_errors

    @property
    def n_correct(self) -> int:
        return self.outcomes.count(True)

    @property
    def n_errors(self) -> int:
        return self.outcomes.count(None)

    @property
    def n_silent(self) -> int:
        """How many of the judged samples have no answer."""
        return self.votes.count(None) - self.n_errors

    @property
    def classes(self) -> list[tuple[int, int]]:
        """Of each class of answers, how many samples there are, and how many are right."""
        right = [vote for vote, ok in zip(self.votes, self.outcomes, strict=True) if ok]
        return [(self.votes.count(i), right.count(i)) for i in range(len(self.answers))]


def tally(task: Any, instance: TaskInstance, judgments: Sequence[Judgment]) -> Tally:
    """The judgments of one instance, in the samples' order, counted."""
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
    """One tally for each instance, in their order.

    Args:
        judgments: each with its instance's id; those of an instance in the samples' order.
    """
    by_instance: defaultdict[str, list[Judgment]] = defaultdict(list)
    for instance_id, judgment in judgments:
        by_instance[instance_id].append(judgment)
    return [tally(task, instance, by_instance[instance.id]) for instance in instances]
