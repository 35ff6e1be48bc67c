"""Uses the skills that an earlier run found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from pydantic import JsonValue

from dataenvgym.errors import ConfigurationError
from dataenvgym.options import takes
from dataenvgym.records import TaskInstance
from dataenvgym.skills.catalog import SkillCatalog, labeled, read_catalog, sorted_skills
from dataenvgym.skills.placing_labeler import PlacingLabeler, PlacingOptions


@dataclass(frozen=True, kw_only=True)
class SavedOptions(PlacingOptions):
    """Options of `SavedSkills`.

    Attributes:
        path: a `skills.json`, or a run directory that has one.
        other_task: accept a catalog that was made from another task's questions.
    """

    path: str | Path = field(kw_only=False)
    other_task: bool = False


class SavedSkills(PlacingLabeler):
    """The catalog of another run.

    A teacher, if there is one, or similarity labels questions that are not in it. The run keeps a
    copy and no longer needs the file.
    """

    method: ClassVar[str] = "saved"

    @takes(SavedOptions)
    def __init__(self, given: SavedOptions) -> None:
        self.set_up_placing(given)
        self.path = Path(given.path).expanduser()
        self.other_task = given.other_task

    @property
    def options(self) -> dict[str, JsonValue]:
        return {"path": str(self.path)}

    def discover(self, instances: Sequence[TaskInstance]) -> SkillCatalog:
        saved = read_catalog(self.path)
        if saved.task != self._task_name and not self.other_task:
            raise ConfigurationError(
                f"the skills in {self.path} were found in task {saved.task!r}, not in "
                f"{self._task_name!r}: choose another catalog, or set skills.other_task=true to "
                "place this task's questions among them"
            )
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
