"""The domain of code problems: tests in a sandbox judge a reply."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property

from dataenvgym.domains.code.environment import CodeEnvironment, CodeOptions
from dataenvgym.domains.code.problem import CallTest, CodeProblem, StdioTest
from dataenvgym.domains.code.sandboxed_tests import judge
from dataenvgym.domains.code.static_analysis import normalized, problem_in, with_known_names
from dataenvgym.errors import EvaluationError
from dataenvgym.records import (
    ChatDatum,
    CompletedTaskInstance,
    LabeledAnswer,
    PerformanceReport,
    SupervisedDatum,
    TaskInstance,
)
from dataenvgym.records.tool_formats import said_in
from dataenvgym.sandbox.interface import Limits
from dataenvgym.sandbox.opening import SharedSandbox
from dataenvgym.tasks.domain import Domain, each_answer, last_reply, question_of, report_on
from dataenvgym.tasks.scoring.code.extraction import extract_code

_log = logging.getLogger(__name__)


class CodeDomain(Domain):
    """Problems whose replies are code, judged in a sandbox.

    The sandbox is opened at first use. All environments, threads and splits of a task share it.
    `close` closes it; otherwise it is closed at exit.

    Args:
        known: returns problems, such as those of a training split; their tests judge records that
            ask the same question. Called when the first record is judged.
        options: how the code is run and judged.
    """

    asks_others = False

    def __init__(
        self,
        known: Callable[[], Iterable[TaskInstance]] = tuple,
        options: CodeOptions = CodeOptions(),
    ) -> None:
        self._known = known
        self._options = options
        self.limits = Limits.model_validate(options.limits)
        self.sandbox = SharedSandbox(
            options.sandbox,
            workers=options.workers,
            options={"packages": True} if options.packages else {},
        )
        self.prompt_template = options.prompt
        CodeEnvironment((), options, shared=self.sandbox)  # raises here if an option is invalid

    def make_environment(self, instances: Sequence[TaskInstance] = ()) -> CodeEnvironment:
        """A new environment, with an open sandbox.

        Raises:
            ConfigurationError: if it cannot be opened here; the message lists the remedies.
        """
        self.sandbox.box()
        return CodeEnvironment(instances, self._options, shared=self.sandbox)

    def close(self) -> None:
        """Close the sandbox; nothing can be judged afterwards."""
        self.sandbox.close()

    def problem_of_record(self, record: SupervisedDatum | ChatDatum) -> TaskInstance | None:
        """The record as a problem, with the tests that `judge_record` would run; or None."""
        if (plain := question_of(record, self.prompt_template)) is None:
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
        """The known problem with this question (without its template), or None."""
        return self._known_problems.get(question)

    def answer_class(self, instance: TaskInstance, reply: str) -> str | None:
        """Equal for replies to that instance whose code does the same; None without code.

        If the instance's tests call the code or give it input, the class is a hash of the results;
        otherwise of the code itself, without comments and layout.
        """
        problem = instance.data_as(CodeProblem)
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

    def report(self, task: str, completed: Sequence[CompletedTaskInstance]) -> PerformanceReport:
        """The report; a last message with code is an answer, and the code is not run again."""
        return report_on(task, completed, has_answer=has_code)

    @each_answer
    def judge_record(self, answer: LabeledAnswer) -> bool | None:
        """Whether the code of its answers passes the tests of their question, as labeled.

        If the question is that of a known problem, such as one of the training split, that
        problem's tests are run; otherwise the tests in the question (asserts or `>>>` examples).
        Tests that use names defined neither by the code nor by Python are left out, and so are
        tests that use no name defined by the code. None if there are no tests, if they cannot be
        run, or if tests in the question inspect results that are not plain data, such as objects.

        Raises:
            SandboxError: if the sandbox failed; nothing was judged.
        """
        question = self.prompt_template.instruction_in(answer.question)
        known = self.known_problem(question)
        problem = known or problem_in(question)
        if problem is None:
            return None
        code = extract_code(answer.text, problem.entry_point, starter=problem.starter)
        if code is None:
            return False
        if known is None and (problem := with_known_names(problem, code)) is None:
            return None
        try:
            verdict = judge(code, problem, self.sandbox.box(), limits=self.limits)
        except EvaluationError as error:
            _log.warning("a training record was not judged: %s", error)
            return None
        if known is None and any(result.is_no_data for result in verdict.results):
            return None
        return verdict.passed

    @cached_property
    def _known_problems(self) -> dict[str, CodeProblem]:
        return {instance.instruction: instance.data_as(CodeProblem) for instance in self._known()}


def has_code(completed: CompletedTaskInstance) -> bool:
    """Whether there is code in the last message."""
    problem, reply = completed.instance.data_as(CodeProblem), last_reply(completed) or ""
    code = extract_code(said_in(reply), problem.entry_point, starter=problem.starter)
    return code is not None
