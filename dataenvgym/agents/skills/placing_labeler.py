"""Labels that exist already, and others for new questions: by a teacher, else by similarity.

The existing ones are those of an earlier run (`SavedSkills`), of a file that DataEnvGym published
(`PublishedSkills`), or gold ones (`FilledGoldSkills`).
"""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from pydantic import JsonValue

from dataenvgym.agents.skills.catalog import (
    Skill,
    SkillCatalog,
    labeled,
    read_catalog,
    sorted_skills,
)
from dataenvgym.agents.skills.embeddings import EmbedderInterface, nearest
from dataenvgym.agents.skills.labeler import CatalogLabeler
from dataenvgym.agents.skills.skill_teacher import SkillTeacher, SkillTeacherOptions
from dataenvgym.errors import BudgetSpentError, ConfigurationError, PredictionError
from dataenvgym.interfaces import TeacherInterface
from dataenvgym.records import TaskInstance
from dataenvgym.storage import read_json
from dataenvgym.teachers.prompts import PromptLike

_log = logging.getLogger(__name__)


@dataclass(kw_only=True, eq=False)
class PlacingLabeler(CatalogLabeler):
    """Asks a teacher, if there is one, for the skill of a new question; else similarity decides.

    Args:
        teacher: the model that chooses skills; None leaves it to similarity.
        label_prompt: asks it for the skills of questions (see `SkillTeacherOptions`).
    """

    teacher: TeacherInterface | None = None
    label_prompt: PromptLike = "label_skills"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._asked: SkillTeacher | None = None
        if self.teacher is not None:
            asked = SkillTeacherOptions(label_prompt=self.label_prompt)
            self._asked = SkillTeacher(self.teacher, asked, seed=self.seed)

    @abstractmethod
    def read(self, instances: Sequence[TaskInstance]) -> SkillCatalog:
        """The labels that exist already; ConfigurationError if there are none."""

    def discover(self, instances: Sequence[TaskInstance]) -> SkillCatalog:
        saved = self.read(instances)
        known = {(label.id, label.question): label.skill for label in saved.labels}
        by_question = {label.question: label.skill for label in saved.labels}
        found = [
            known.get((i.id, i.instruction)) or by_question.get(i.instruction) for i in instances
        ]
        unknown = [i for i, skill in zip(instances, found, strict=True) if skill is None]
        placed = self.place(unknown, saved)
        names = iter(skill.name for skill in placed)
        labels = labeled(instances, [skill or next(names) for skill in found])
        new = {s.name: s for s in placed if s not in saved.skills}
        return saved.model_copy(
            update={
                "task": self._task_name,
                "skills": sorted_skills((*saved.skills, *new.values())),
                "labels": labels,
                "counts": {"questions": len(instances), "unknown to the catalog": len(unknown)},
            }
        )

    def place(self, instances: Sequence[TaskInstance], catalog: SkillCatalog) -> list[Skill]:
        return place(instances, catalog, self._embedder, self._asked) if instances else []


def place(
    instances: Sequence[TaskInstance],
    catalog: SkillCatalog,
    embedder: EmbedderInterface,
    teacher: SkillTeacher | None = None,
) -> list[Skill]:
    """For each instance, a skill of the catalog or a new one that the teacher names.

    Args:
        teacher: is asked first; similarity decides if there is no teacher, no usable answer, or no
            budget.
    """
    questions = [instance.instruction for instance in instances]
    names: list[str | None] = [None] * len(questions)
    if teacher is not None:
        try:
            names = teacher.name_skills(questions, [skill.name for skill in catalog.skills])
        except (BudgetSpentError, PredictionError) as error:
            _log.warning("skills: %d new questions placed by similarity: %s", len(questions), error)
    skills = {skill.name.casefold(): skill for skill in catalog.skills}
    left = [i for i, name in enumerate(names) if name is None]
    known = [label.question for label in catalog.labels]
    similar = nearest([questions[i] for i in left], known, embedder)
    by_name = {skill.name: skill for skill in catalog.skills}
    by_similarity = {
        i: by_name[catalog.labels[s].skill] for i, s in zip(left, similar, strict=True)
    }
    return [
        by_similarity[i] if name is None else skills.setdefault(name, Skill(name=name))
        for i, name in enumerate(names)
    ]


