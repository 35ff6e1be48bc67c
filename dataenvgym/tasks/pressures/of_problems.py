"""Pressures on problems, on how they are judged, and on the results that the agent sees."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Container
from typing import Annotated

from annotated_types import Ge

from dataenvgym.records import CompletedTaskInstance
from dataenvgym.seeding import derive_seed
from dataenvgym.tasks.pressures.of_records import exchanged
from dataenvgym.tasks.pressures.pressure import (
    Instances,
    OnSkills,
    Pressure,
    Records,
    Shared,
    Skills,
    permuted,
)
from dataenvgym.tasks.source import Split


class Traps(OnSkills):
    """Skills that cannot be learned: no answer is right, and records have each other's answers."""

    def judged(
        self, completed: list[CompletedTaskInstance], skills: Skills
    ) -> list[CompletedTaskInstance]:
        traps = self.concerned(skills)
        wrong = {"was_correct": False, "reward": 0.0, "scores": {}}
        return [c.model_copy(update=wrong) if c.instance.skill in traps else c for c in completed]

    def received(self, records: Records, skills: Skills, earlier: Records) -> Records:
        traps = self.concerned(skills)
        return exchanged(records, lambda record: record.provenance.skill in traps)


class Skewed(OnSkills):
    """Skills weigh differently in the score: of the others, only some problems are evaluated.

    The problems of the concerned skills all stay; of the others, one in `ratio` does.

    Attributes:
        ratio: weight of a concerned skill relative to another one.
    """

    ratio: Annotated[int, Ge(2)] = 5

    def problems(self, split: Split, instances: Instances, skills: Skills) -> Instances:
        if split == "train":
            return instances
        return _thinned(instances, self.concerned(skills), self.ratio)


class Drift(Shared):
    """The mix of skills that the agent sees changes from iteration to iteration.

    In each iteration, the agent sees all results of a few skills, which take turns, and one in
    `ratio` of the others.
    Score, reward and test split are over all problems, always the same ones: the mean of all mixes.

    Attributes:
        share: of the skills that weigh more in an iteration, rounded up.
        ratio: their weight relative to the other skills.
        seed: of their order.
    """

    ratio: Annotated[int, Ge(2)] = 5

    def shown(self, instances: Instances, skills: Skills, iteration: int) -> Instances:
        drawn = permuted(skills, self.seed)
        count = math.ceil(self.share * len(drawn))
        heavy = {drawn[(iteration * count + i) % len(drawn)] for i in range(count)}
        return _thinned(instances, heavy, self.ratio)


class Hidden(Pressure):
    """The skills of problems are hidden: their labels follow the first word of the wording.

    A label is the name of one of `groups` skills of the task, and says nothing of what a problem
    needs: its problems are of several skills, and a skill has problems under several labels.

    Attributes:
        groups: the number of labels.
        seed: draws the labels, and one for each word.
    """

    groups: Annotated[int, Ge(2)] = 5
    seed: int = 0

    def problems(self, split: Split, instances: Instances, skills: Skills) -> Instances:
        labels = permuted(skills, self.seed)[: self.groups]
        found = []
        for instance in instances:
            first = next(iter(instance.instruction.split()), "").lower()
            label = labels[derive_seed(self.seed, first) % len(labels)]
            found.append(instance.model_copy(update={"skill": label, "category": None}))
        return found


def _thinned(instances: Instances, heavy: Container[str | None], ratio: int) -> Instances:
    """All instances of the heavy skills; of each other skill, one in `ratio`."""
    seen: Counter[str | None] = Counter()
    kept = []
    for instance in instances:
        if instance.skill in heavy or seen[instance.skill] % ratio == 0:
            kept.append(instance)
        seen[instance.skill] += 1
    return kept
