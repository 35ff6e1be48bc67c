"""The base class of pressures, and what they share: drawn skills, and checks of options."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable, Sequence
from typing import Any

from dataenvgym import exact_json
from dataenvgym.errors import ConfigurationError, did_you_mean
from dataenvgym.records import CompletedTaskInstance, TaskInstance, TrainingDatum
from dataenvgym.seeding import derive_rng, derive_seed
from dataenvgym.tasks.source import Split

Records = Sequence[TrainingDatum]
Instances = Sequence[TaskInstance]
Skills = tuple[str, ...]


class Pressure:
    """Changes nothing; a pressure overrides some of the methods.

    `skills` are the names of all skills of the task, sorted.

    Args:
        skills: the skills that it concerns; none draws them with `share` and `seed`.
        share: of the skills, rounded up.
        seed: of its choices.

    Raises:
        ConfigurationError: for an impossible value.
    """

    def __init__(self, *, skills: Sequence[str] = (), share: float = 0.25, seed: int = 0) -> None:
        if not is_number(share) or not 0 < share <= 1:
            raise ConfigurationError(f"share is {share!r}, expected more than 0, at most 1")
        if isinstance(skills, str) or not isinstance(skills, Sequence):
            raise ConfigurationError(f"skills is {skills!r}, expected a list, such as [{skills}]")
        if not isinstance(seed, int) or isinstance(seed, bool):
            raise ConfigurationError(f"seed is {seed!r}, expected a whole number")
        self.skills = tuple(skills)
        self.share = share
        self.seed = seed

    def describe(self) -> dict[str, Any]:
        """Its class and options as JSON, for the identity of an episode."""
        names = inspect.signature(type(self)).parameters
        described = {"class": type(self).__name__, **{n: getattr(self, n, None) for n in names}}
        text = exact_json.dumps(
            described, default=lambda value: type(value).__name__, option=exact_json.NON_STR_KEYS
        )
        return dict(exact_json.loads(text))

    def problems(self, split: Split, instances: Instances, skills: Skills) -> Instances:
        """The problems of a split; they load before anything runs, so this checks options, too."""
        if self.skills:
            check_names(skills, self.skills)
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

    def concerned(self, skills: Skills) -> frozenset[str]:
        """The skills of the task that the pressure concerns.

        Raises:
            ConfigurationError: if the task has no skills, or not those that were named.
        """
        check_names(skills, self.skills)
        count = math.ceil(self.share * len(skills))
        return frozenset(self.skills or permuted(skills, self.seed)[:count])

    def _draw(self, record: TrainingDatum) -> float:
        """A number in [0, 1) that depends on the seed and the texts of the record only."""
        return derive_seed(self.seed, type(self).__name__, "\n".join(record.parts())) / 2**63


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


def whole(value: int, least: int, name: str) -> int:
    """The value of an option; ConfigurationError unless it is a whole number, at least `least`."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ConfigurationError(f"{name} is {value!r}, expected a whole number from {least} on")
    return value


def is_number(value: object) -> bool:
    """True for numbers other than True and False."""
    return isinstance(value, int | float) and not isinstance(value, bool)
