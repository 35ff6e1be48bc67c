"""How the student does on many instances, overall and by skill."""

from __future__ import annotations

from dataenvgym.records.model import Finite, Model
from dataenvgym.records.scores import Scores


class SkillReport(Model):
    """How the student does on the instances of one skill.

    `score` is the mean reward and `accuracy` the share of correct instances, both over the
    `n - n_errors` instances without an error; both are None where there is no such instance.
    `scores` has the mean of each named score, over those of them that have it, and the scores of
    the instances taken together, such as a macro F1 (`Domain.corpus_scores`).
    """

    skill: str
    category: str | None
    score: Finite | None
    accuracy: Finite | None
    n: int
    n_errors: int
    scores: Scores = {}


class PerformanceReport(Model):
    """How the student does on a set of instances; the fields mean what they do in `SkillReport`.

    `skills` is sorted by category and name; instances without a gold skill stand under "".
    """

    task: str
    score: Finite
    accuracy: Finite
    n: int
    n_errors: int
    scores: Scores = {}
    skills: tuple[SkillReport, ...] = ()
