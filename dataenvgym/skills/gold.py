"""The task's own skills; instances without one get a label."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from pydantic import JsonValue

from dataenvgym.errors import ConfigurationError
from dataenvgym.records import TaskInstance
from dataenvgym.skills.catalog import Skill, SkillCatalog, labeled, sorted_skills
from dataenvgym.skills.placing_labeler import PlacingLabeler


class FilledGoldSkills(PlacingLabeler):
    """Gold skills, with missing ones filled in.

    A teacher chooses a gold skill for instances without one; without a usable answer they get the
    skill of the most similar instance.
    """

    method: ClassVar[str] = "gold"

    @property
    def options(self) -> dict[str, JsonValue]:
        return {}

    def discover(self, instances: Sequence[TaskInstance]) -> SkillCatalog:
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
        catalog = SkillCatalog(
            method=self.method,
            task=self._task_name,
            skills=sorted_skills(Skill(name=n, category=c) for n, c in categories.items()),
            labels=labeled(known, [i.skill for i in known if i.skill]),
        )
        missing = [i for i in instances if not i.skill]
        placed = super().place(missing, catalog)
        filled = {i.id: skill for i, skill in zip(missing, placed, strict=True)}
        new = {s.name: s for s in filled.values() if s.name not in categories}
        return catalog.model_copy(
            update={
                "skills": sorted_skills((*catalog.skills, *new.values())),
                "labels": labeled(instances, [i.skill or filled[i.id].name for i in instances]),
                "counts": {"questions": len(instances), "without a gold skill": len(missing)},
            }
        )

    def place(self, instances: Sequence[TaskInstance], catalog: SkillCatalog) -> list[Skill]:
        known = {skill.name: skill for skill in catalog.skills}
        gold = [known.get(i.skill, Skill(name=i.skill)) if i.skill else None for i in instances]
        left = [i for i, skill in zip(instances, gold, strict=True) if skill is None]
        placed = iter(super().place(left, catalog))
        return [next(placed) if skill is None else skill for skill in gold]
