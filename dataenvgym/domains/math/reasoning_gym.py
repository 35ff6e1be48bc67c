"""Families of reasoning-gym as a task (`pip install dataenvgym[reasoning-gym]`).

The score is the family's own, between 0 and 1; 1 is correct. Families that score by evaluating
the answer as Python code are refused: a student's code is not run here.
"""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, partial
from typing import Any

from dataenvgym.domains.math.domain import FINAL_ANSWER_FORM
from dataenvgym.domains.math.reasoning_gym_source import (
    PROMPT,
    ReasoningGymFamily,
    ReasoningGymOptions,
    ReasoningGymSource,
    dataset_of,
    question_key,
)
from dataenvgym.errors import InvalidInstanceError
from dataenvgym.options import takes
from dataenvgym.records import ChatDatum, Conversation, SupervisedDatum, TaskInstance
from dataenvgym.records.tool_formats import said_in
from dataenvgym.tasks.base import Task, training_problems
from dataenvgym.tasks.domain import Domain
from dataenvgym.tasks.environment import Outcome, TaskEnvironment
from dataenvgym.tasks.prompt_template import PromptTemplate
from dataenvgym.tasks.scoring import extract_final_answer

_LONGEST = 10_000  # characters of an answer that is passed to a family's code
_HUGE = re.compile(r"\d\.?[eE][+-]?[\d_]{5}")  # `Fraction("1e99999999")` takes minutes
_scoring = threading.Lock()  # the families' code may not be thread-safe


class ReasoningGymTask(Task):
    """Problems of some families, with equal shares; the skill is the family's name.

    Raises:
        ConfigurationError: see `ReasoningGymSource`.
    """

    @takes(ReasoningGymOptions)
    def __init__(self, options: ReasoningGymOptions) -> None:
        source = ReasoningGymSource(options)
        known = partial(training_problems, self)
        domain = ReasoningGymDomain(known, options.prompt, ReasoningGymFamily(source))
        self.set_up(source, domain, options, name=options.name)


class ReasoningGymDomain(Domain):
    """Problems whose answers their families judge; answers are not compared with each other.

    Args:
        known: returns problems that records may contain, such as those of a training split.
        prompt_template: the prompt around each problem.
        family: of the exercises that the embedded teacher writes.
    """

    asks_others = False
    answer_form = FINAL_ANSWER_FORM

    def __init__(
        self,
        known: Callable[[], Iterable[TaskInstance]],
        prompt_template: PromptTemplate,
        family: ReasoningGymFamily,
    ) -> None:
        self._known = known
        self.prompt_template = prompt_template
        self.family = family

    def make_environment(self, instances: Sequence[TaskInstance] = ()) -> ReasoningGymEnvironment:
        prompt = self.prompt_template
        return ReasoningGymEnvironment(
            instances, system_prompt=prompt.system, template=prompt.template
        )

    def answer_class(self, instance: TaskInstance, reply: str) -> str | None:
        """The answer of the reply, as text."""
        return _answer_in(reply) or None

    def overlap_key(self, text: str) -> str:
        return question_key(text)

    def ways_to_answer(self, instance: TaskInstance) -> Iterator[str]:
        if instance.answer:
            yield self.family.written(instance.answer)
            yield f"<answer>{instance.answer}</answer>"

    def problem_of_record(self, record: SupervisedDatum | ChatDatum) -> TaskInstance | None:
        """The known problem in the record: only problems made by a family can be judged."""
        plain = self.question_of_record(record)
        return self._known_problems.get(plain.instruction) if plain else None

    @cached_property
    def _known_problems(self) -> dict[str, TaskInstance]:
        return {instance.instruction: instance for instance in self._known()}


class ReasoningGymEnvironment(TaskEnvironment):
    """One problem of a `ReasoningGymTask`, answered once, scored by its family.

    The answer is the text in the last <answer> tag, or else the text that
    `extract_final_answer` finds; a message without either scores as no answer. An answer of more
    than 10,000 characters, or with an exponent of five digits or more, is wrong. The options are
    those of `TaskEnvironment`.
    """

    max_turns = 1

    def __init__(
        self, instances: Sequence[TaskInstance] = (), *, system_prompt: str = PROMPT, **options: Any
    ):
        super().__init__(instances, system_prompt=system_prompt, **options)

    def respond(self, instance: TaskInstance, conversation: Conversation) -> Outcome:
        answer = _answer_in(conversation[-1].content)
        if answer is None:
            return Outcome()
        if len(answer) > _LONGEST or _HUGE.search(answer):
            return Outcome(info={"note": "scoring: the answer is too long, or a number too large"})
        with _scoring:
            dataset = dataset_of(str(instance.data["recipe"]))
            entry = dataset[int(str(instance.data["index"]))]
            if entry["question"] != instance.instruction:
                raise InvalidInstanceError(
                    f"instance {instance.id!r} is another problem in the installed reasoning-gym"
                )
            try:
                score = float(dataset.score_answer(answer, entry))
            except Exception as error:  # noqa: BLE001  a scorer that fails on an answer gives it no score
                return Outcome(info={"note": f"scoring: {type(error).__name__}: {error}"})
        if not math.isfinite(score):
            return Outcome(info={"note": f"scoring: the answer's score is {score}"})
        return Outcome(reward=score, was_correct=score >= 1.0)


def _answer_in(text: str) -> str | None:
    """The text in the last <answer> tag, or else the text marked as final answer."""
    head, mark, _ = said_in(text).rpartition("</answer>")
    _, begun, answer = head.rpartition("<answer>")
    if not mark or not begun:
        return extract_final_answer(text)
    return answer.partition("</answer>")[0].strip()
