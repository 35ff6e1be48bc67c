"""How the student does on many instances, overall and by skill."""

from __future__ import annotations

from operator import not_

from pydantic import Field

from dataenvgym.records.model import Finite, Model, Text
from dataenvgym.records.scores import Scores

Faults = dict[Text, int]
"""How many instances have an error, by whose fault it was."""


class SkillReport(Model):
    """How the student does on the instances of one skill.

    `score` is the mean reward and `accuracy` the share of correct instances, both over the
    `n - n_errors` instances without an error; both are None where there is no such instance.
    `scores` has the mean of each named score, over those of them that have it, and the scores of
    the instances taken together, such as a macro F1 (`Domain.corpus_scores`). `faults`
    says whose fault the errors were (see `dataenvgym.records.faults`); it is empty without any.
    """

    skill: str
    category: str | None
    score: Finite | None
    accuracy: Finite | None
    n: int
    n_errors: int
    scores: Scores = {}
    faults: Faults = Field(default={}, exclude_if=not_)


class PerformanceReport(Model):
    """How the student does on a set of instances; the fields mean what they do in `SkillReport`.

    `skills` is sorted by category and name; instances without a gold skill are under "".
    """

    task: str
    score: Finite
    accuracy: Finite
    n: int
    n_errors: int
    scores: Scores = {}
    faults: Faults = Field(default={}, exclude_if=not_)
    skills: tuple[SkillReport, ...] = ()

    @property
    def failures(self) -> Faults:
        """How many instances were not solved, by whose fault: wrong answers are the student's."""
        judged = self.n - self.n_errors
        wrong = judged - round(self.accuracy * judged)
        return {**({"student": wrong} if wrong else {}), **self.faults}
