"""The floor of a task: what replies earn that are the same for every problem."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from dataenvgym.events import hearing_warnings
from dataenvgym.records import PerformanceReport, TaskInstance
from dataenvgym.records.tool_formats import as_reply
from dataenvgym.students.predictors.scripted import ScriptedPredictor
from dataenvgym.tasks.base import Task

_TRIED = 8


def floors_of(task: Task, instances: Sequence[TaskInstance]) -> list[tuple[str, PerformanceReport]]:
    """Give the same reply to every problem, in every turn, and report what it earns.

    First an empty reply, then the most frequent gold replies, the best one first.
    """
    said: Counter[str] = Counter()
    for instance in instances:
        domain = task.domain_of(instance)
        replies = [*domain.ways_to_answer(instance)]
        if (record := domain.gold_record(instance)) is not None:
            messages = [message for _, turn in record.turns() for message in turn]
            replies += [as_reply(message) for message in messages if message.role == "assistant"]
        said.update({*replies})
    found = []
    for reply in ("", *sorted(said, key=lambda reply: (-said[reply], reply))[:_TRIED]):
        student = ScriptedPredictor(lambda _, reply=reply: reply)  # type: ignore[misc]
        with hearing_warnings(lambda warning: None):  # of such a student
            report = task.generate_performance_report(task.attempt(student, instances))
        found.append((reply, report))
    return [found[0], *sorted(found[1:], key=lambda floor: -floor[1].score)]
