"""What a labeler has added to its catalog since that was made: `skills_added.json`."""

from __future__ import annotations

from pathlib import Path

from dataenvgym.interfaces import SkillLabel
from dataenvgym.records import Model
from dataenvgym.skills.catalog import LabelledQuestion, Skill, SkillCatalog
from dataenvgym.storage import read_json, write_json

Labels = dict[tuple[str, str], SkillLabel]
"""By id and question. An id alone may mean another question: tasks can be drawn anew."""


class Added(Model):
    """Labels of questions, and new skills among them, beside the catalog of that hash."""

    catalog: str
    skills: tuple[Skill, ...] = ()
    labels: tuple[LabelledQuestion, ...] = ()

    def to(self, catalog: SkillCatalog) -> SkillCatalog:
        """The catalog with what was added."""
        return catalog.model_copy(
            update={
                "skills": (*catalog.skills, *self.skills),
                "labels": (*catalog.labels, *self.labels),
            }
        )

    def save(self, directory: Path) -> None:
        """Write it into the run directory, atomically."""
        write_json(directory / "skills_added.json", self.model_dump(mode="json"))


def read_added(directory: Path | None, catalog: SkillCatalog) -> Added:
    """What was added to this catalog in that run directory; nothing, if it is another one's."""
    file = None if directory is None else directory / "skills_added.json"
    if file is not None and file.exists():
        added = Added.model_validate(read_json(file))
        if added.catalog == catalog.hash:
            return added
    return Added(catalog=catalog.hash)


def labels_of(catalog: SkillCatalog) -> Labels:
    """The label of each question in the catalog."""
    labels = {skill.name: SkillLabel(skill.name, skill.category) for skill in catalog.skills}
    return {(label.id, label.question): labels[label.skill] for label in catalog.labels}