@dataclass(eq=False)
class SavedSkills(PlacingLabeler):
    """The catalog of another run.

    A teacher, if there is one, or similarity labels questions that are not in it. The run keeps a
    copy and no longer needs the file.

    Args:
        path: a `skills.json`, or a run directory that has one; for `PublishedSkills`, a JSON file
            with `labeled_instructions`, `skill_categories` and `instance_id_to_skill_category`.
    """

    method: ClassVar[str] = "saved"
    path: str | Path

    def __post_init__(self) -> None:
        super().__post_init__()
        self._file = Path(self.path).expanduser()

    @property
    def options(self) -> dict[str, JsonValue]:
        return {"path": str(self._file)}

    def read(self, instances: Sequence[TaskInstance]) -> SkillCatalog:
        saved = read_catalog(self._file)
        if saved.task != self._task_name:
            raise ConfigurationError(
                f"the skills in {self.path} were found in task {saved.task!r}, not in "
                f"{self._task_name!r}: choose another catalog"
            )
        return saved


class PublishedSkills(SavedSkills):
    """The skill categories of a file that DataEnvGym published, joined by the instructions' texts.

    The ids there are of its own. A question here may add to the text of the instruction how to
    answer it. A teacher, if there is one, or similarity labels questions that are not in the file.
    """

    method: ClassVar[str] = "dataenvgym"

    def read(self, instances: Sequence[TaskInstance]) -> SkillCatalog:
        skill_of = self._skill_of_instruction()
        texts = sorted(skill_of, key=len, reverse=True)
        known = [
            (i, skill_of[text])
            for i in instances
            if (text := next((t for t in texts if i.instruction.startswith(t)), None)) is not None
        ]
        if not known:
            raise ConfigurationError(
                f"{self.path} has the skills of {len(texts)} instructions, and none of the "
                f"{len(instances)} questions of task {self._task_name!r} is among them: choose the "
                "file of this task, or skills=discovered"
            )
        return SkillCatalog(
            method=self.method,
            task=self._task_name,
            skills=sorted_skills(Skill(name=name) for name in {*skill_of.values()}),
            labels=labeled([i for i, _ in known], [skill for _, skill in known]),
        )

    def _skill_of_instruction(self) -> dict[str, str]:
        """The name of the skill category of each instruction in the file."""
        try:
            content = read_json(self._file)
            category = content["instance_id_to_skill_category"]
            pairs = (
                (item["instruction"].strip(), category[item["instance_id"]]["descriptive_name"])
                for item in content["labeled_instructions"]
            )
            return {text: " ".join(name.split()) for text, name in pairs if text and name.strip()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise ConfigurationError(
                f"skills.path is {str(self.path)!r}, which cannot be read as a skill file of "
                f"DataEnvGym ({type(error).__name__}: {error}): expected a JSON file with "
                "labeled_instructions (instance_id, instruction) and "
                "instance_id_to_skill_category (descriptive_name by instance_id)"
            ) from None


class FilledGoldSkills(PlacingLabeler):
    """Gold skills, with missing ones filled in.

    A teacher chooses a gold skill for instances without one; without a usable answer they get the
    skill of the most similar instance.
    """

    method: ClassVar[str] = "gold"

    @property
    def options(self) -> dict[str, JsonValue]:
        return {}

    def read(self, instances: Sequence[TaskInstance]) -> SkillCatalog:
        # if a skill's instances disagree on the category, the first one decides
        categories: dict[str, str | None] = {}
        for instance in instances:
            if instance.skill:
                categories.setdefault(instance.skill, instance.category)
        known = [i for i in instances if i.skill]
        if not categories:
            raise ConfigurationError(
                f"no instance of task {self._task_name!r} has a gold skill: use skills=clusters, "
                "or skills=discovered with a teacher"
            )
        return SkillCatalog(
            method=self.method,
            task=self._task_name,
            skills=sorted_skills(Skill(name=n, category=c) for n, c in categories.items()),
            labels=labeled(known, [i.skill for i in known if i.skill]),
        )

    def place(self, instances: Sequence[TaskInstance], catalog: SkillCatalog) -> list[Skill]:
        known = {skill.name: skill for skill in catalog.skills}
        gold = [known.get(i.skill, Skill(name=i.skill)) if i.skill else None for i in instances]
        left = [i for i, skill in zip(instances, gold, strict=True) if skill is None]
        placed = iter(super().place(left, catalog))
        return [next(placed) if skill is None else skill for skill in gold]
