"""A skill catalog: the skills that a task's questions need, in a file (`skills.json` of a run).

Questions that a labeler met later are its additions (`skills_added.json`).
Other runs can read it. It contains the questions that it was made from, so that new questions can
be compared with them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field, JsonValue, model_validator

from dataenvgym import exact_json
from dataenvgym.errors import ConfigurationError
from dataenvgym.interfaces import SkillLabel
from dataenvgym.records import CompletedTaskInstance, Model, TaskInstance
from dataenvgym.storage import read_model, write_json


class Skill(Model):
    """A skill, and its category or None."""

    name: str = Field(min_length=1)
    category: str | None = None


class LabeledQuestion(Model):
    """An instance's id, its question as the student reads it, and the name of its skill."""

    id: str
    question: str
    skill: str


def labeled(
    instances: Sequence[TaskInstance], skills: Iterable[str]
) -> tuple[LabeledQuestion, ...]:
    """The questions of these instances, each with the name of its skill."""
    return tuple(
        LabeledQuestion(id=i.id, question=i.instruction, skill=skill)
        for i, skill in zip(instances, skills, strict=True)
    )


class SkillCatalog(Model):
    """Skills, and the questions that need them.

    Attributes:
        method: how it was made: "clusters", "discovered" or "gold".
        task: name of the task whose questions these are.
        options: other settings that determined it, by name.
        skills: sorted by category and name; every label names one of them.
        labels: one for each question, in the order of the task's instances.
        counts: statistics of how it was made, such as the number of labels given by similarity
            because the teacher's answer was unusable.
    """

    method: str
    task: str
    options: dict[str, JsonValue] = {}
    skills: tuple[Skill, ...] = Field(min_length=1)
    labels: tuple[LabeledQuestion, ...]
    counts: dict[str, int] = {}

    @model_validator(mode="after")
    def _labels_name_skills(self) -> SkillCatalog:
        names = [skill.name for skill in self.skills]
        if twice := {name for name in names if names.count(name) > 1}:
            raise ValueError(f"two skills have the name {min(twice)!r}")
        if strange := {label.skill for label in self.labels} - set(names):
            raise ValueError(f"a label names {min(strange)!r}, which is none of the skills")
        return self

    @property
    def hash(self) -> str:
        """16 hex digits of the SHA-256 of its contents."""
        content = exact_json.dumps(self.model_dump(mode="json"), option=exact_json.SORT_KEYS)
        return hashlib.sha256(content).hexdigest()[:16]

    def save(self, path: Path) -> None:
        """Write it as JSON, atomically."""
        write_json(path, self)


def read_catalog(path: Path) -> SkillCatalog:
    """Read a catalog from a file that `SkillCatalog.save` wrote, or from its run directory.

    Raises:
        ConfigurationError: if there is no catalog, or it cannot be read.
    """
    file = path / "skills.json" if path.is_dir() else path
    if not file.exists():
        raise ConfigurationError(
            f"there is no skill catalog {str(file)!r}: expected a file that a run with "
            "skills=discovered or skills=clusters wrote (skills.json), or its run directory"
        )
    way_out = (
        "skills=saved reads the skills.json of a run, and skills=dataenvgym a skill file of "
        "DataEnvGym; if the file belongs to this run, remove it to find the skills again"
    )
    return read_model(file, SkillCatalog, way_out, ConfigurationError)


def sorted_skills(skills: Iterable[Skill]) -> tuple[Skill, ...]:
    """Sort by category and name; skills without a category come first."""
    return tuple(sorted(skills, key=lambda skill: (skill.category or "", skill.name)))


def hash_of_questions(instances: Sequence[TaskInstance]) -> str:
    """16 hex digits of a hash of these questions."""
    asked: list[Any] = [[instance.id, instance.instruction] for instance in instances]
    return hashlib.sha256(exact_json.dumps(asked)).hexdigest()[:16]


Labels = dict[tuple[str, str], SkillLabel]
"""Labels by id and question. An id alone is not enough: a redrawn task may reuse it."""


class Added(Model):
    """Labels of questions not in the catalog with that hash, and their new skills."""

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
        write_json(directory / "skills_added.json", self)


def read_added(directory: Path | None, catalog: SkillCatalog) -> Added:
    """Read the additions to this catalog in a run directory; none if they belong to another."""
    file = None if directory is None else directory / "skills_added.json"
    if file is not None and file.exists():
        added = read_model(file, Added)
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
