"""A few of the records that a student was trained on, to be asked again: how well did it learn?

The sample is a reservoir: each record of a subskill, whenever it was trained on, is in it with the
same probability, and nothing but the sample and the number of records so far has to be kept.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from dataenvgym.environments.skill_tree.transitions import Key
from dataenvgym.interfaces import PredictorInterface, TaskInterface
from dataenvgym.records import (
    CompletedTaskInstance,
    SupervisedDatum,
    TaskInstance,
    TrainingDatum,
)
from dataenvgym.rollouts import rollout
from dataenvgym.scoring import extract_final_answer
from dataenvgym.tasks.base import Task

_SUBSKILL = "subskill"


def renewed_sample(
    before: Sequence[TaskInstance],
    new: Sequence[TrainingDatum],
    seen: Mapping[Key, int],
    size: int,
    rng: np.random.Generator,
) -> list[TaskInstance]:
    """Up to `size` records of each subskill as problems, with their final answer as gold answer.

    Records without a subskill, and those that are no question with a final answer, are left out.

    Args:
        before: the sample so far.
        new: records that were trained on since.
        seen: how many records of each subskill there were before.
    """
    sample: defaultdict[Key, list[TaskInstance]] = defaultdict(list)
    for instance in before:
        sample[_key(instance)].append(instance)
    count = dict(seen)
    for problem in map(_problem, new):
        if problem is None:
            continue
        key = _key(problem)
        count[key] = count.get(key, 0) + 1
        if len(sample[key]) < size:
            sample[key].append(problem)
        elif (place := int(rng.integers(count[key]))) < size:
            sample[key][place] = problem
    return [instance for instances in sample.values() for instance in instances]


def answer_again(
    task: TaskInterface, predictor: PredictorInterface, sample: Sequence[TaskInstance]
) -> list[CompletedTaskInstance]:
    """The student's answers, graded by the task's own scorer; none if it is no `Task`."""
    if not isinstance(task, Task) or not sample:
        return []
    return rollout(
        predictor,
        [instance.model_copy(update={"task": task.name}) for instance in sample],
        task.make_environment,
        sampling=task.sampling,
        chunk_size=task.chunk_size,
        threads=task.threads,
    )


def subskill_taught(completed: CompletedTaskInstance) -> str:
    """The subskill of a record that was asked again."""
    return _key(completed.instance)[1]


def _problem(record: TrainingDatum) -> TaskInstance | None:
    source = record.provenance
    if not isinstance(record, SupervisedDatum) or record.system or record.history:
        return None
    answer = extract_final_answer(record.output)
    if answer is None or source.skill is None or source.subskill is None:
        return None
    return TaskInstance(
        id=source.id,
        task="records",
        instruction=record.prompt[-1].content,
        answer=answer,
        skill=source.skill,
        data={_SUBSKILL: source.subskill},
    )


def _key(instance: TaskInstance) -> Key:
    return str(instance.skill), str(instance.data[_SUBSKILL])
