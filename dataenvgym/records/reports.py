"""How the student does on many instances, overall and by skill."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from dataenvgym.records.model import Model

Finite = Annotated[float, Field(allow_inf_nan=False)]
"""A number that JSON has: neither NaN nor infinite."""


class SkillReport(Model):
    """How the student does on the instances of one skill.

    `score` is the mean reward and `accuracy` the share of correct instances, both over the
    `n - n_errors` instances without an error; both are None where there is no such instance.
    """

    skill: str
    category: str | None
    score: Finite | None
    accuracy: Finite | None
    n: int
    n_errors: int


class PerformanceReport(Model):
    """How the student does on a set of instances; the fields mean what they do in `SkillReport`.

    `skills` is sorted by category and name; instances without a gold skill stand under "".
    """

    task: str
    score: Finite
    accuracy: Finite
    n: int
    n_errors: int
    skills: tuple[SkillReport, ...] = ()
