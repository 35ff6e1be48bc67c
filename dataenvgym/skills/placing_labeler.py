"""Finds skills for questions that are not in a catalog: by a teacher, else by similarity."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from dataenvgym.errors import BudgetSpentError, PredictionError
from dataenvgym.interfaces import TeacherInterface
from dataenvgym.options import takes
from dataenvgym.records import TaskInstance
from dataenvgym.skills.catalog import Skill, SkillCatalog
from dataenvgym.skills.embeddings import EmbedderInterface, nearest
from dataenvgym.skills.labeler import CatalogLabeler, LabelerOptions
from dataenvgym.skills.skill_teacher import PromptLike, SkillTeacher, SkillTeacherOptions

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class PlacingOptions(LabelerOptions):
    """Options of `PlacingLabeler`.

    Attributes:
        teacher: the model that chooses skills; None leaves it to similarity.
        label_prompt: asks it for the skills of questions (see `SkillTeacherOptions`).
    """

    teacher: TeacherInterface | None = None
    label_prompt: PromptLike = "label_skills"


class PlacingLabeler(CatalogLabeler):
    """Asks a teacher, if there is one, for the skill of a new question; else similarity decides."""

    teacher: SkillTeacher | None = None

    @takes(PlacingOptions)
    def __init__(self, given: PlacingOptions) -> None:
        self.set_up_placing(given)

    def set_up_placing(self, given: PlacingOptions) -> None:
        """Set the options; constructors of subclasses call it."""
        self.set_up(given)
        if given.teacher is not None:
            asked = SkillTeacherOptions(label_prompt=given.label_prompt)
            self.teacher = SkillTeacher(given.teacher, asked, seed=self.seed)

    def place(self, instances: Sequence[TaskInstance], catalog: SkillCatalog) -> list[Skill]:
        return place(instances, catalog, self.embedder, self.teacher) if instances else []


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
