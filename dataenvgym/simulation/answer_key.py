"""The right answers for a simulated student: the skill of a question, and its solution."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from dataenvgym.errors import ConfigurationError
from dataenvgym.interfaces import TaskInterface
from dataenvgym.records import TaskInstance, TrainingDatum
from dataenvgym.tasks.adapted_task import known_instances, task_of
from dataenvgym.tasks.pocket import read_exercise
from dataenvgym.tasks.prompt_template import PromptTemplate
from dataenvgym.tasks.source import SPLITS
from dataenvgym.tool_formats import as_reply


class Solution(NamedTuple):
    """The skill of a question, and the student's right messages."""

    skill: str
    replies: tuple[str, ...]


class AnswerKey:
    """Solves the questions of a task: its own instances, and questions of the pocket families.

    Args:
        task: a task with gold answers and skills. Questions of all its splits are known, if it
            offers them (`on(split).instances`).
    """

    def __init__(self, task: TaskInterface) -> None:
        self._task = task

    def __getitem__(self, question: str) -> Solution | None:
        """The solution of `question`, or None if it is unknown."""
        known = (part[question] for part in reversed(self._by_split) if question in part)
        return next(known, None) or _solved(question)

    @cached_property
    def template(self) -> PromptTemplate:
        """The text of the task's prompts around a question."""
        return task_of(self._task).domain.prompt_template

    @cached_property
    def groups(self) -> list[list[str]]:
        """The task's own questions, grouped by split and skill."""
        groups: defaultdict[tuple[int, str], list[str]] = defaultdict(list)
        for split, solutions in enumerate(self._by_split):
            for question, solution in solutions.items():
                groups[split, solution.skill].append(question)
        return list(groups.values())

    @cached_property
    def _by_split(self) -> list[dict[str, Solution]]:
        splits = []
        for instances in self._instances():
            solutions = {}
            for one in instances:
                if one.skill is not None and one.answer is not None:
                    solved = _solved(one.instruction)
                    replies = solved.replies if solved else (f"#### {one.answer}",)
                    solutions[one.instruction] = Solution(one.skill, replies)
            splits.append(solutions)
        return splits

    def _instances(self) -> Iterator[Sequence[TaskInstance]]:
        """Yield the instances of each existing split."""
        task = task_of(self._task)
        if not task.offers("on"):
            yield known_instances(task)
            return
        for split in SPLITS:
            try:
                yield task.on(split).instances
            except ConfigurationError:
                if split == task.split:
                    raise  # other splits are optional


def skill_of(record: TrainingDatum, known: Collection[str] | None = None) -> str | None:
    """The skill that a record teaches: from its provenance, or found by the pocket families.

    Args:
        known: accepted names in the provenance; other names, such as those of clusters, are
            ignored. None accepts every name.
    """
    named = record.provenance.skill
    if named is not None and (known is None or named in known):
        return named
    exercise = read_exercise(record.question)
    return exercise.skill if exercise else None


def wrong_output(output: str) -> str:
    """A wrong answer that looks like `output`: its last digit is increased by one."""
    if not (digits := list(re.finditer("[0-9]", output))):
        return "#### 0"
    place = digits[-1].start()
    return f"{output[:place]}{(int(output[place]) + 1) % 10}{output[place + 1 :]}"


def _solved(question: str) -> Solution | None:
    exercise = read_exercise(question)
    if exercise is None:
        return None
    calls = tuple(as_reply(message) for message in exercise.steps if message.tool_calls)
    return Solution(exercise.skill, (*calls, exercise.output))
