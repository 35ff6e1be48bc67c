"""One math problem: the student answers; the scorer compares its answer with the gold one.

This is `dataenvgym/Math-v0`; bare `gymnasium.make` works on the validation problems of pocket
math.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dataenvgym.domains.math.code_runs import CodeRuns
from dataenvgym.errors import EvaluationError, InvalidInstanceError
from dataenvgym.records import Conversation, Message, TaskInstance
from dataenvgym.sandbox.opening import SharedSandbox
from dataenvgym.tasks.environment import Outcome, TaskEnvironment
from dataenvgym.tasks.scoring import extract_final_answer, grade_pairs


class MathEnvironment(TaskEnvironment):
    """Reward 1.0 if the final answer of the student's message equals the gold answer, else 0.0.

    A message without a final answer is wrong. So is an answer whose check runs out of time or
    memory: otherwise a student could avoid scoring by writing towers of powers. `info["note"]`
    gives the reason.

    With `code`, a message that ends in code is answered by its output, and the student goes on; the
    score `code_runs` is how often it did. An exception from `step` then means that the sandbox
    failed, never that the code did.

    Args:
        instances, options: see `TaskEnvironment`.
        code: how code in the student's messages is run; None runs none.
        sandbox: where it runs; without one, the environment opens its own, which `close` closes.
    """

    max_turns = 1

    def __init__(
        self,
        instances: Sequence[TaskInstance] = (),
        *,
        code: CodeRuns | None = None,
        sandbox: SharedSandbox | None = None,
        **options: Any,
    ) -> None:
        super().__init__(instances, **options)
        self._code = code
        self._owns_sandbox = sandbox is None
        self._sandbox = sandbox or SharedSandbox(workers=1, options={"packages": True})
        if code is not None:
            self.max_turns = code.calls + 1

    def begin(self, instance: TaskInstance) -> Conversation:
        if instance.answer is None:
            raise InvalidInstanceError(f"instance {instance.id!r} has no gold answer to score with")
        return self.prompt_template.conversation(instance.instruction)

    def respond(self, instance: TaskInstance, conversation: Conversation) -> Outcome:
        assert instance.answer is not None  # begin() has checked it
        scores: dict[str, float] = {}
        if self._code is not None:
            output = self._code.respond(conversation, self._sandbox.box())
            if output is not None:
                return Outcome(messages=(Message(role="user", content=output),), done=False)
            scores["code_runs"] = float(sum(m.role == "assistant" for m in conversation) - 1)
        answer = extract_final_answer(conversation[-1].content)
        if answer is None:
            return Outcome(scores=scores)
        (verdict,) = grade_pairs([(instance.answer, answer)])
        if verdict.error and not verdict.exhausted:
            raise EvaluationError(f"the answer {answer!r} could not be judged: {verdict.error}")
        return Outcome(
            reward=float(verdict.equal),
            was_correct=verdict.equal,
            info={"note": f"scoring: {verdict.error}"} if verdict.error else {},
            scores=scores,
        )

    def close(self) -> None:
        super().close()
        if self._owns_sandbox:
            self._sandbox.close()
