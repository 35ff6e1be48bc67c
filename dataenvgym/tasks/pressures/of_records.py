"""Pressures on the records that reach the student: wrong ones, and dropped ones."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated

from annotated_types import Gt, Le
from pydantic import Field, PositiveInt

from dataenvgym.errors import ConfigurationError
from dataenvgym.records import ChatDatum, KTODatum, PreferenceDatum, SupervisedDatum, TrainingDatum
from dataenvgym.tasks.pressures.pressure import (
    Instances,
    OnSkills,
    Pressure,
    Records,
    Shared,
    Skills,
    check_names,
    permuted,
)
from dataenvgym.tasks.source import Split


class NoisyTeacher(Shared):
    """Some records have the answer of another record of their skill.

    Plain text and scored tries have no answer that a teacher wrote, and stay as they are.

    Attributes:
        share: of the records that are wrong.
        seed: of their choice.
    """

    share: Annotated[float, Gt(0), Le(1)] = 0.2

    def received(self, records: Records, skills: Skills, earlier: Records) -> Records:
        return exchanged(records, lambda r: self._draw(r) < self.share)


class Paired(Shared):
    """The base of pressures that concern pairs of skills.

    Attributes:
        pairs: for each concerned skill its partner, such as {middle: smallest}; none draws both.
        share: of the skills that get a partner, rounded up.
        seed: of its choices.
    """

    pairs: Mapping[str, str] | None = Field(default=None, min_length=1)

    def problems(self, split: Split, instances: Instances, skills: Skills) -> Instances:
        self.partners(skills)  # names unknown skills before anything runs
        return instances

    def partners(self, skills: Skills) -> Mapping[str, str]:
        """The partner of each concerned skill.

        Raises:
            ConfigurationError: if the task does not have these skills, or too few.
        """
        if self.pairs is not None:
            check_names(skills, [*self.pairs, *self.pairs.values()])
            return self.pairs
        drawn = permuted(skills, self.seed)
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

    Attributes:
        enough: records of the partner.
    """

    enough: PositiveInt = 20

    def received(self, records: Records, skills: Skills, earlier: Records) -> Records:
        taught = Counter(r.provenance.skill for r in (*earlier, *records))
        partners = self.partners(skills)
        early = {skill for skill, first in partners.items() if taught[first] < self.enough}
        return exchanged(records, lambda r: r.provenance.skill in early)


class Interference(Paired):
    """Teaching a skill hurts its partner: some of its records teach the partner wrong answers.

    Such a record has the prompt of one of the partner's records, and its own answer. The prompts
    are those of this iteration and of earlier ones; without any, nothing is hurt.

    Attributes:
        harm: the share of the records of a concerned skill that hurt.
    """

    harm: Annotated[float, Gt(0), Le(1)] = 0.5

    def received(self, records: Records, skills: Skills, earlier: Records) -> Records:
        partners = self.partners(skills)
        known: dict[str, list[TrainingDatum]] = {partner: [] for partner in partners.values()}
        for record in (*records, *earlier):
            known.get(record.provenance.skill or "", []).append(record)
        found = []
        for record in records:
            prompts = known.get(partners.get(record.provenance.skill or "", ""), ())
            place = self._draw(record) / self.harm
            if prompts and place < 1:
                prompt = prompts[int(place * len(prompts))]
                hurt = with_answer_of(prompt, record)
                if hurt != prompt:  # plain text and scored tries have no answer
                    record = hurt.model_copy(update={"provenance": record.provenance})
            found.append(record)
        return found


class Plateau(Pressure):
    """More records of the same skill stop to help, and then hurt.

    Of a skill's records in the episode, the first `enough` are as written. Of the next `enough`,
    every other one has the answer of another record of its skill, and so have all further ones.

    Attributes:
        enough: records of a skill that help.
    """

    enough: PositiveInt = 15

    def received(self, records: Records, skills: Skills, earlier: Records) -> Records:
        taught = Counter(r.provenance.skill for r in earlier)
        wrong = set()
        for record in records:
            n = taught[record.provenance.skill]
            taught[record.provenance.skill] += 1
            if n >= 2 * self.enough or (n >= self.enough and n % 2):
                wrong.add(id(record))
        return exchanged(records, lambda r: id(r) in wrong)


class Priced(OnSkills):
    """A record of a concerned skill costs `price` times as much of an iteration's records.

    So of `price` such records one reaches the student, and the others are dropped as `price`. A
    record's skill is the one in its provenance.

    Attributes:
        price: of a record, relative to one of another skill.
    """

    price: Annotated[float, Gt(1)] = 5.0

    def fault(self, record: TrainingDatum, skills: Skills) -> str | None:
        is_dear = self.share == 1 or record.provenance.skill in self.concerned(skills)
        return "price" if is_dear and self._draw(record) * self.price >= 1 else None


class Scarce(Priced):
    """All records are priced: of `price` records one reaches the student."""

    share: Annotated[float, Gt(0), Le(1)] = 1.0


def exchanged(
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
