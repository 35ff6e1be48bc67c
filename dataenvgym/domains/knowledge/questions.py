r"""Questions without passages: multiple choice, short answers, instructions with checkable rules.

A row of a source has a question ("question", "problem", "prompt" or "input"), and one of

    choices         {"question", "choices": ["Paris", "Rome"], "answer": 0, "A" or "Paris"}; ARC's
                    {"choices": {"text": [...], "label": [...]}, "answerKey": "B"}, and "options"
    answers         {"question", "answer", "expected_answer" or "answers": one text or several}
    instructions    IFEval's {"prompt", "instruction_id_list": [...], "kwargs": [...]}

With choices, the student reads them as "A) Paris", and its reply is read by `read_choice`. The
"subject", "category" or "skill" of a row is the skill of the problem.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import cache, partial
from typing import Any, Literal

from dataenvgym.domains.knowledge.choice import read_choice
from dataenvgym.domains.knowledge.domain import KnowledgeDomain
from dataenvgym.domains.knowledge.environment import (
    GradedBy,
    KnowledgeEnvironment,
    golds_of,
)
from dataenvgym.errors import ConfigurationError, InvalidInstanceError, need
from dataenvgym.interfaces import Ask, Reply
from dataenvgym.options import takes
from dataenvgym.records import Conversation, TaskInstance
from dataenvgym.records.tool_formats import said_in
from dataenvgym.tasks.base import Task
from dataenvgym.tasks.environment import Outcome
from dataenvgym.tasks.options import PromptOptions, RowOptions, TaskOptions
from dataenvgym.tasks.prompt_template import PLAIN, PromptTemplate
from dataenvgym.tasks.row_source import Places, RowSource
from dataenvgym.tasks.rows import SourceRow, UnfitRowError

Grader = Literal["choice", "exact_match", "f1", "instructions", "judge"]

_QUESTIONS = ("question", "problem", "prompt", "input")
_CHOICES = ("choices", "options")
_ANSWERS = ("answer", "answers", "answerKey", "target", "expected_answer")
_SKILLS = ("subject", "category", "skill")


def _choices_of(instance: TaskInstance) -> list[str]:
    choices = instance.data.get("choices")
    return [str(one) for one in choices] if isinstance(choices, list) else []


def followed(instance: TaskInstance, reply: str) -> Outcome:
    """The share of the instructions that a reply follows; all must be followed to be right.

    The score `loose` also accepts a reply without its first or last line, or without asterisks, as
    in IFEval's paper (Zhou et al., 2023).
    """
    data: Any = instance.data
    registry, evaluate = _instruction_checks()
    results, scores = evaluate(
        reply, data["instructions"], data["kwargs"], instance.instruction, registry
    )
    failed = [result.instruction_id for result in results if not result.strict_pass]
    return Outcome(
        reward=scores.partial_strict,
        was_correct=scores.binary_strict == 1.0,
        scores={"loose": scores.binary_loose},
        info={"note": f"not followed: {', '.join(failed)}"} if failed else {},
    )


class QuestionEnvironment(KnowledgeEnvironment):
    """The student answers once; see `QuestionOptions.graded_by`. The options are the base's."""

    def __init__(
        self,
        instances: Sequence[TaskInstance] = (),
        *,
        graded_by: Grader = "exact_match",
        **options: Any,
    ) -> None:
        base: GradedBy = "judge" if graded_by == "judge" else "exact_match"
        super().__init__(instances, graded_by=base, **options)
        self.grader = graded_by

    def begin(self, instance: TaskInstance) -> Conversation:
        if self.grader == "instructions":
            return self.prompt_template.conversation(instance.instruction)
        return super().begin(instance)

    def respond(
        self, instance: TaskInstance, conversation: Conversation
    ) -> Generator[Ask, Reply, Outcome]:
        reply = conversation[-1].content
        if self.grader == "instructions":
            return followed(instance, reply)
        if self.grader == "choice":
            is_right = read_choice(reply, _choices_of(instance)) == instance.answer
            return Outcome(reward=float(is_right), was_correct=is_right)
        outcome = yield from super().respond(instance, conversation)
        return replace(outcome, reward=outcome.scores["f1"]) if self.grader == "f1" else outcome


