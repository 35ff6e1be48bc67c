"""A data-generation agent: change `__call__` to what your agent should do."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from dataenvgym import CompletedTaskInstance, Task, TrainingDatum


class MyAgent:
    """Teaches gold answers to problems of the skills that the student gets wrong.

    Args:
        task: the task to teach; the command line passes it.
        seed: the seed of the run; the command line passes it, too.
        records: the most records of an iteration.
    """

    name = "my_agent"

    def __init__(self, task: Task, seed: int = 0, records: int = 100) -> None:
        self.task = task
        self.seed = seed
        self.records = records
        self.iteration = 1

    def __call__(
        self, completed: Sequence[CompletedTaskInstance], predictor: object
    ) -> list[TrainingDatum]:
        """Return the records of one iteration.

        Args:
            completed: the validation problems with the student's answers
                (`c.was_correct`, `c.transcript`); those with an error (`c.error`) are
                neither right nor wrong.
            predictor: the student, which can be asked more.
        """
        rng = random.Random(f"{self.seed} {self.iteration}")
        answered = [c for c in completed if c.error is None]
        wrong = {c.instance.skill for c in answered if not c.was_correct}
        problems = list(self.task.on("train").instances)
        weak = [problem for problem in problems if problem.skill in wrong] or problems
        chosen = rng.sample(weak, min(self.records, len(weak)))
        records = [self.task.gold_record(problem) for problem in chosen]
        return [record for record in records if record is not None]

    def step(self) -> None:
        """Called after each iteration."""
        self.iteration += 1

    def state_dict(self) -> dict[str, Any]:
        """Return the state that an interrupted run needs to continue, as plain JSON."""
        return {"iteration": self.iteration}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from this state."""
        self.iteration = state["iteration"]
