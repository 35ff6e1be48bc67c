"""The domain of code problems: a reply is judged by tests, in a sandbox."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, TypedDict, cast

from dataenvgym.errors import EvaluationError
from dataenvgym.records import ChatDatum, SupervisedDatum, TaskInstance, TrainingDatum
from dataenvgym.sandbox import Limits, Sandbox
from dataenvgym.sandbox.interface import checked_limits
from dataenvgym.tasks.base import TaskOptions
from dataenvgym.tasks.claims import Claim, all_hold, claims_of
from dataenvgym.tasks.code.environment import (
    DEFAULT_LIMITS,
    FEEDBACK,
    CodeEnvironment,
)
from dataenvgym.tasks.code.extraction import extract_code
from dataenvgym.tasks.code.judging import judge
from dataenvgym.tasks.code.problem import CallTest, CodeProblem, StdioTest, problem_of
from dataenvgym.tasks.code.reading import normalized, problem_in, with_known_names
from dataenvgym.tasks.code.shared_sandbox import SharedSandbox
from dataenvgym.tasks.domain import Domain
from dataenvgym.tasks.prompt_template import INSTRUCTION, PromptTemplate

_log = logging.getLogger(__name__)


class CodeOptions(TypedDict, total=False):
    """Keyword arguments of `CodeDomain` that tasks pass on as they are."""

    sandbox: str | Callable[..., Sandbox]
    workers: int
    packages: bool
    max_turns: int
    feedback: str
    message_limit: int
    system_prompt: str
    template: str


class CodeTaskOptions(CodeOptions, TaskOptions, total=False):
    """Keyword arguments that all tasks with code pass on."""


class CodeDomain(Domain):
    """Problems whose replies are code, judged in a sandbox.

    The sandbox is opened when it is first needed, shared by all environments and threads, by all
    splits of a task, and closed at exit or by `close`.

    Args:
        known: gives problems whose tests judge the records that put them, such as those of a
            training split; asked when a record is first judged.
        sandbox: its backend, see `open_sandbox`.
        workers: how many runs may be active at the same time.
        packages: whether code may import the packages installed beside the interpreter, where the
            backend keeps them out otherwise (see `BubblewrapSandbox`).
        limits, max_turns, feedback, message_limit, system_prompt, template: see
            `CodeEnvironment`.
    """

    def __init__(
        self,
        known: Callable[[], Iterable[TaskInstance]] = tuple,
        *,
        sandbox: str | Callable[..., Sandbox] = "bubblewrap",
        workers: int = 2,
        packages: bool = False,
        limits: Limits | Mapping[str, Any] = DEFAULT_LIMITS,
        max_turns: int = 1,
        feedback: str = FEEDBACK,
        message_limit: int = 1000,
        system_prompt: str = "",
        template: str = INSTRUCTION,
    ) -> None:
        self._known = known
        self.limits = checked_limits(limits)
        self.sandbox = SharedSandbox(
            sandbox, workers=workers, options={"packages": True} if packages else {}
        )
        self.prompt_template = PromptTemplate(system_prompt, template)
        self._environment: Callable[..., CodeEnvironment] = partial(
            CodeEnvironment,
            sandbox=self.sandbox,
            limits=self.limits,
            max_turns=max_turns,
            feedback=feedback,
            message_limit=message_limit,
            system_prompt=system_prompt,
            template=template,
        )
        self.make_environment()  # an impossible option is refused here

    def make_environment(self, instances: Sequence[TaskInstance] = ()) -> CodeEnvironment:
        return self._environment(instances)

    def check_ready(self) -> None:
        """Open the sandbox.

        Raises:
            ConfigurationError: if it cannot be opened here; it says the ways out.
        """
        self.sandbox.box()

    def close(self) -> None:
        """Close the sandbox; nothing can be judged afterwards."""
        self.sandbox.close()

    def judge_record(self, record: TrainingDatum) -> bool | None:
        """Whether what a training record claims holds, by running its code on its own tests.

        These are the tests of the problem of the training split that it puts, or else those that
        stand in its question (asserts, or `>>>` examples). Tests about names that neither the code
        nor Python has are left out, and those about nothing that the code defines. None if there
        are no tests, if they cannot be run, or if
        those of the question look at results that are no plain data, such as objects.

        Raises:
            SandboxError: if the sandbox failed, so that nothing was judged.
        """
        return all_hold([self._holds(claim) for claim in claims_of(record)])

    def problem_of_record(self, record: SupervisedDatum | ChatDatum) -> TaskInstance | None:
        """The record as a problem, with the tests that `judge_record` judges it by; or None."""
        if (plain := self.question_of_record(record)) is None:
            return None
        question = plain.instruction
        if (problem := self.known_problem(question)) is None:
            demanded = problem_in(question)
            code = demanded and extract_code(plain.answer or "", demanded.entry_point)
            problem = with_known_names(demanded, code) if demanded and code else None
        if problem is None:
            return None
        return plain.model_copy(update={"answer": None, "data": problem.data()})

    def known_problem(self, question: str) -> CodeProblem | None:
        """The problem that a question without its template puts, if it is known."""
        return self._known_problems.get(question)

    def answer_class(self, instance: TaskInstance, reply: str) -> str | None:
        """Equal for replies to that instance that do the same; None without code.

        Where the instance's tests call the code or give it input, it is a hash of what the code
        gave; elsewhere of the code itself, without comments and layout.
        """
        problem = problem_of(instance)
        code = extract_code(reply, problem.entry_point, starter=problem.starter)
        if code is None:
            return None
        shown = [normalized(code)]
        if any(isinstance(test, CallTest | StdioTest) for test in problem.tests):
            verdict = judge(code, problem, self.sandbox.box(), limits=self.limits)
            shown = [
                result.message if result.got is None else result.got for result in verdict.results
            ]
        return hashlib.sha256("\0".join(shown).encode("utf-8", "replace")).hexdigest()[:16]

    def _holds(self, claim: Claim) -> bool | None:
        """Whether a claim is true; None if that cannot be told."""
        question = self.prompt_template.instruction_in(claim.question)
        known = self.known_problem(question)
        problem = known or problem_in(question)
        if problem is None:
            return None
        code = extract_code(claim.answer, problem.entry_point, starter=problem.starter)
        if code is None:
            return not claim.is_right
        if known is None and (problem := with_known_names(problem, code)) is None:
            return None
        try:
            verdict = judge(code, problem, self.sandbox.box(), limits=self.limits)
        except EvaluationError as error:
            _log.warning("a training record was not judged: %s", error)
            return None
        if known is None and any(result.is_no_data for result in verdict.results):
            return None
        return verdict.passed == claim.is_right

    @cached_property
    def _known_problems(self) -> dict[str, CodeProblem]:
        return {instance.instruction: problem_of(instance) for instance in self._known()}


def parted(options: CodeTaskOptions) -> tuple[CodeOptions, TaskOptions]:
    """The options of the domain, and the others."""
    own = {name: value for name, value in options.items() if name in CodeOptions.__annotations__}
    others = {name: value for name, value in options.items() if name not in own}
    return cast(CodeOptions, own), cast(TaskOptions, others)
