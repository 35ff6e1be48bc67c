"""The student's results on many instances, overall and by skill."""

from __future__ import annotations

from operator import not_

from pydantic import Field

from dataenvgym.records.instances import Scores
from dataenvgym.records.model import Finite, Frozen, Model, Text

Faults = Frozen[dict[Text, int]]
"""The number of instances with an error, by fault."""


class SkillReport(Model):
    """The student's results on the instances of one skill.

    `score` is the mean reward and `accuracy` the share of correct instances, both over the
    `n - n_errors` instances without an error, and None if there are none. `scores` has the mean
    of each named score, over the instances that have it, and scores of all these instances
    together, such as a macro F1 (`Domain.report`). `faults` counts the errors by fault
    (see `dataenvgym.records.instances`); it is empty without errors. `no_answer_rate` is the share
    of instances without an error in which the reply gives no answer; None if the task does not
    tell (`Domain.report`). `answered_score` is the mean reward of the replies that give one;
    None also if none does.
    """

    skill: str
    category: str | None
    score: Finite | None
    accuracy: Finite | None
    n: int
    n_errors: int
    scores: Scores = {}
    faults: Faults = Field(default={}, exclude_if=not_)
    no_answer_rate: Finite | None = Field(default=None, exclude_if=lambda rate: rate is None)
    answered_score: Finite | None = Field(default=None, exclude_if=lambda score: score is None)


class Refusal(Model):
    """Why the gate of a teaching environment refused a student (see `environments.gate`).

    Attributes:
        skills: those that got worse, the clearest first; empty if only all held problems together
            did, or if the environment hides skills.
        drop: the mean reward lost on the problems of these skills, or on all held problems.
        p: of the clearest loss, corrected for the number of comparisons.
    """

    skills: tuple[str, ...]
    drop: Finite
    p: Finite


class PerformanceReport(Model):
    """The student's results on a set of instances; see `SkillReport` for the fields.

    `skills` is sorted by category and name; instances without a gold skill are under "". `refused`
    is set if the environment's gate refused a student: in the report of a step, these are then the
    results of the student before it, and in that of a trial, those of the refused student.
    """

    task: str
    score: Finite
    accuracy: Finite
    n: int
    n_errors: int
    scores: Scores = {}
    faults: Faults = Field(default={}, exclude_if=not_)
    no_answer_rate: Finite | None = Field(default=None, exclude_if=lambda rate: rate is None)
    answered_score: Finite | None = Field(default=None, exclude_if=lambda score: score is None)
    skills: tuple[SkillReport, ...] = ()
    refused: Refusal | None = Field(default=None, exclude_if=not_)

    @property
    def failures(self) -> Faults:
        """The number of unsolved instances by fault: wrong answers are the student's."""
        judged = self.n - self.n_errors
        wrong = judged - round(self.accuracy * judged)
        return {**({"student": wrong} if wrong else {}), **self.faults}
