"""Additions of a labeler to its finished catalog: `skills_added.json`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dataenvgym.interfaces import SkillLabel
from dataenvgym.records import CompletedTaskInstance, Model
from dataenvgym.skills.catalog import LabeledQuestion, Skill, SkillCatalog, read_catalog
from dataenvgym.storage import read_json, write_json

Labels = dict[tuple[str, str], SkillLabel]
"""By id and question. An id alone may mean another question: tasks can be drawn anew."""


class Added(Model):
    """Labels of questions, and new skills among them, beside the catalog of that hash."""

    catalog: str
    skills: tuple[Skill, ...] = ()
    labels: tuple[LabeledQuestion, ...] = ()

    def to(self, catalog: SkillCatalog) -> SkillCatalog:
        """The catalog with the additions."""
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
    """The additions to this catalog in that run directory; none, if they are another one's."""
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


def labeled_as_in_run(
    completed: Sequence[CompletedTaskInstance], directory: Path
) -> list[CompletedTaskInstance]:
    """The same instances with the skills that the run in `directory` knew them by.

    Those of a run without a skill catalog, and those that it never labeled, stay as they are.
    """
    if not (directory / "skills.json").exists():
        return list(completed)
    catalog = read_catalog(directory)
    labels = labels_of(read_added(directory, catalog).to(catalog))
    found = (labels.get((c.instance.id, c.instance.instruction)) for c in completed)
    return [c if x is None else c.with_skill(*x) for c, x in zip(completed, found, strict=True)]
