"""Asks a teacher to name skills, and to sort many names into fewer groups.

An unusable answer raises nothing: it becomes None, or is left out, and the caller falls back.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import PositiveInt

from dataenvgym.errors import BudgetSpentError, PredictionError
from dataenvgym.interfaces import SamplingParameters, TeacherInterface
from dataenvgym.records import Conversation
from dataenvgym.teachers.prompts import PromptLike, as_prompt
from dataenvgym.teachers.structured import TEXT, Schema, ask_json, list_of, object_of

_LONGEST_NAME = 80
_LINES = 100
_log = logging.getLogger(__name__)


@dataclass(kw_only=True, eq=False)
class SkillTeacherOptions:
    """How a teacher is asked.

    Attributes:
        label_prompt: asks for the skills of questions: with {count}, {problems}, maybe {known}.
        merge_prompt: asks for fewer groups of skills: with {count} and {skills}.
        batch_size: questions in one conversation.
        attempts: the most times that a question is asked until its answer is usable.
        temperature, max_tokens: of the teacher's replies.
    """

    label_prompt: PromptLike = "label_skills"
    merge_prompt: PromptLike = "merge_skills"
    batch_size: PositiveInt = 10
    attempts: PositiveInt = 2
    temperature: float = 0.0
    max_tokens: int = 2048


class SkillTeacher:
    """A teacher with the two prompts of skill discovery.

    Args:
        teacher: the model to ask.
        seed: of its replies.
    """

    def __init__(
        self, teacher: TeacherInterface, options: SkillTeacherOptions, *, seed: int = 0
    ) -> None:
        self.batch_size, self.attempts = options.batch_size, options.attempts
        self.teacher = teacher
        self.label_prompt = as_prompt(
            options.label_prompt, needs=("problems",), may=("count", "known")
        )
        self.merge_prompt = as_prompt(options.merge_prompt, needs=("skills",), may=("count",))
        self.sampling = SamplingParameters(
            temperature=options.temperature, max_tokens=options.max_tokens, seed=seed
        )

    def name_skills(self, questions: Sequence[str], known: Sequence[str] = ()) -> list[str | None]:
        """Name the skill that each question needs; None if no answer was usable.

        Questions without a name are asked again, together with the names known by then.

        Args:
            known: names to use where they fit.

        Raises:
            BudgetSpentError, PredictionError: if the teacher answered nothing at all.
        """
        names: list[str | None] = [None] * len(questions)
        for attempt in range(self.attempts):
            missing = [i for i, name in enumerate(names) if name is None]
            if not missing:
                break
            known = list(dict.fromkeys([*known, *(name for name in names if name)]))
            batches = [
                missing[start : start + self.batch_size]
                for start in range(0, len(missing), self.batch_size)
            ]
            conversations = [
                self.label_prompt.render(
                    count=len(batch),
                    problems="\n\n".join(f"{n}. {questions[i]}" for n, i in enumerate(batch, 1)),
                    known="; ".join(known[-_LINES:]),
                )
                for batch in batches
            ]
            try:
                answers = self._ask(conversations, _LABELS)
            except (BudgetSpentError, PredictionError) as error:
                if attempt == 0:
                    raise
                _log.warning("skills: %d questions stay without an answer: %s", len(missing), error)
                break
            for batch, answer in zip(batches, answers, strict=True):
                for entry in answer["labels"] if answer else ():
                    place = entry["number"] - 1
                    if 0 <= place < len(batch) and names[batch[place]] is None:
                        names[batch[place]] = clean_name(entry["skill"])
        return names

    def sort(self, names: Sequence[str], count: int) -> dict[str, str]:
        """Sort the names into at most `count` groups; names that the teacher left out are missing.

        Many names are sorted in parts, so there may be more groups in all.
        """
        parts = [names[start : start + _LINES] for start in range(0, len(names), _LINES)]
        conversations = [
            self.merge_prompt.render(count=count, skills="\n".join(part)) for part in parts
        ]
        try:
            answers = self._ask(conversations, _CATEGORIES)
        except (BudgetSpentError, PredictionError) as error:
            _log.warning("skills: %d names are not sorted: %s", len(names), error)
            return {}
        groups: dict[str, str] = {}
        for part, answer in zip(parts, answers, strict=True):
            of_part = set(part)
            for entry in answer["categories"] if answer else ():
                if (group := clean_name(entry["category"])) is None:
                    continue
                members = (clean_name(skill) for skill in entry["skills"])
                groups |= {m: group for m in members if m in of_part and m not in groups}
        return groups

    def _ask(self, conversations: Sequence[Conversation], schema: Schema) -> list[Any | None]:
        return ask_json(self.teacher, conversations, schema, self.sampling, purpose="skills")


def clean_name(name: str) -> str | None:
    """The normalized name: lower case, single spaces for underscores; None if it is not a name."""
    cleaned = " ".join(name.replace("_", " ").casefold().split()).strip(" .:;\"'`*-")
    return cleaned if 0 < len(cleaned) <= _LONGEST_NAME else None


_LABELS = object_of(labels=list_of(object_of(number={"type": "integer"}, skill=TEXT)))
_CATEGORIES = object_of(categories=list_of(object_of(category=TEXT, skills=list_of(TEXT))))
