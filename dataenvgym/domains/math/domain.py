"""The domain of math problems: a reply is judged by the final answer that it marks."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence

from dataenvgym.domains.math.code_runs import CodeRuns
from dataenvgym.domains.math.environment import MathEnvironment
from dataenvgym.records import ChatDatum, SupervisedDatum, TaskInstance
from dataenvgym.sandbox.opening import SharedSandbox
from dataenvgym.tasks.domain import Domain, question_of
from dataenvgym.tasks.prompt_template import PLAIN, PromptTemplate
from dataenvgym.tasks.scoring import extract_final_answer, gold_problems, grade_pairs

_SIGNS = re.compile(r"[+*/^=<>|×÷·−√]|(?<![a-z])-|-(?![a-z])")  # noqa: RUF001
FINAL_ANSWER_FORM = (
    'Reason in short steps. The last line of your reply is "#### " and the final answer alone.'
)
"""An `answer_form` that `extract_final_answer` reads."""


class MathDomain(Domain):
    """Problems with one final answer, which the scorer compares.

    `answer_class` is the text of the answer, because not all answers that the scorer calls equal
    have a common form (50% equals both 0.5 and 50). `same_answer` asks the scorer.

    Args:
        prompt_template: the prompt around each problem.
        code: how code in the student's replies is run, in a sandbox that all environments share;
            None runs none.
    """

    asks_others = False
    answer_form = FINAL_ANSWER_FORM

    def __init__(
        self, prompt_template: PromptTemplate = PLAIN, code: CodeRuns | None = None
    ) -> None:
        self.prompt_template = prompt_template
        self._code = code
        self._sandbox = SharedSandbox(options={"packages": True})

    def make_environment(self, instances: Sequence[TaskInstance] = ()) -> MathEnvironment:
        """A new environment, with an open sandbox if code is run.

        Raises:
            ConfigurationError: if the sandbox cannot work on this machine.
        """
        if self._code is not None:
            self._sandbox.box()
        options = self.prompt_template.options
        return MathEnvironment(instances, code=self._code, sandbox=self._sandbox, **options)

    def close(self) -> None:
        self._sandbox.close()

    def answer_class(self, instance: TaskInstance, reply: str) -> str | None:
        """The final answer of the reply; None if it marks none."""
        return extract_final_answer(reply)

    def same_answer(self, instance: TaskInstance, one: str, other: str) -> bool | None:
        """Whether the scorer calls the two answers equal; None if the check fails."""
        (verdict,) = grade_pairs([(one, other)])
        return None if verdict.error is not None else verdict.equal

    def overlap_key(self, text: str) -> str:
        """Words, digits and signs: 3 + 4 is another problem than 3 - 4."""
        signs = _SIGNS.findall(unicodedata.normalize("NFKC", text).casefold())
        return f"{super().overlap_key(text)} {''.join(signs)}".strip()

    def gold_errors(self, instances: Sequence[TaskInstance]) -> Sequence[str | None]:
        return gold_problems([instance.answer or "" for instance in instances])

    def ways_to_answer(self, instance: TaskInstance) -> Iterator[str]:
        for text in super().ways_to_answer(instance):
            yield f"#### {text}" if text == instance.answer else text

    def problem_of_record(self, record: SupervisedDatum | ChatDatum) -> TaskInstance | None:
        """The record as a question with a final answer, if it is one."""
        if (problem := question_of(record, self.prompt_template)) is None:
            return None
        answer = extract_final_answer(problem.answer or "")
        return None if answer is None else problem.model_copy(update={"answer": answer})
