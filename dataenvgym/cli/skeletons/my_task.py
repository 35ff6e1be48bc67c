"""A task: change the problems in `load`, and the scoring of replies in `respond`."""

from __future__ import annotations

import random
from collections.abc import Sequence

from dataenvgym import Message, Outcome, Task, TaskEnvironment, TaskInstance
from dataenvgym.tasks.source import Split


class MyEnvironment(TaskEnvironment):
    """One message of the student, right if it is the answer."""

    def respond(
        self,
        instance: TaskInstance,
        conversation: tuple[Message, ...],
    ) -> Outcome:
        """Score the student's message, which is the last one of the conversation."""
        was_correct = conversation[-1].content.strip() == instance.answer
        return Outcome(reward=float(was_correct), was_correct=was_correct)


class MyTask(Task):
    """Say whether a number is even or odd."""

    name = "my_task"

    def load(self, split: Split) -> Sequence[TaskInstance]:
        """The problems of a split, the same ones each time; no two splits share one."""
        numbers = list(range(300))
        random.Random(0).shuffle(numbers)
        parts = {
            "train": numbers[:200],
            "validation": numbers[200:250],
            "test": numbers[250:],
        }
        return [self.make(number) for number in parts[split]]

    def make(self, number: int) -> TaskInstance:
        """One problem."""
        return TaskInstance(
            id=str(number),
            task=self.name,
            instruction=f"Is {number} even or odd?",
            answer="odd" if number % 2 else "even",
            skill="small" if number < 100 else "large",
        )

    def make_environment(self) -> MyEnvironment:
        """A new environment for one problem at a time."""
        return MyEnvironment(self.instances)
