"""Rejection sampling: the student teaches itself what it got right, now and then.

Also known as expert iteration. It needs the gold answers of the task's training split to tell right
from wrong, and nobody who writes solutions.
"""

from __future__ import annotations

from collections.abc import Sequence

from dataenvgym.agents.engines.self_teaching import SelfAnswersEngine
from dataenvgym.errors import DataEnvGymError
from dataenvgym.interfaces import EnvironmentInterface
from dataenvgym.records import TaskInstance


class RejectionSamplingEngine(SelfAnswersEngine):
    """Writes records from those answers of the student that the task's scorer calls right."""

    def pick(
        self, problem: TaskInstance, answers: Sequence[str], environment: EnvironmentInterface
    ) -> str | None:
        """The first answer that is right."""
        for text in dict.fromkeys(answers):
            try:
                environment.reset(seed=0, options={"instance": problem})
                *_, info = environment.step(text)
            except DataEnvGymError:  # it cannot be judged, so nobody knows that it is right
                continue
            if info["was_correct"]:
                return text
        return None