class QuestionDomain(KnowledgeDomain):
    """Questions, graded by one of several scorers; see `QuestionOptions.graded_by`."""

    def __init__(
        self, prompt_template: PromptTemplate = PLAIN, *, graded_by: Grader = "exact_match"
    ) -> None:
        super().__init__(prompt_template)
        self.asks_others = graded_by == "judge"
        self.alone = QuestionDomain(prompt_template) if self.asks_others else self
        self.graded_by = graded_by
        self._environment = partial(
            QuestionEnvironment,
            graded_by=graded_by,
            system_prompt=prompt_template.system,
            template=prompt_template.template,
        )

    def make_environment(self, instances: Sequence[TaskInstance] = ()) -> QuestionEnvironment:
        if self.graded_by == "instructions":
            _instruction_checks()  # raises here if they are not installed
        return self._environment(instances)

    def answer_class(self, instance: TaskInstance, reply: str) -> str | None:
        """The letter of a choice; the text of an answer to instructions; else see the base."""
        if self.graded_by == "choice" and "choices" in instance.data:
            return read_choice(said_in(reply), _choices_of(instance))
        if self.graded_by == "instructions":
            return said_in(reply).strip() or None
        return super().answer_class(instance, reply)

    def gold_errors(self, instances: Sequence[TaskInstance]) -> Sequence[str | None]:
        if self.graded_by in ("choice", "instructions"):  # checked when they are read
            return [None] * len(instances)
        return super().gold_errors(instances)

    def ways_to_answer(self, instance: TaskInstance) -> Iterator[str]:
        if self.graded_by != "instructions":
            yield from golds_of(instance)


@dataclass(frozen=True)
class QuestionOptions(TaskOptions, RowOptions, PromptOptions):
    """Options of `QuestionTask`.

    Attributes:
        sources: one path for all splits, or {train: ..., validation: ..., test: ...}; `eval` of one
            path uses all its problems (see `RowSource`).
        name: name of the task.
        graded_by: "choice" (the letter of a choice), "exact_match" with a gold answer, up to case,
            punctuation and articles, "f1" (words shared with the best gold answer),
            "instructions" (the share of checkable rules that the reply follows; the extra
            `ifeval`), or "judge": the model in `others.judge`.
    """

    sources: Places
    _: KW_ONLY
    name: str = "questions"
    graded_by: Grader = "exact_match"


class QuestionTask(Task):
    """Your own questions: task.sources=FILE task.graded_by=choice, f1, instructions or judge.

    QuestionTask("mmlu.jsonl", graded_by="choice")
    """

    @takes(QuestionOptions)
    def __init__(self, options: QuestionOptions) -> None:
        domain = QuestionDomain(options.prompt, graded_by=options.graded_by)
        source = RowSource(
            options.sources,
            partial(to_instance, options=options),
            options,
            name=options.name,
            overlap_key=domain.overlap_key,
            gold_errors=domain.gold_errors,
        )
        self.set_up(source, domain, options, name=options.name)
        if options.graded_by == "judge" and "judge" not in self.others:
            raise ConfigurationError(
                "graded_by is 'judge', and there is none: set task.others.judge=openai/NAME or "
                "another model, or another task.graded_by"
            )


