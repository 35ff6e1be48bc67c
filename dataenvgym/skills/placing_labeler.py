"""A labeler that places what its catalog does not know, as `placing` does."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Unpack

from dataenvgym.interfaces import TaskInterface, TeacherInterface
from dataenvgym.records import TaskInstance
from dataenvgym.skills.asking import PromptLike, SkillTeacher
from dataenvgym.skills.catalog import Skill, SkillCatalog
from dataenvgym.skills.embeddings import (
    EmbedderInterface,
    TfidfEmbedder,
    require_scikit_learn,
)
from dataenvgym.skills.labeler import CatalogLabeler, LabelerOptions
from dataenvgym.skills.placing import place


class PlacingLabelerOptions(LabelerOptions, total=False):
    """Keyword arguments of `PlacingLabeler` that a labeler built on it passes on."""

    label_prompt: PromptLike


class PlacingLabeler(CatalogLabeler):
    """Asks a teacher, if there is one, for the skill of a new question; else similarity decides.

    Args:
        teacher: who places what is unknown; None leaves it to similarity.
        embedder: tells what is similar (default: `TfidfEmbedder()`).
        label_prompt: see `SkillTeacher`.
        task, directory, options: those of `CatalogLabeler`.

    Raises:
        ConfigurationError: if scikit-learn is not installed.
    """

    def __init__(
        self,
        *,
        teacher: TeacherInterface | None = None,
        embedder: EmbedderInterface | None = None,
        label_prompt: PromptLike = "label_skills",
        task: TaskInterface | None = None,
        directory: str | Path | None = None,
        **options: Unpack[LabelerOptions],
    ) -> None:
        require_scikit_learn()
        super().__init__(task=task, directory=directory, **options)
        self.embedder = TfidfEmbedder() if embedder is None else embedder
        self.teacher = (
            None
            if teacher is None
            else SkillTeacher(teacher, label_prompt=label_prompt, seed=self.seed)
        )

    def place(self, instances: Sequence[TaskInstance], catalog: SkillCatalog) -> list[Skill]:
        return place(instances, catalog, self.embedder, self.teacher) if instances else []
