"""Gold records: a task's own instances with their gold answers, as training records.

How an answer has to be written is the task's affair, so each record is tried on the task's own
environment: of several ways to write the gold answer, the first one that scores as correct is
taken. An instance that none of them solves (no gold answer, several turns) gives no record.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from dataenvgym.errors import ConfigurationError, DataEnvGymError
from dataenvgym.interfaces import EnvironmentInterface, TaskInterface
from dataenvgym.records import Conversation, Provenance, SupervisedDatum, TaskInstance
from dataenvgym.tasks.prompt_template import prompt_fields


def train_instances(task: TaskInterface) -> tuple[TaskInstance, ...]:
    """The instances of the task's train split.

    Raises:
        ConfigurationError: if the task offers no splits, or nothing to train on.
    """
    if not hasattr(task, "on"):
        raise ConfigurationError(
            f"{type(task).__name__} has no splits (no method `on`), and records are to be taken "
            "from its train split: give a file of records (path=...), or another engine"
        )
    return tuple(task.on("train").instances)


def gold_records(task: Any, instances: Sequence[TaskInstance]) -> list[SupervisedDatum]:
    """A record for each of the instances whose gold answer the task counts as correct.

    The prompt is what the student reads in the task's environment; `provenance.skill` is the
    instance's.

    Args:
        task: with `make_environment()`, as `dataenvgym.tasks.Task` has it.

    Raises:
        ConfigurationError: if the task makes no environments.
    """
    if not hasattr(task, "make_environment"):
        raise ConfigurationError(
            f"{type(task).__name__} has no `make_environment`, in which gold answers are tried: "
            "give a file of records (path=...), or another engine"
        )
    environment = task.make_environment()
    try:
        found = (_gold_record(environment, instance) for instance in instances)
        return [record for record in found if record is not None]
    finally:
        environment.close()


def record_of_prompt(
    conversation: Conversation, output: str, skill: str | None
) -> SupervisedDatum | None:
    """The record with that prompt; None if there is no such record (see `prompt_fields`)."""
    fields = prompt_fields(conversation)
    if fields is None or not output:
        return None
    return SupervisedDatum(**fields, output=output, provenance=Provenance(skill=skill))


def _gold_record(
    environment: EnvironmentInterface, instance: TaskInstance
) -> SupervisedDatum | None:
    for output in _ways_to_answer(instance):
        try:
            conversation, _ = environment.reset(seed=0, options={"instance": instance})
            *_, info = environment.step(output)
        except DataEnvGymError:
            return None  # it cannot be judged, so nobody knows that it is right
        if info["was_correct"]:
            return record_of_prompt(conversation, output, instance.skill)
    return None


def _ways_to_answer(instance: TaskInstance) -> Iterator[str]:
    solution = instance.data.get("solution")
    if isinstance(solution, str) and solution:
        yield solution
    if instance.answer:
        yield instance.answer
        yield f"#### {instance.answer}"
        yield f"<answer>{instance.answer}</answer>"
