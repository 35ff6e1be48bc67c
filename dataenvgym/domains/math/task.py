r"""Math problems from files or named data sets, by split.

A row is in one of these formats:

    plain   {"problem" or "question": ..., "answer", "expected_answer" or "solution": ...}; the gold
            answer follows the last ####, or is in the last \boxed{}, or ends the text behind the
            only "answer is" or "answer:", or else is the whole text
    gsm8k   {"question": ..., "answer": "... #### 72"}
    math    {"problem": ..., "solution": "... \boxed{72}", "type": "Algebra", "level": "Level 3"};
            the gold answer is "answer" if the row has it

MATH's type becomes the category; type and level become the skill: "Algebra (Level 3)". "subject" is
read as "type". The worked solution is kept in `data["solution"]`. A row's own "id" becomes that of
the instance.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

from dataenvgym.domains.math.code_runs import CodeRuns
from dataenvgym.domains.math.domain import MathDomain
from dataenvgym.errors import UnparsableAnswerError
from dataenvgym.interfaces import SamplingParameters
from dataenvgym.options import PlainText, takes
from dataenvgym.records import TaskInstance
from dataenvgym.tasks.base import Task
from dataenvgym.tasks.options import FileOptions, PromptOptions, TaskOptions
from dataenvgym.tasks.rows import SourceRow
from dataenvgym.tasks.scoring import extract_final_answer

Format = Literal["auto", "gsm8k", "math"]

_FIELDS = {
    "auto": (("question", "problem"), ("answer", "expected_answer", "solution")),
    "gsm8k": (("question",), ("answer",)),
    "math": (("problem",), ("answer", "solution")),
}
"""The fields that may have the question and the gold answer; the first one that does counts."""
_FEWEST_WORDS = 4
"""Of a sentence; shorter texts are answers."""


@dataclass(frozen=True, kw_only=True)
class MathOptions(TaskOptions, FileOptions, PromptOptions):
    """Options of `MathTask`.

    Attributes:
        format: "gsm8k" or "math" to accept only these; "auto" accepts problem or question, and
            answer, expected_answer or solution.
        question_field, answer_field: the fields of a row with the question and the gold answer;
            None tries those of the format.
        code: runs Python code in the student's replies and puts back its output: how (see
            `CodeRuns`; `{}` for the defaults), or None. The system message explains it to the
            student, and the end of code is added to `sampling.stop`.
    """

    name: str = "math"
    format: Format = "auto"
    question_field: PlainText[str | None] = None
    answer_field: PlainText[str | None] = None
    code: CodeRuns | Mapping[str, Any] | None = None


class MathTask(Task):
    """Math problems in plain rows, or in GSM8K's or MATH's format.

    MathTask({"train": "train.jsonl", "validation": "train.jsonl", "test": "test.jsonl"})
    """

    @takes(MathOptions)
    def __init__(self, options: MathOptions) -> None:
        code = None
        if options.code is not None:
            code = CodeRuns.model_validate(options.code)
            told = "\n\n".join(filter(None, (options.system_prompt, code.told)))
            sampling = SamplingParameters.model_validate(options.sampling)
            stop = (*sampling.stop, code.end)
            sampling = sampling.model_copy(update={"stop": stop})
            options = replace(options, system_prompt=told, sampling=sampling)
        domain = MathDomain(options.prompt, code)
        self.set_up_rows(domain, options, partial(to_instance, options=options))


def to_instance(row: SourceRow, options: MathOptions) -> TaskInstance:
    """The task instance in a row.

    Raises:
        InvalidInstanceError: if the row has no question, or a field is not text.
        UnparsableAnswerError: if it has no gold answer, naming the fields.
    """
    questions, answers = _FIELDS[options.format]
    questions = questions if options.question_field is None else (options.question_field,)
    answers = answers if options.answer_field is None else (options.answer_field,)
    given = {name: _text(row, name) for name in answers if row.values.get(name) is not None}
    hint = "; name others with task.question_field and task.answer_field"
    question = row.first(questions, hint)
    row.first(answers, hint)
    golds = ((name, _gold(text, name, options.format)) for name, text in given.items())
    found, gold = next(((name, gold) for name, gold in golds if gold), ("", None))
    if gold is None:
        tried = ", ".join(f"{name} {text[-120:]!r}" for name, text in given.items())
        raise UnparsableAnswerError(
            f"{row.where}: the row has no final answer: {tried}, expected #### or \\boxed{{}}"
        )
    texts = (given[found], given.get("solution", ""))
    worked = next((text for text in texts if text.strip() != gold), "")
    subject = _label(row.values, "type") or _label(row.values, "subject")
    level = _label(row.values, "level").removeprefix("Level").strip()
    skill = f"{subject} (Level {level})" if subject and level else subject
    return TaskInstance(
        id=_label(row.values, "id") or row.id,
        task=options.name,
        instruction=_text(row, question).strip(),
        answer=gold,
        skill=skill or None,
        category=subject or None,
        data={"solution": worked} if worked else {},
    )


def _gold(text: str, field: str, format: Format) -> str | None:
    """The gold answer in the text of a field; None or "" without one."""
    _, marker, answer = text.rpartition("####")
    if marker and format != "math":
        return answer.strip()
    if "boxed" in text and format != "gsm8k":
        return extract_final_answer(text)
    text = text.strip()
    if format == "auto" and len(re.findall(r"(?i)\banswer", text)) == 1:
        found = extract_final_answer(text) or ""
        is_last = bool(found) and text.rstrip(" .!*_$").endswith(found)
        if is_last and len(found.split()) < _FEWEST_WORDS and "not" not in found.split():
            return found
    has_end = "\n" in text or re.search(r"[.!?](?:\s|$)", text)
    is_worked = has_end and len(text.split()) >= _FEWEST_WORDS
    is_plain = (format, field) == ("math", "answer") or (format == "auto" and not is_worked)
    return text if is_plain else None


def _text(row: SourceRow, field: str) -> str:
    value = row.values[field]
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise row.fault(field, "text")
    return str(value)


def _label(values: Mapping[str, Any], field: str) -> str:
    value = values.get(field)
    return "" if value is None else str(value).strip()
