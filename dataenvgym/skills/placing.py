"""Skills for questions that a catalog does not know: by a teacher, else by similarity."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from dataenvgym.errors import BudgetSpentError, PredictionError
from dataenvgym.records import TaskInstance
from dataenvgym.skills.asking import SkillTeacher
from dataenvgym.skills.catalog import Skill, SkillCatalog
from dataenvgym.skills.embeddings import EmbedderInterface
from dataenvgym.skills.similarity import nearest

_log = logging.getLogger(__name__)


def place_by_similarity(
    questions: Sequence[str], catalog: SkillCatalog, embedder: EmbedderInterface
) -> list[Skill]:
    """For each question the skill of the most similar one in the catalog."""
    skills = {skill.name: skill for skill in catalog.skills}
    known = [label.question for label in catalog.labels]
    return [skills[catalog.labels[i].skill] for i in nearest(questions, known, embedder)]


def place(
    instances: Sequence[TaskInstance],
    catalog: SkillCatalog,
    embedder: EmbedderInterface,
    teacher: SkillTeacher | None = None,
) -> list[Skill]:
    """For each instance a skill of the catalog, or a new one that the teacher names.

    Args:
        teacher: asked first, if there is one; similarity decides where it has no usable answer, or
            no budget.
    """
    questions = [instance.instruction for instance in instances]
    names = _named(questions, catalog, teacher) if teacher else [None] * len(questions)
    skills = {skill.name.casefold(): skill for skill in catalog.skills}
    left = [i for i, name in enumerate(names) if name is None]
    similar = place_by_similarity([questions[i] for i in left], catalog, embedder)
    by_similarity = dict(zip(left, similar, strict=True))
    return [
        by_similarity[i] if name is None else skills.setdefault(name, Skill(name=name))
        for i, name in enumerate(names)
    ]


def _named(
    questions: Sequence[str], catalog: SkillCatalog, teacher: SkillTeacher
) -> list[str | None]:
    try:
        return teacher.name_skills(questions, [skill.name for skill in catalog.skills])
    except (BudgetSpentError, PredictionError) as error:
        _log.warning("skills: %d new questions placed by similarity: %s", len(questions), error)
        return [None] * len(questions)
