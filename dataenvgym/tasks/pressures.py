"""Pressures: changes to a task's data that reward some strategies more than others.

A pressure changes which problems a task has, how attempts at them are judged, or which training
records reach the student. It is an option of any task, by name or with options of its own:

    dataenvgym run task=pocket_code task.pressure=traps
    dataenvgym run task=teach/traps task.pressure.share=0.4

Policies, engines and environments do not know it; they see its effects. It has no state and draws
only from `seed` and the data, so a resumed run and another machine see the same.
"""

from __future__ import annotations

import inspect
import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any

from dataenvgym.errors import ConfigurationError, check_one_of, did_you_mean
from dataenvgym.records import (
    ChatDatum,
    CompletedTaskInstance,
    KTODatum,
    PreferenceDatum,
    SupervisedDatum,
    TaskInstance,
    TrainingDatum,
)
from dataenvgym.seeding import derive_rng, derive_seed
from dataenvgym.tasks.source import Split


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
        if not _is_number(share) or not 0 < share <= 1:
            raise ConfigurationError(f"share is {share!r}, expected more than 0, at most 1")
        if isinstance(skills, str) or not isinstance(skills, Sequence):
            raise ConfigurationError(f"skills is {skills!r}, expected a list, such as [{skills}]")
        if not isinstance(seed, int):
            raise ConfigurationError(f"seed is {seed!r}, expected a whole number")
        self.skills = tuple(skills)
        self.share = share
        self.seed = seed

    def problems(
        self, split: Split, instances: Sequence[TaskInstance], skills: tuple[str, ...]
    ) -> Sequence[TaskInstance]:
        """The problems of a split."""
        return instances

    def judged(
        self, completed: list[CompletedTaskInstance], skills: tuple[str, ...]
    ) -> list[CompletedTaskInstance]:
        """The attempts as they are judged."""
        return completed

    def received(
        self, records: Sequence[TrainingDatum], skills: tuple[str, ...]
    ) -> Sequence[TrainingDatum]:
        """The records of an iteration as they reach the student's trainer."""
        return records

    def fault(self, record: TrainingDatum, skills: tuple[str, ...]) -> str | None:
        """Why a record does not reach the student, in one word, or None."""
        return None

    def concerned(self, skills: tuple[str, ...]) -> frozenset[str]:
        """The skills of the task that the pressure concerns.

        Raises:
            ConfigurationError: if the task has no skills, or not those that were named.
        """
        return _chosen(skills, self.skills, self.share, self.seed)

    def _draw(self, record: TrainingDatum) -> float:
        """A number in [0, 1) that depends on the seed and the texts of the record only."""
        return derive_seed(self.seed, type(self).__name__, "\n".join(record.parts())) / 2**63


class Traps(Pressure):
    """Skills that cannot be learned: no answer is right, and records have each other's answers."""

    def judged(
        self, completed: list[CompletedTaskInstance], skills: tuple[str, ...]
    ) -> list[CompletedTaskInstance]:
        traps = self.concerned(skills)
        wrong = {"was_correct": False, "reward": 0.0, "scores": {}}
        return [c.model_copy(update=wrong) if c.instance.skill in traps else c for c in completed]

    def received(
        self, records: Sequence[TrainingDatum], skills: tuple[str, ...]
    ) -> Sequence[TrainingDatum]:
        traps = self.concerned(skills)
        return _exchanged(records, lambda record: record.provenance.skill in traps)


class NoisyTeacher(Pressure):
    """Some records have the answer of another record of their skill.

    Plain text and scored tries have no answer that a teacher wrote, and stay as they are.

    Args:
        share: of the records that are wrong.
        seed: of their choice.
    """

    def __init__(self, *, share: float = 0.2, seed: int = 0) -> None:
        super().__init__(share=share, seed=seed)

    def received(
        self, records: Sequence[TrainingDatum], skills: tuple[str, ...]
    ) -> Sequence[TrainingDatum]:
        return _exchanged(records, lambda r: self._draw(r) < self.share)


class Skewed(Pressure):
    """Skills weigh differently in the score: of the others, only some problems are evaluated.

    The problems of the concerned skills all stay; of the others, one in `ratio` does.

    Args:
        ratio: weight of a concerned skill relative to another one.
    """

    def __init__(
        self, *, skills: Sequence[str] = (), share: float = 0.25, ratio: int = 5, seed: int = 0
    ) -> None:
        super().__init__(skills=skills, share=share, seed=seed)
        if not _is_number(ratio) or ratio < 2:
            raise ConfigurationError(f"ratio is {ratio!r}, expected a number from 2 on")
        self.ratio = ratio

    def problems(
        self, split: Split, instances: Sequence[TaskInstance], skills: tuple[str, ...]
    ) -> Sequence[TaskInstance]:
        return instances if split == "train" else self._thinned(instances, self.concerned(skills))

    def _thinned(
        self, instances: Sequence[TaskInstance], heavy: frozenset[str]
    ) -> Sequence[TaskInstance]:
        seen: defaultdict[str | None, int] = defaultdict(int)
        kept = []
        for instance in instances:
            if instance.skill in heavy or seen[instance.skill] % self.ratio == 0:
                kept.append(instance)
            seen[instance.skill] += 1
        return kept


class Shifted(Skewed):
    """The concerned skills weigh more than others in validation, and less in the test split."""

    def problems(
        self, split: Split, instances: Sequence[TaskInstance], skills: tuple[str, ...]
    ) -> Sequence[TaskInstance]:
        seen = self.concerned(skills)
        if split == "test":
            return self._thinned(instances, frozenset(skills) - seen)
        return super().problems(split, instances, skills)


