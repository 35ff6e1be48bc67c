"""Additions of a labeler to its finished catalog: `skills_added.json`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dataenvgym.interfaces import SkillLabel
from dataenvgym.records import CompletedTaskInstance, Model
from dataenvgym.skills.catalog import LabeledQuestion, Skill, SkillCatalog, read_catalog
from dataenvgym.storage import read_json, write_json

Labels = dict[tuple[str, str], SkillLabel]
"""Labels by id and question. An id alone is not enough: a redrawn task may reuse it."""


class Added(Model):
    """Labels of new questions, and their new skills, for the catalog with that hash."""

    catalog: str
    skills: tuple[Skill, ...] = ()
    labels: tuple[LabeledQuestion, ...] = ()

    def to(self, catalog: SkillCatalog) -> SkillCatalog:
        """Return the catalog with the additions."""
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
    """Read the additions to this catalog in a run directory; none if they belong to another."""
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
    """Give the instances the skills that the run in `directory` gave them.

    Instances that the run never labeled stay unchanged; all do if it has no skill catalog.
    """
    if not (directory / "skills.json").exists():
        return list(completed)
    catalog = read_catalog(directory)
    labels = labels_of(read_added(directory, catalog).to(catalog))
    found = (labels.get((c.instance.id, c.instance.instruction)) for c in completed)
    return [c if x is None else c.with_skill(*x) for c, x in zip(completed, found, strict=True)]
