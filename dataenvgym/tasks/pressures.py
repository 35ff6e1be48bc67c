"""Pressures: changes to a task's data that reward some strategies more than others.

A pressure changes which problems a task has, how attempts at them are judged, which results the
agent sees, or which training records reach the student. It is an option of any task, by name or
with options of its own:

    dataenvgym run task=pocket_code task.pressure=traps
    dataenvgym run task=teach/traps task.pressure.share=0.4

Policies, engines and environments do not know it; they see its effects. It has no state: it draws
only from `seed` and the data, and is given the records of earlier iterations, so a resumed run, a
trial and another machine see the same.
"""

from __future__ import annotations

import inspect
import math
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from functools import partial
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

    def shown(
        self, instances: Sequence[TaskInstance], skills: tuple[str, ...], iteration: int
    ) -> Sequence[TaskInstance]:
        """The validation problems whose results the agent sees after an iteration (0: the base).

        Scores and rewards are over all validation problems, in each iteration.
        """
        return instances

    def received(
        self,
        records: Sequence[TrainingDatum],
        skills: tuple[str, ...],
        earlier: Sequence[TrainingDatum],
    ) -> Sequence[TrainingDatum]:
        """The records of an iteration as they reach the student's trainer.

        Args:
            earlier: the records of earlier iterations of the episode, as they were accepted.
        """
        return records

    def fault(self, record: TrainingDatum, skills: tuple[str, ...]) -> str | None:
        """Why a record does not reach the student, in one word, or None."""
        return None

    def concerned(self, skills: tuple[str, ...]) -> frozenset[str]:
        """The skills of the task that the pressure concerns.

        Raises:
            ConfigurationError: if the task has no skills, or not those that were named.
        """
        _check_names(skills, self.skills)
        count = math.ceil(self.share * len(skills))
        return frozenset(self.skills or _permuted(skills, self.seed)[:count])

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
        self,
        records: Sequence[TrainingDatum],
        skills: tuple[str, ...],
        earlier: Sequence[TrainingDatum],
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
        self,
        records: Sequence[TrainingDatum],
        skills: tuple[str, ...],
        earlier: Sequence[TrainingDatum],
    ) -> Sequence[TrainingDatum]:
        return _exchanged(records, lambda r: self._draw(r) < self.share)


class Paired(Pressure):
    """The base of pressures that concern pairs of skills.

    Args:
        pairs: for each concerned skill its partner, such as {middle: smallest}; none draws both.
        share: of the skills that get a partner, rounded up.
        seed: of its choices.
    """

    def __init__(
        self, *, pairs: Mapping[str, str] | None = None, share: float = 0.25, seed: int = 0
    ) -> None:
        super().__init__(share=share, seed=seed)
        if pairs is not None and not (isinstance(pairs, Mapping) and pairs):
            raise ConfigurationError(f"pairs is {pairs!r}, expected skills, such as {{one: other}}")
        self.pairs = None if pairs is None else dict(pairs)

    def partners(self, skills: tuple[str, ...]) -> Mapping[str, str]:
        """The partner of each concerned skill.

        Raises:
            ConfigurationError: if the task does not have these skills, or too few.
        """
        if self.pairs is not None:
            _check_names(skills, [*self.pairs, *self.pairs.values()])
            return self.pairs
        drawn = _permuted(skills, self.seed)
        count = math.ceil(self.share * len(drawn))
        if 2 * count > len(drawn):
            raise ConfigurationError(
                f"pressure.share is {self.share:g}, which is {count} of {len(drawn)} skills, each "
                "with a partner among the others: expected at most half of the skills"
            )
        return dict(zip(drawn[:count], drawn[count:], strict=False))


class Prerequisites(Paired):
    """Skills that can be learned only after their partner: until then, their records are wrong.

    They have the answer of another record of their skill, until the episode has `enough` records
    of the partner. Those of the same iteration count.

    Args:
        enough: records of the partner.
    """

    def __init__(
        self,
        *,
        pairs: Mapping[str, str] | None = None,
        share: float = 0.25,
        enough: int = 20,
        seed: int = 0,
    ) -> None:
        super().__init__(pairs=pairs, share=share, seed=seed)
        self.enough = _whole(enough, 1, "enough")

    def received(
        self,
        records: Sequence[TrainingDatum],
        skills: tuple[str, ...],
        earlier: Sequence[TrainingDatum],
    ) -> Sequence[TrainingDatum]:
        taught = Counter(r.provenance.skill for r in (*earlier, *records))
        partners = self.partners(skills)
        early = {skill for skill, first in partners.items() if taught[first] < self.enough}
        return _exchanged(records, lambda r: r.provenance.skill in early)


class Interference(Paired):
    """Teaching a skill hurts its partner: some of its records teach the partner wrong answers.

    Such a record has the prompt of one of the partner's records, and its own answer. The prompts
    are those of this iteration and of earlier ones; without any, nothing is hurt.

    Args:
        harm: the share of the records of a concerned skill that hurt.
    """

    def __init__(
        self,
        *,
        pairs: Mapping[str, str] | None = None,
        share: float = 0.25,
        harm: float = 0.5,
        seed: int = 0,
    ) -> None:
        super().__init__(pairs=pairs, share=share, seed=seed)
        if not _is_number(harm) or not 0 < harm <= 1:
            raise ConfigurationError(f"harm is {harm!r}, expected more than 0, at most 1")
        self.harm = harm

    def received(
        self,
        records: Sequence[TrainingDatum],
        skills: tuple[str, ...],
        earlier: Sequence[TrainingDatum],
    ) -> Sequence[TrainingDatum]:
        partners = self.partners(skills)
        known: dict[str, list[TrainingDatum]] = {partner: [] for partner in partners.values()}
        for record in (*records, *earlier):
            known.get(record.provenance.skill or "", []).append(record)
        found = []
        for record in records:
            prompts = known.get(partners.get(record.provenance.skill or "", ""), ())
            place = self._draw(record) / self.harm
            if prompts and place < 1:
                hurt = with_answer_of(prompts[int(place * len(prompts))], record)
                record = hurt.model_copy(update={"provenance": record.provenance})
            found.append(record)
        return found


