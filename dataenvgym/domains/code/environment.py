"""One code problem: the student writes Python, tests judge it, and the student may try again.

This is `dataenvgym/Code-v0`; bare `gymnasium.make` works on the validation problems of pocket
code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import PositiveInt

from dataenvgym.domains.code.problem import CodeProblem
from dataenvgym.domains.code.sandboxed_tests import CodeVerdict, judge
from dataenvgym.errors import shorten
from dataenvgym.records import Conversation, Message, TaskInstance
from dataenvgym.sandbox import Limits, Sandbox
from dataenvgym.sandbox.opening import SharedSandbox
from dataenvgym.tasks.environment import Outcome, TaskEnvironment
from dataenvgym.tasks.options import PromptOptions
from dataenvgym.tasks.scoring.code.extraction import extract_code

AGAIN = "\n\nCorrect the code, and give all of it again."
NO_CODE = "There is no Python code in your answer."
HIDDEN_FAILED = "Your code passes the tests that you may see, but it fails a hidden one."
PUBLIC_FAILED = "Your code fails a test."
_LONGEST_FAILURE = 1000
DEFAULT_LIMITS = Limits(seconds=10)
_LONGEST_NOTE = 300


@dataclass(frozen=True, kw_only=True)
class CodeOptions(PromptOptions):
    """How code is run and judged.

    Attributes:
        sandbox: where the code runs (see `open_sandbox`); "unsafe_local" gives no protection.
        workers: how many runs may be active at the same time.
        packages: whether code may import the packages installed beside the interpreter, if the
            backend hides them by default (see `BubblewrapSandbox`).
        limits: for each run. Each stdin test is a run; all other tests of a problem share one. But
            `seconds` is for each test (see `judge`).
        max_turns: how often the student may try; after each failure it gets the reason.
    """

    sandbox: str | Callable[..., Sandbox] = "bubblewrap"
    workers: PositiveInt = 2
    packages: bool = False
    limits: Limits | Mapping[str, Any] = DEFAULT_LIMITS
    max_turns: PositiveInt = 1


class CodeEnvironment(TaskEnvironment):
    """Reward 1.0 if the code of the student's message passes all tests, else 0.0.

    The score `tests_passed` is the share of the tests that passed. With `max_turns` above 1, the
    student gets a message after code that fails: the failure of the first public test that failed,
    or only that a hidden test failed, not which. The student's next message is judged anew. An
    exception from `step` means that the sandbox failed, never that the code did.

    Args:
        instances, render_mode: see `TaskEnvironment`.
        options: how the code is run and judged.
        shared: where the code runs; without it, the environment opens a sandbox of its own, which
            `close` closes.
    """

    def __init__(
        self,
        instances: Sequence[TaskInstance] = (),
        options: CodeOptions = CodeOptions(),
        *,
        shared: SharedSandbox | None = None,
        render_mode: str | None = None,
    ):
        super().__init__(
            instances,
            max_turns=options.max_turns,
            system_prompt=options.system_prompt,
            template=options.template,
            render_mode=render_mode,
        )
        self.limits = Limits.model_validate(options.limits)
        self._owns_sandbox = shared is None
        self._sandbox = shared or SharedSandbox(options.sandbox, workers=1)
        self._problem: CodeProblem | None = None

    def begin(self, instance: TaskInstance) -> Conversation:
        self._problem = instance.data_as(CodeProblem)
        return self.prompt_template.conversation(instance.instruction)

    def respond(self, instance: TaskInstance, conversation: Conversation) -> Outcome:
        problem = self._problem
        assert problem is not None  # begin() has checked it
        reply = conversation[-1].content
        code = extract_code(reply, problem.entry_point, starter=problem.starter)
        verdict = None
        if code is not None:
            verdict = judge(code, problem, self._sandbox.box(), limits=self.limits)
        was_correct = verdict is not None and verdict.passed
        tries = sum(message.role == "assistant" for message in conversation)
        done = was_correct or tries >= self.max_turns
        reason = HIDDEN_FAILED if verdict else NO_CODE
        if verdict and (failed := verdict.public_failure):
            reason = shorten(f"{PUBLIC_FAILED}\n{failed.message}", _LONGEST_FAILURE)
        answer = Message(role="user", content=reason + AGAIN)
        return Outcome(
            messages=() if done else (answer,),
            reward=float(was_correct),
            done=done,
            was_correct=was_correct,
            info=_note(verdict),
            scores={"tests_passed": verdict.share if verdict else 0.0},
        )

    def close(self) -> None:
        if self._owns_sandbox:
            self._sandbox.close()


def _note(verdict: CodeVerdict | None) -> dict[str, str]:
    """Why the code failed, for the record."""
    if verdict is None:
        return {"note": "no code in the reply"}
    failed = next((result for result in verdict.results if not result.passed), None)
    if failed is None:
        return {}
    passed = sum(result.passed for result in verdict.results)
    text = f"{passed} of {len(verdict.results)} tests passed; {failed.message}"
    return {"note": shorten(" ".join(text.split()), _LONGEST_NOTE)}
