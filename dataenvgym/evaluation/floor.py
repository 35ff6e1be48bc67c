"""The floor of a task: what replies earn that are the same for every problem."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from dataenvgym.predictors.scripted import ScriptedPredictor
from dataenvgym.records import TaskInstance
from dataenvgym.run_warnings import listening
from dataenvgym.tasks.base import Task
from dataenvgym.tool_formats import as_reply

_TRIED = 8


class Floor(NamedTuple):
    """What a reply earns, given to every problem in every turn."""

    reply: str
    score: float
    accuracy: float


def floors_of(task: Task, instances: Sequence[TaskInstance] | None = None) -> list[Floor]:
    """The floor of an empty reply, then those of the most frequent gold replies, the best first.

    Args:
        instances: the problems; None means those of the split.
    """
    instances = task.instances if instances is None else instances
    said = Counter(text for instance in instances for text in _gold_replies(task, instance))
    floors = []
    for reply in ("", *(text for text, _ in said.most_common(_TRIED))):
        student = ScriptedPredictor(lambda _, reply=reply: reply)  # type: ignore[misc]
        with listening(lambda warning: None):  # of such a student
            report = task.generate_performance_report(task.attempt(student, instances))
        floors.append(Floor(reply, report.score, report.accuracy))
    empty, *others = floors
    return [empty, *sorted(others, key=lambda floor: -floor.score)]


def _gold_replies(task: Task, instance: TaskInstance) -> Iterator[str]:
    """The replies that may solve a problem, each once."""
    ways = list(task.domain.ways_to_answer(instance))
    if (record := task.domain.gold_record(instance)) is not None:
        messages = (message for _, turn in record.turns() for message in turn)
        ways += [as_reply(message) for message in messages if message.role == "assistant"]
    yield from dict.fromkeys(ways)
