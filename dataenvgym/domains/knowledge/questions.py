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
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from dataenvgym.domains.knowledge.domain import KnowledgeDomain
from dataenvgym.domains.knowledge.environment import Grader
from dataenvgym.domains.knowledge.instructions import instruction_checks
from dataenvgym.domains.knowledge.task import need_judge
from dataenvgym.options import takes
from dataenvgym.records import Model, TaskInstance
from dataenvgym.tasks.base import Task
from dataenvgym.tasks.options import FileOptions, PromptOptions, TaskOptions
from dataenvgym.tasks.rows import SourceRow, UnfitRowError, parsed

_QUESTIONS = ("question", "problem", "prompt", "input")
_CHOICES = ("choices", "options")
_ANSWERS = ("answer", "answers", "answerKey", "target", "expected_answer")
_SKILLS = ("subject", "category", "skill")


@dataclass(frozen=True, kw_only=True)
class QuestionOptions(TaskOptions, FileOptions, PromptOptions):
    """Options of `QuestionTask`.

    Attributes:
        graded_by: "choice" (the letter of a choice), "exact_match" with a gold answer, up to case,
            punctuation and articles, "f1" (words shared with the best gold answer),
            "instructions" (the share of checkable rules that the reply follows; the extra
            `ifeval`), or "judge": the model in `others.judge`.
    """

    name: str = "questions"
    graded_by: Grader = "exact_match"


class QuestionTask(Task):
    """Your own questions: task.sources=FILE task.graded_by=choice, f1, instructions or judge.

    QuestionTask("mmlu.jsonl", graded_by="choice")
    """

    @takes(QuestionOptions)
    def __init__(self, options: QuestionOptions) -> None:
        domain = KnowledgeDomain(options.prompt, graded_by=options.graded_by)
        self.set_up_rows(domain, options, partial(to_instance, options=options))
        need_judge(self, options.graded_by)


def to_instance(row: SourceRow, options: QuestionOptions) -> TaskInstance:
    """The problem in a row, for its grader.

    Raises:
        InvalidInstanceError: if a field is missing or of another form.
        UnfitRowError: if it has no gold answer.
    """
    asked = row.values[name := row.first(_QUESTIONS)]
    if not isinstance(asked, str) or not asked.strip():
        raise row.fault(name, "the text of a question")
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
    answer = row.values[name := row.first(_ANSWERS)]
    if options.graded_by == "choice":
        choices, place = _choices(row, name, answer)
        lines = [f"{a}) {c}" for a, c in zip(string.ascii_uppercase, choices, strict=False)]
        changes = {"answer": string.ascii_uppercase[place], "data": {"choices": choices}}
        text = "\n".join([instance.instruction, "", *lines])
        return instance.model_copy(update={"instruction": text, **changes})
    listed = answer if isinstance(answer, list) else [answer]
    if not all(isinstance(one, str | int | float) for one in listed):
        raise row.fault(name, "a text or a list of texts")
    golds = [text for one in listed if (text := str(one).strip())]
    if not golds:
        raise UnfitRowError(f"{row.where}: the question has no answer: {asked!r:.80}")
    data = {"answers": list(dict.fromkeys(golds))} if len(golds) > 1 else {}
    return instance.model_copy(update={"answer": golds[0], "data": data})


class _Labeled(Model, extra="ignore"):
    text: list[Any]
    label: list[Any] | None = None


def _choices(row: SourceRow, field: str, answer: Any) -> tuple[list[str], int]:
    """The texts of the choices, and the place of the right one."""
    given = row.values[name := row.first(_CHOICES)]
    labels: list[str] = []
    if isinstance(given, Mapping):
        labeled = parsed(_Labeled, given, f"{row.where}, field {name!r}")
        labels, given = [*map(str, labeled.label or ())], labeled.text
    choices = [*map(str, given)] if isinstance(given, list) else []
    if not 2 <= len(choices) <= len(string.ascii_uppercase):
        raise row.fault(name, "a list of 2 to 26 texts")
    said = str(answer)
    letters = [*string.ascii_uppercase[: len(choices)]]
    place = -1
    if said in labels:
        place = labels.index(said)
    elif isinstance(answer, int) and not isinstance(answer, bool):
        place = answer
    elif said.strip() in letters:
        place = letters.index(said.strip())
    elif choices.count(said) == 1:
        place = choices.index(said)
    if not 0 <= place < len(choices):
        raise row.fault(field, f"the letter, number (from 0) or text of one of {len(choices)}")
    return choices, place


def _instructions(row: SourceRow) -> dict[str, Any]:
    names, kwargs = (row.values.get(name) for name in ("instruction_id_list", "kwargs"))
    if not isinstance(names, list) or not isinstance(kwargs, list) or len(names) != len(kwargs):
        raise row.fault("instruction_id_list", "a list, and kwargs of the same length")
    if unknown := [name for name in names if name not in instruction_checks()[0]]:
        raise UnfitRowError(f"{row.where}: there is no check of {', '.join(unknown)}")
    return {"instructions": names, "kwargs": kwargs}