class Plateau(Pressure):
    """More records of the same skill stop to help, and then hurt.

    Of a skill's records in the episode, the first `enough` are as written. Of the next `enough`,
    every other one has the answer of another record of its skill, and so have all further ones.

    Args:
        enough: records of a skill that help.
    """

    def __init__(self, *, enough: int = 15, seed: int = 0) -> None:
        super().__init__(seed=seed)
        self.enough = _whole(enough, 1, "enough")

    def received(
        self,
        records: Sequence[TrainingDatum],
        skills: tuple[str, ...],
        earlier: Sequence[TrainingDatum],
    ) -> Sequence[TrainingDatum]:
        taught = Counter(r.provenance.skill for r in earlier)
        wrong = set()
        for record in records:
            n = taught[record.provenance.skill]
            taught[record.provenance.skill] += 1
            if n >= 2 * self.enough or (n >= self.enough and n % 2):
                wrong.add(id(record))
        return _exchanged(records, lambda r: id(r) in wrong)


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
        self.ratio = _whole(ratio, 2, "ratio")

    def problems(
        self, split: Split, instances: Sequence[TaskInstance], skills: tuple[str, ...]
    ) -> Sequence[TaskInstance]:
        return (
            instances
            if split == "train"
            else _thinned(instances, self.concerned(skills), self.ratio)
        )


class Drift(Pressure):
    """The mix of skills that the agent sees changes from iteration to iteration.

    In each iteration, the agent sees all results of other skills, and of the rest one in `ratio`.
    Score, reward and test split are over all problems, always the same ones: the mean of all mixes.

    Args:
        share: of the skills that weigh more in an iteration, rounded up.
        ratio: their weight relative to the other skills.
        seed: of their order.
    """

    def __init__(self, *, share: float = 0.25, ratio: int = 5, seed: int = 0) -> None:
        super().__init__(share=share, seed=seed)
        self.ratio = _whole(ratio, 2, "ratio")

    def shown(
        self, instances: Sequence[TaskInstance], skills: tuple[str, ...], iteration: int
    ) -> Sequence[TaskInstance]:
        drawn = _permuted(skills, self.seed)
        count = math.ceil(self.share * len(drawn))
        heavy = {drawn[(iteration * count + i) % len(drawn)] for i in range(count)}
        return _thinned(instances, heavy, self.ratio)


class Hidden(Pressure):
    """The skills of problems are hidden: their labels follow the first word of the wording.

    A label is the name of one of `groups` skills of the task, and says nothing of what a problem
    needs: its problems are of several skills, and a skill has problems under several labels.

    Args:
        groups: the number of labels.
        seed: draws the labels, and one for each word.
    """

    def __init__(self, *, groups: int = 5, seed: int = 0) -> None:
        super().__init__(seed=seed)
        self.groups = _whole(groups, 2, "groups")

    def problems(
        self, split: Split, instances: Sequence[TaskInstance], skills: tuple[str, ...]
    ) -> Sequence[TaskInstance]:
        labels = _permuted(skills, self.seed)[: self.groups]
        return [
            i.model_copy(update={"skill": self._label(i.instruction, labels), "category": None})
            for i in instances
        ]

    def _label(self, instruction: str, labels: Sequence[str]) -> str:
        first = next(iter(instruction.split()), "").lower()
        return labels[derive_seed(self.seed, first) % len(labels)]


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
    "scarce": partial(Priced, share=1.0, price=5.0),
    "traps": Traps,
    "prerequisites": Prerequisites,
    "interference": Interference,
    "skewed": Skewed,
    "noisy_teacher": NoisyTeacher,
    "hidden": Hidden,
    "priced": Priced,
    "drift": Drift,
    "plateau": Plateau,
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


def _permuted(skills: tuple[str, ...], seed: int) -> list[str]:
    """The skills in an order of the seed; ConfigurationError without skills."""
    _check_names(skills, ())
    return [skills[i] for i in derive_rng(seed, "pressure").permutation(len(skills))]


def _check_names(skills: tuple[str, ...], names: Iterable[str]) -> None:
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


def _whole(value: int, least: int, name: str) -> int:
    if not isinstance(value, int) or value < least:
        raise ConfigurationError(f"{name} is {value!r}, expected a whole number from {least} on")
    return value


def _thinned(
    instances: Sequence[TaskInstance], heavy: Container[str | None], ratio: int
) -> Sequence[TaskInstance]:
    """All instances of the heavy skills; of each other skill, one in `ratio`."""
    seen: Counter[str | None] = Counter()
    kept = []
    for instance in instances:
        if instance.skill in heavy or seen[instance.skill] % ratio == 0:
            kept.append(instance)
        seen[instance.skill] += 1
    return kept


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
