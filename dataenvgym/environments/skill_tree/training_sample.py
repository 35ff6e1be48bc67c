"""A few of the records that a student was trained on, to be asked again: how well did it learn?

The sample is a reservoir: each record of a subskill, whenever it was trained on, is in it with the
same probability, and nothing but the sample and the number of records so far has to be kept.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial

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
from dataenvgym.tasks.prompt_template import PromptTemplate, prompt_template_of

ProblemOf = Callable[[SupervisedDatum], TaskInstance | None]
_SUBSKILL = "subskill"


def renewed_sample(
    before: Sequence[TaskInstance],
    new: Sequence[TrainingDatum],
    seen: Mapping[Key, int],
    size: int,
    rng: np.random.Generator,
    task: object = None,
) -> list[TaskInstance]:
    """Up to `size` records of each subskill as problems.

    Records without a subskill, and those that cannot be judged as problems, are left out.

    Args:
        before: the sample so far.
        new: records that were trained on since.
        seen: how many records of each subskill there were before.
        task: makes problems of records, if it has `problem_of_record`; otherwise they are
            questions whose final answer is the gold answer.
    """
    template = prompt_template_of(task)
    problem_of = getattr(task, "problem_of_record", None) or partial(_with_answer, template)
    sample: defaultdict[Key, list[TaskInstance]] = defaultdict(list)
    for instance in before:
        sample[_key(instance)].append(instance)
    count = dict(seen)
    for record in new:
        if (problem := _problem(record, problem_of)) is None:
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
    asked = [instance.model_copy(update={"task": task.name}) for instance in sample]
    completed = rollout(
        predictor,
        [_without_subskill(instance) for instance in asked],
        task.make_environment,
        sampling=task.sampling,
        others=task.others,
        chunk_size=task.chunk_size,
        threads=task.threads,
    )
    pairs = zip(completed, asked, strict=True)
    return [c.model_copy(update={"instance": instance}) for c, instance in pairs]


def subskill_taught(completed: CompletedTaskInstance) -> str:
    """The subskill of a record that was asked again."""
    return _key(completed.instance)[1]


def _problem(record: TrainingDatum, problem_of: ProblemOf) -> TaskInstance | None:
    source = record.provenance
    if not isinstance(record, SupervisedDatum) or source.skill is None or source.subskill is None:
        return None
    if (problem := problem_of(record)) is None:
        return None
    data = {**problem.data, _SUBSKILL: source.subskill}
    return problem.model_copy(update={"id": source.id, "skill": source.skill, "data": data})


def _with_answer(template: PromptTemplate, record: SupervisedDatum) -> TaskInstance | None:
    """The record as a question with a final answer, if it is one."""
    plain = template.unframe(record)
    assert isinstance(plain, SupervisedDatum)
    answer = extract_final_answer(record.output)
    if plain.system or plain.history or answer is None:
        return None
    return TaskInstance(
        id="record", task="records", instruction=plain.prompt[-1].content, answer=answer
    )


def _without_subskill(instance: TaskInstance) -> TaskInstance:
    """The instance as the task's environment knows it."""
    data = {name: value for name, value in instance.data.items() if name != _SUBSKILL}
    return instance.model_copy(update={"data": data})


def _key(instance: TaskInstance) -> Key:
    return str(instance.skill), str(instance.data[_SUBSKILL])