def to_instance(row: SourceRow, options: QuestionOptions) -> TaskInstance:
    """The problem in a row, for its grader.

    Raises:
        InvalidInstanceError: if a field is missing or of another form.
        UnfitRowError: if it has no gold answer.
    """
    asked = _field(row, _QUESTIONS, "a question")
    if not isinstance(asked, str) or not asked.strip():
        raise InvalidInstanceError(f"{row.where}: the question is {asked!r:.80}, expected text")
    skill = next((str(row.values[n]) for n in _SKILLS if row.values.get(n)), None)
    instance = TaskInstance(
        id=str(row.values.get("id") or row.id),
        task=options.name,
        instruction=asked.strip(),
        skill=skill,
        category=skill,
    )
    if options.graded_by == "instructions":
        return instance.model_copy(update={"data": _instructions(row)})
    answer = _field(row, _ANSWERS, "an answer")
    if options.graded_by == "choice":
        choices, letter = _choices(row, answer)
        lines = [f"{a}) {c}" for a, c in zip(string.ascii_uppercase, choices, strict=False)]
        changes = {"answer": letter, "data": {"choices": choices}}
        text = "\n".join([instance.instruction, "", *lines])
        return instance.model_copy(update={"instruction": text, **changes})
    listed = answer if isinstance(answer, list) else [answer]
    if other := [one for one in listed if not isinstance(one, str | int | float)]:
        raise InvalidInstanceError(
            f"{row.where}: the answer is {other[0]!r:.80}, expected a text or a list of texts"
        )
    golds = [text for one in listed if (text := str(one).strip())]
    if not golds:
        raise UnfitRowError(f"{row.where}: the question has no answer: {asked!r:.80}")
    data = {"answers": list(dict.fromkeys(golds))} if len(golds) > 1 else {}
    return instance.model_copy(update={"answer": golds[0], "data": data})


def _field(row: SourceRow, names: Sequence[str], what: str) -> Any:
    for name in names:
        if row.values.get(name) is not None:
            return row.values[name]
    raise InvalidInstanceError(
        f"{row.where}: the fields are {', '.join(row.values) or 'none'}, expected {what} in one of "
        f"{', '.join(names)}"
    )


def _choices(row: SourceRow, answer: Any) -> tuple[list[str], str]:
    """The texts of the choices, and the letter of the right one."""
    given = _field(row, _CHOICES, "choices")
    labels: list[str] = []
    if isinstance(given, Mapping):
        labels, given = [str(one) for one in given.get("label", ())], given.get("text")
    choices = [str(one) for one in given] if isinstance(given, list) else []
    letters = string.ascii_uppercase[: len(choices)]
    if not 2 <= len(choices) <= len(string.ascii_uppercase):
        raise InvalidInstanceError(
            f"{row.where}: the choices are {given!r:.80}, expected a list of 2 to 26 texts"
        )
    place: int | None = None
    if str(answer) in labels:
        place = labels.index(str(answer))
    elif isinstance(answer, int) and not isinstance(answer, bool):
        place = answer
    elif str(answer).strip() in [*letters]:
        place = letters.index(str(answer).strip())
    elif choices.count(str(answer)) == 1:
        place = choices.index(str(answer))
    if place is None or not 0 <= place < len(choices):
        raise InvalidInstanceError(
            f"{row.where}: the answer is {answer!r:.80}, expected the letter, the number (from 0) "
            f"or the text of one of {len(choices)} choices"
        )
    return choices, letters[place]


def _instructions(row: SourceRow) -> dict[str, Any]:
    names = row.values.get("instruction_id_list")
    kwargs = row.values.get("kwargs")
    if not isinstance(names, list) or not isinstance(kwargs, list) or len(names) != len(kwargs):
        raise InvalidInstanceError(
            f"{row.where}: expected instruction_id_list and kwargs, lists of the same length, as "
            f"IFEval has them; found {names!r:.80} and {kwargs!r:.80}"
        )
    if unknown := [name for name in names if name not in _instruction_checks()[0]]:
        raise UnfitRowError(f"{row.where}: there is no check of {', '.join(unknown)}")
    return {"instructions": names, "kwargs": kwargs}


@cache
def _instruction_checks() -> tuple[Mapping[str, Any], Callable[..., Any]]:
    try:
        from if_verifiable.common import evaluate_instructions
        from if_verifiable.ifeval import INSTRUCTION_DICT
        from langdetect import DetectorFactory
    except ImportError as error:
        lacks = ConfigurationError(
            f"graded_by is 'instructions', which needs the package if-verifiable ({error}): "
            "pip install 'dataenvgym[ifeval]'"
        )
        need(lacks)
        raise lacks from error
    DetectorFactory.seed = 0  # its guesses of a language are random otherwise
    return INSTRUCTION_DICT, evaluate_instructions
