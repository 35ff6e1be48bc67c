"""A teacher discovers skills in two stages: it names them, then merges and sorts the names.

    questions --name--> labels, one for each --merge--> skills --sort--> categories

A question without a usable label gets the label of the most similar question. For later questions
the teacher sees the existing skills; it may name a new one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from pydantic import JsonValue

from dataenvgym.errors import ConfigurationError, check_at_least
from dataenvgym.interfaces import TeacherInterface
from dataenvgym.options import takes
from dataenvgym.records import TaskInstance
from dataenvgym.skills.catalog import Skill, SkillCatalog, labeled, sorted_skills
from dataenvgym.skills.embeddings import nearest
from dataenvgym.skills.labeler import CatalogLabeler, LabelerOptions, check_categories
from dataenvgym.skills.placing_labeler import place
from dataenvgym.skills.skill_teacher import SkillTeacher, SkillTeacherOptions

_ROUNDS = 4


@dataclass(frozen=True, kw_only=True)
class DiscoveryOptions(SkillTeacherOptions, LabelerOptions):
    """Options of `DiscoveredSkills`.

    Attributes:
        teacher: the model that names and merges.
        skills: the most skills after merging.
        categories: the most categories, or None for no categories.
    """

    teacher: TeacherInterface = field(kw_only=False)
    skills: int = 20
    categories: int | None = 5


class DiscoveredSkills(CatalogLabeler):
    """Skills that a teacher names and merges."""

    method: ClassVar[str] = "discovered"

    @takes(DiscoveryOptions)
    def __init__(self, given: DiscoveryOptions) -> None:
        check_at_least(1, **{"skills.skills": given.skills})
        check_categories(given.categories)
        self.set_up(given)
        self.skills = given.skills
        self.categories = given.categories
        self.teacher = SkillTeacher(given.teacher, given, seed=self.seed)

    @property
    def options(self) -> dict[str, JsonValue]:
        return {
            "skills": self.skills,
            "categories": self.categories,
            "embedder": type(self.embedder).__name__,
        }

    def discover(self, instances: Sequence[TaskInstance]) -> SkillCatalog:
        questions = [instance.instruction for instance in instances]
        names = self.teacher.name_skills(questions)
        labels = self._completed(questions, names)
        merged = self._merged(Counter(name for name in names if name is not None))
        skills = sorted(set(merged.values()))
        sort = self.categories is not None and len(skills) > self.categories
        groups = self.teacher.sort(skills, self.categories or 1) if sort else {}
        return SkillCatalog(
            method=self.method,
            task=self._task_name,
            skills=sorted_skills(Skill(name=s, category=groups.get(s)) for s in skills),
            labels=labeled(instances, [merged[label] for label in labels]),
            counts={
                "questions": len(questions),
                "labeled by similarity": names.count(None),
                "labels before merging": len(merged),
                "skills without category": sum(s not in groups for s in skills),
            },
        )

    def place(self, instances: Sequence[TaskInstance], catalog: SkillCatalog) -> list[Skill]:
        return place(instances, catalog, self.embedder, self.teacher)

    def _completed(self, questions: list[str], names: list[str | None]) -> list[str]:
        """Fill in missing names from the most similar question."""
        known = {i: name for i, name in enumerate(names) if name is not None}
        if not known:
            raise ConfigurationError(
                f"the teacher named a skill for none of {len(questions)} questions: its answers "
                "were missing or not JSON of the requested form. Try another teacher, or "
                "skills=clusters"
            )
        places = list(known)
        left = [i for i in range(len(questions)) if i not in known]
        similar = nearest(
            [questions[i] for i in left], [questions[i] for i in places], self.embedder
        )
        known |= {i: known[places[s]] for i, s in zip(left, similar, strict=True)}
        return [known[i] for i in range(len(questions))]

    def _merged(self, counts: Counter[str]) -> dict[str, str]:
        """Map each label to the skill that it is merged into; there are at most `skills` skills.

        Names that the teacher leaves out are merged by similarity into the most frequent skills.
        """
        merged = {label: label for label in sorted(counts)}
        for _ in range(_ROUNDS):
            names = sorted(set(merged.values()))
            if len(names) <= self.skills:
                return merged
            groups = self.teacher.sort(names, self.skills)
            if len({groups.get(name, name) for name in names}) == len(names):
                break
            merged = {label: groups.get(name, name) for label, name in merged.items()}
        sizes: Counter[str] = Counter()
        for label, name in merged.items():
            sizes[name] += counts[label]
        kept = sorted(sizes, key=lambda name: (-sizes[name], name))[: self.skills]
        rest = sorted(set(sizes) - set(kept))
        similar = nearest(rest, kept, self.embedder)
        into = {name: kept[i] for name, i in zip(rest, similar, strict=True)}
        return {label: into.get(name, name) for label, name in merged.items()}
