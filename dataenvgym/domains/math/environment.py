"""One math problem: the student answers once; the scorer compares its answer with the gold one.

This is `dataenvgym/Math-v0`; bare `gymnasium.make` works on the validation problems of pocket
math.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dataenvgym.errors import EvaluationError, InvalidInstanceError
from dataenvgym.records import Conversation, TaskInstance
from dataenvgym.scoring import extract_final_answer, grade_pairs
from dataenvgym.tasks.environment import Outcome, TaskEnvironment


class MathEnvironment(TaskEnvironment):
    """Reward 1.0 if the final answer of the student's message equals the gold answer, else 0.0.

    A message without a final answer is wrong. So is an answer whose check runs out of time or
    memory: otherwise a student could avoid scoring by writing towers of powers. `info["note"]`
    gives the reason. The options are those of `TaskEnvironment`.
    """

    max_turns = 1

    def begin(self, instance: TaskInstance) -> Conversation:
        if instance.answer is None:
            raise InvalidInstanceError(f"instance {instance.id!r} has no gold answer to score with")
        return self.prompt_template.conversation(instance.instruction)

    def respond(self, instance: TaskInstance, conversation: Conversation) -> Outcome:
        assert instance.answer is not None  # begin() has checked it
        answer = extract_final_answer(conversation[-1].content)
        if answer is None:
            return Outcome()
        (verdict,) = grade_pairs([(instance.answer, answer)])
        if verdict.error and not verdict.exhausted:
            raise EvaluationError(f"the answer {answer!r} could not be judged: {verdict.error}")
        return Outcome(
            reward=float(verdict.equal),
            was_correct=verdict.equal,
            info={"note": f"scoring: {verdict.error}"} if verdict.error else {},
        )


def make_default(
    instances: Sequence[TaskInstance] | None = None, **options: Any
) -> MathEnvironment:
    """Make `dataenvgym/Math-v0`: by default, with pocket math (validation).

    Args:
        options: those of `TaskEnvironment`.
    """
    if instances is None:
        from dataenvgym.domains.math.pocket import PocketMathTask

        instances = PocketMathTask(split="validation").instances
    return MathEnvironment(instances, **options)
