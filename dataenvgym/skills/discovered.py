"""A teacher discovers skills in two stages: it names them, then merges and sorts the names.

    questions --name--> labels, one for each --merge--> skills --sort--> categories

A question without a usable label gets the label of the most similar question. For later questions
the teacher sees the existing skills; it may name a new one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Unpack

from pydantic import JsonValue

from dataenvgym.errors import ConfigurationError
from dataenvgym.interfaces import TaskInterface, TeacherInterface
from dataenvgym.options import Given
from dataenvgym.records import TaskInstance
from dataenvgym.skills.catalog import Skill, SkillCatalog, labeled, sorted_skills
from dataenvgym.skills.embeddings import (
    EmbedderInterface,
    TfidfEmbedder,
    nearest,
    require_scikit_learn,
)
from dataenvgym.skills.labeler import CatalogLabeler, LabelerOptions
from dataenvgym.skills.placing_labeler import place
from dataenvgym.skills.skill_teacher import PromptLike, SkillTeacher

_ROUNDS = 4


class DiscoveredSkills(CatalogLabeler):
    """Skills that a teacher names and merges.

    Args:
        teacher: the model that names and merges.
        skills: the most skills after merging.
        categories: the most categories, or None for no categories.
        embedder: finds similar questions if the teacher's answer is unusable.
        label_prompt, merge_prompt, batch_size, attempts, temperature, max_tokens: see
            `SkillTeacher`.
        task, directory, options: those of `CatalogLabeler`.

    Raises:
        ConfigurationError: if scikit-learn is not installed, or a prompt lacks what it needs.
    """

    method: ClassVar[str] = "discovered"

    def __init__(
        self,
        teacher: TeacherInterface,
        *,
        skills: int = 20,
        categories: int | None = 5,
        embedder: EmbedderInterface | None = None,
        label_prompt: PromptLike = "label_skills",
        merge_prompt: PromptLike = "merge_skills",
        batch_size: int = 10,
        attempts: int = 2,
        temperature: float = 0.0,
        max_tokens: int = 2048,
        task: TaskInterface | None = None,
        directory: Given[str | Path | None] = None,
        **options: Unpack[LabelerOptions],
    ) -> None:
        if skills < 1 or (categories is not None and categories < 1):
            raise ConfigurationError(
                f"skills.skills is {skills} and skills.categories is {categories}, expected 1 or "
                "more of both (categories: or null)"
            )
        require_scikit_learn()
        super().__init__(task=task, directory=directory, **options)
        self.skills = skills
        self.categories = categories
        self.embedder = TfidfEmbedder() if embedder is None else embedder
        self.teacher = SkillTeacher(
            teacher,
            label_prompt=label_prompt,
            merge_prompt=merge_prompt,
            batch_size=batch_size,
            attempts=attempts,
            temperature=temperature,
            max_tokens=max_tokens,
            seed=self.seed,
        )

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
