"""The base class of pressures, and what they share: drawn skills."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Annotated, Any

from annotated_types import Gt, Le

from dataenvgym.errors import ConfigurationError, did_you_mean
from dataenvgym.records import CompletedTaskInstance, Model, TaskInstance, TrainingDatum
from dataenvgym.seeding import derive_rng, derive_seed
from dataenvgym.tasks.source import Split

Records = Sequence[TrainingDatum]
Instances = Sequence[TaskInstance]
Skills = tuple[str, ...]


class Pressure(Model):
    """Changes nothing; a pressure overrides some of the methods.

    `skills` are the names of all skills of the task, sorted.
    """

    def describe(self) -> dict[str, Any]:
        """Its class and options as JSON, for the identity of an episode."""
        return {"class": type(self).__name__, **self.model_dump(mode="json")}

    def problems(self, split: Split, instances: Instances, skills: Skills) -> Instances:
        """The problems of a split; they load before anything runs, so this checks options, too."""
        return instances

    def judged(
        self, completed: list[CompletedTaskInstance], skills: Skills
    ) -> list[CompletedTaskInstance]:
        """The attempts as they are judged."""
        return completed

    def shown(self, instances: Instances, skills: Skills, iteration: int) -> Instances:
        """The validation problems whose results the agent sees after an iteration (0: the base).

        Scores and rewards are over all validation problems, in each iteration.
        """
        return instances

    def received(self, records: Records, skills: Skills, earlier: Records) -> Records:
        """The records of an iteration as they reach the student's trainer, one for each, in order.

        Args:
            earlier: the records of earlier iterations of the episode, as they were accepted.
        """
        return records

    def fault(self, record: TrainingDatum, skills: Skills) -> str | None:
        """Why a record does not reach the student, in one word, or None."""
        return None


class Shared(Pressure):
    """A pressure with a share, mostly of the skills (rounded up), and a seed of its choices."""

    share: Annotated[float, Gt(0), Le(1)] = 0.25
    seed: int = 0

    def _draw(self, record: TrainingDatum) -> float:
        """A number in [0, 1) that depends on the seed and the texts of the record only."""
        return derive_seed(self.seed, type(self).__name__, "\n".join(record.parts())) / 2**63


class OnSkills(Shared):
    """A pressure on some skills.

    Attributes:
        skills: the skills that it concerns; none draws them with `share` and `seed`.
        share: of the skills, rounded up.
        seed: of its choices.
    """

    skills: tuple[str, ...] = ()

    def problems(self, split: Split, instances: Instances, skills: Skills) -> Instances:
        if self.skills:
            check_names(skills, self.skills)
        return instances

    def concerned(self, skills: Skills) -> frozenset[str]:
        """The skills of the task that the pressure concerns.

        Raises:
            ConfigurationError: if the task has no skills, or not those that were named.
        """
        check_names(skills, self.skills)
        count = math.ceil(self.share * len(skills))
        return frozenset(self.skills or permuted(skills, self.seed)[:count])


def permuted(skills: Skills, seed: int) -> list[str]:
    """The skills in an order of the seed; ConfigurationError without skills."""
    check_names(skills, ())
    return [skills[i] for i in derive_rng(seed, "pressure").permutation(len(skills))]


def check_names(skills: Skills, names: Iterable[str]) -> None:
    """ConfigurationError if the task has no skills, or not these."""
    if not skills:
        raise ConfigurationError(
            "pressure concerns some skills, and the problems of this task have none: choose "
            "another pressure (noisy_teacher, plateau, scarce), or a task with gold skills"
        )
    for name in names:
        if name not in skills:
            raise ConfigurationError(
                f"pressure names {name!r}, expected skills of the task."
                f"{did_you_mean(str(name), skills)} They are: {', '.join(skills)}"
            )
