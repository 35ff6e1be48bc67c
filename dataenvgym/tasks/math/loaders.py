"""Turns rows in GSM8K's and MATH's formats into task instances.

    gsm8k   {"question": ..., "answer": "... #### 72"}; the gold answer follows the last ####
    math    {"problem": ..., "solution": "... \\boxed{72}", "type": "Algebra", "level": "Level 3"};
            the gold answer is "answer" if the row has it, else the last \\boxed of the solution

MATH's type becomes the category; type and level become the skill: "Algebra (Level 3)". "subject" is
read as "type". The worked solution is kept in `data["solution"]`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from dataenvgym.errors import (
    ConfigurationError,
    InvalidInstanceError,
    UnparsableAnswerError,
    did_you_mean,
)
from dataenvgym.records import TaskInstance
from dataenvgym.scoring import extract_final_answer
from dataenvgym.tasks.rows import SourceRow

Format = Literal["auto", "gsm8k", "math"]

_FIELDS = {"gsm8k": ("question", "answer"), "math": ("problem", "solution")}


def to_instance(row: SourceRow, *, task: str, format: Format = "auto") -> TaskInstance:
    """The task instance in a row.

    Raises:
        InvalidInstanceError: if the row is not in the format, naming the place and the fault.
        UnparsableAnswerError: if it has no gold answer.
    """
    detected = _detect(row) if format == "auto" else format
    if detected not in _FIELDS:
        raise ConfigurationError(
            f"format is {format!r}, expected auto, gsm8k or math."
            f"{did_you_mean(str(format), ('auto', *_FIELDS))}"
        )
    instance = (_from_gsm8k if detected == "gsm8k" else _from_math)(row, task)
    if not instance.answer:
        marker = "####" if detected == "gsm8k" else "\\boxed{}"
        raise UnparsableAnswerError(
            f"{row.where}: the {_FIELDS[detected][1]} has no final answer in {marker}: "
            f"{row.values[_FIELDS[detected][1]][-120:]!r}"
        )
    return instance


def _detect(row: SourceRow) -> str:
    for name, fields in _FIELDS.items():
        if all(field in row.values for field in fields):
            return name
    raise InvalidInstanceError(
        f"{row.where}: the fields are {', '.join(row.values) or 'none'}, expected question and "
        "answer (GSM8K's format) or problem and solution (MATH's)"
    )


def _from_gsm8k(row: SourceRow, task: str) -> TaskInstance:
    solution = _text(row, "answer")
    _, marker, answer = solution.rpartition("####")
    return TaskInstance(
        id=row.id,
        task=task,
        instruction=_text(row, "question").strip(),
        answer=answer.strip() if marker else None,
        data={"solution": solution},
    )


def _from_math(row: SourceRow, task: str) -> TaskInstance:
    solution = _text(row, "solution")
    given = row.values.get("answer")
    subject = _label(row.values, "type") or _label(row.values, "subject")
    level = _label(row.values, "level").removeprefix("Level").strip()
    skill = f"{subject} (Level {level})" if subject and level else subject
    return TaskInstance(
        id=row.id,
        task=task,
        instruction=_text(row, "problem").strip(),
        answer=_boxed(solution) if given is None else str(given).strip(),
        skill=skill or None,
        category=subject or None,
        data={"solution": solution},
    )


def _boxed(solution: str) -> str | None:
    return extract_final_answer(solution) if "boxed" in solution else None


def _text(row: SourceRow, field: str) -> str:
    value = row.values.get(field)
    if not isinstance(value, str):
        found = f"{type(value).__name__} {value!r:.80}" if field in row.values else "nothing"
        raise InvalidInstanceError(f"{row.where}, field {field!r}: found {found}, expected text")
    return value


def _label(values: Mapping[str, Any], field: str) -> str:
    return str(values.get(field) or "").strip()