class Hidden(Pressure):
    """The names of skills are hidden: problems are grouped by the first word of their wording.

    A group has problems of several skills, and a skill has problems in several groups.

    Args:
        groups: their number.
        seed: puts each word into a group.
    """

    def __init__(self, *, groups: int = 5, seed: int = 0) -> None:
        super().__init__(seed=seed)
        if not _is_number(groups) or groups < 2:
            raise ConfigurationError(f"groups is {groups!r}, expected a number from 2 on")
        self.groups = groups

    def problems(
        self, split: Split, instances: Sequence[TaskInstance], skills: tuple[str, ...]
    ) -> Sequence[TaskInstance]:
        return [
            i.model_copy(update={"skill": self._group(i.instruction), "category": None})
            for i in instances
        ]

    def _group(self, instruction: str) -> str:
        first = next(iter(instruction.split()), "").lower()
        return f"group {derive_seed(self.seed, first) % self.groups + 1}"


class Priced(Pressure):
    """A record of a concerned skill costs `price` times as much of an iteration's records.

    So of `price` such records one reaches the student, and the others are dropped as `price`. A
    record's skill is the one in its provenance.

    Args:
        price: of a record, relative to one of another skill.
    """

    def __init__(
        self, *, skills: Sequence[str] = (), share: float = 0.25, price: float = 5.0, seed: int = 0
    ) -> None:
        super().__init__(skills=skills, share=share, seed=seed)
        if not _is_number(price) or not price > 1:
            raise ConfigurationError(f"price is {price!r}, expected more than 1")
        self.price = price

    def fault(self, record: TrainingDatum, skills: tuple[str, ...]) -> str | None:
        is_dear = self.share == 1 or record.provenance.skill in self.concerned(skills)
        return "price" if is_dear and self._draw(record) * self.price >= 1 else None


PRESSURES: Mapping[str, Callable[..., Pressure]] = {
    "traps": Traps,
    "noisy_teacher": NoisyTeacher,
    "skewed": Skewed,
    "shifted": Shifted,
    "hidden": Hidden,
    "priced": Priced,
    "scarce": partial(Priced, share=1.0, price=5.0),
}
"""The pressures by name."""


def pressure_of(given: Any) -> Pressure | None:
    """The pressure that an option of a task names; None for none.

    Args:
        given: a pressure, its name, or its name with its options: `{"traps": {"share": 0.4}}`.

    Raises:
        ConfigurationError: if there is no such pressure, or it lacks such an option.
    """
    if given is None or isinstance(given, Pressure):
        return given
    if isinstance(given, str):
        given = {given: {}}
    if not isinstance(given, Mapping) or len(given) != 1:
        raise ConfigurationError(
            f"pressure is {given!r}, expected the name of one, such as traps, or its name with its "
            f"options, such as {{traps: {{share: 0.4}}}}. The names are: {', '.join(PRESSURES)}"
        )
    ((name, options),) = given.items()
    check_one_of(PRESSURES, pressure=name)
    known = inspect.signature(PRESSURES[name]).parameters
    for option in options or {}:
        if option not in known:
            raise ConfigurationError(
                f"pressure is {name}, which has no option {option!r}."
                f"{did_you_mean(str(option), known)} It has: {', '.join(known)}."
            )
    return PRESSURES[name](**(options or {}))


@cache
def _chosen(
    skills: tuple[str, ...], named: tuple[str, ...], share: float, seed: int
) -> frozenset[str]:
    if not skills:
        raise ConfigurationError(
            "pressure concerns some skills, and the problems of this task have none: choose "
            "another pressure (noisy_teacher, hidden, scarce), or a task with gold skills"
        )
    for name in named:
        if name not in skills:
            raise ConfigurationError(
                f"pressure.skills has {name!r}, expected skills of the task."
                f"{did_you_mean(name, skills)} They are: {', '.join(skills)}"
            )
    count = math.ceil(share * len(skills))
    drawn = derive_rng(seed, "pressure").permutation(len(skills))[:count]
    return frozenset(named or (skills[i] for i in drawn))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _exchanged(
    records: Sequence[TrainingDatum], is_wrong: Callable[[TrainingDatum], bool]
) -> list[TrainingDatum]:
    """Give each wrong record the answer of the next record of its skill that has another one.

    If no record of its skill has another answer, one of another skill gives it.
    """
    found = list(records)
    for i, record in enumerate(records):
        if is_wrong(record):
            turned = (*records[i + 1 :], *records[:i])
            others = (o for o in turned if type(o) is type(record))
            ranked = sorted(others, key=lambda o: o.provenance.skill != record.provenance.skill)
            exchanged = (with_answer_of(record, other) for other in ranked)
            found[i] = next((new for new in exchanged if new != record), record)
    return found


def with_answer_of(record: TrainingDatum, other: TrainingDatum) -> TrainingDatum:
    """The record with the answer of another one of its kind.

    A chat gets all messages from the other's first answer on; a preference exchanges its own
    answers. Plain text and scored tries stay as they are.
    """
    if isinstance(record, SupervisedDatum | KTODatum) and type(other) is type(record):
        return record.model_copy(update={"output": other.output})
    if isinstance(record, PreferenceDatum):
        return record.model_copy(update={"chosen": record.rejected, "rejected": record.chosen})
    if isinstance(record, ChatDatum) and isinstance(other, ChatDatum):
        mine, first = ([m.role for m in r.messages].index("assistant") for r in (record, other))
        messages = (*record.messages[:mine], *other.messages[first:])
        return record.model_copy(update={"messages": messages})
    return record
