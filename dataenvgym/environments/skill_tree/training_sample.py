"""A sample of the training records, which the student answers before and after its training.

This is reservoir sampling: each record of a subskill is in the sample with the same probability,
whenever it was trained on. Only the sample and the number of records so far are kept.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from dataenvgym.environments.skill_tree.transitions import Key
from dataenvgym.interfaces import PredictorInterface
from dataenvgym.records import (
    ChatDatum,
    CompletedTaskInstance,
    SupervisedDatum,
    TaskInstance,
    TrainingDatum,
)
from dataenvgym.tasks.adapted_task import one_by_one
from dataenvgym.tasks.base import Task

_SUBSKILL = "subskill"


def renewed_sample(
    before: Sequence[TaskInstance],
    new: Sequence[TrainingDatum],
    seen: Mapping[Key, int],
    size: int,
    rng: np.random.Generator,
    task: Task,
) -> list[TaskInstance]:
    """Update the sample: up to `size` records of each subskill, as problems.

    Leaves out records without a subskill, and records that the task's domain cannot judge as
    problems.

    Args:
        before: the sample so far.
        new: records that were trained on since.
        seen: the number of earlier records of each subskill.
    """
    sample: defaultdict[Key, list[TaskInstance]] = defaultdict(list)
    for instance in before:
        sample[_key(instance)].append(instance)
    count = dict(seen)
    for record in new:
        source = record.provenance
        if source.skill is None or source.subskill is None:
            continue
        if not isinstance(record, SupervisedDatum | ChatDatum):
            continue
        if (found := task.problem_of(record)) is None:
            continue
        data = {**found.data, _SUBSKILL: source.subskill}
        problem = found.model_copy(update={"id": source.id, "skill": source.skill, "data": data})
        key = _key(problem)
        count[key] = count.get(key, 0) + 1
        if len(sample[key]) < size:
            sample[key].append(problem)
        elif (place := int(rng.integers(count[key]))) < size:
            sample[key][place] = problem
    return [instance for instances in sample.values() for instance in instances]


def answer_again(
    task: Task, predictor: PredictorInterface, sample: Sequence[TaskInstance]
) -> list[CompletedTaskInstance]:
    """The student's answers, graded by the task; empty if the problems cannot be tried."""
    if (tried := one_by_one(task)) is None or not sample:
        return []
    asked = [instance.model_copy(update={"task": tried.name}) for instance in sample]
    problems = []
    for instance in asked:  # as the task's environment knows them
        data = {name: value for name, value in instance.data.items() if name != _SUBSKILL}
        problems.append(instance.model_copy(update={"data": data}))
    completed = tried.attempt(predictor, problems)
    pairs = zip(completed, asked, strict=True)
    return [c.model_copy(update={"instance": instance}) for c, instance in pairs]


def subskill_taught(completed: CompletedTaskInstance) -> str:
    """The subskill of a record that the student answered again."""
    return _key(completed.instance)[1]


def _key(instance: TaskInstance) -> Key:
    return str(instance.skill), str(instance.data[_SUBSKILL])
