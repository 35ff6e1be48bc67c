"""A labeler with a catalog, which is made at first use, once for a run directory.

    the task's instances --discover--> SkillCatalog = skills.json
    an instance not in the catalog --place--> a label, kept in skills_added.json

The run directory's catalog is used again if the settings and the questions are the same, also by an
episode that starts over there. Delete `skills.json` to find the skills again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from annotated_types import Len
from pydantic import JsonValue

from dataenvgym.agents.skills.catalog import (
    Added,
    Labels,
    Skill,
    SkillCatalog,
    hash_of_questions,
    labeled,
    labels_of,
    read_added,
    read_catalog,
)
from dataenvgym.agents.skills.embeddings import (
    EmbedderInterface,
    TfidfEmbedder,
    require_scikit_learn,
)
from dataenvgym.errors import ConfigurationError
from dataenvgym.interfaces import SkillLabel
from dataenvgym.options import Given
from dataenvgym.records import TaskInstance
from dataenvgym.tasks.adapted_task import known_instances
from dataenvgym.tasks.base import Task


@dataclass(kw_only=True, eq=False)
class CatalogLabeler(ABC):
    """Labels instances from a catalog; a subclass makes the catalog.

    Args:
        task: the task with the questions to find skills in. If it has no `instances`, the catalog
            is made from the instances that are labeled first.
        directory: the run directory; None keeps everything in memory.
        embedder: turns questions into vectors, to find similar ones (default: `TfidfEmbedder()`).
        splits: where to find skills: "validation", "train", or both. The test split stays unseen.
        seed: of all random choices.

    Raises:
        ConfigurationError: if scikit-learn is not installed.
    """

    method: ClassVar[str]

    task: Task | None = None
    directory: Given[str | Path | None] = None
    embedder: EmbedderInterface | None = None
    splits: Annotated[Sequence[Literal["validation", "train"]], Len(1)] = ("validation",)
    seed: int = 0

    def __post_init__(self) -> None:
        require_scikit_learn()
        self._directory = None if self.directory is None else Path(self.directory)
        self._embedder = TfidfEmbedder() if self.embedder is None else self.embedder
        self._catalog: SkillCatalog | None = None
        self._added = Added(catalog="")
        self._labels: Labels = {}

    # --- what a subclass overrides ---

    @property
    @abstractmethod
    def options(self) -> dict[str, JsonValue]:
        """The settings, besides the questions, that determine the catalog."""

    @abstractmethod
    def discover(self, instances: Sequence[TaskInstance]) -> SkillCatalog:
        """Make the catalog, with a label for each of these instances (at least one).

        Raises:
            ConfigurationError: if there is nothing to make it from.
            BudgetSpentError, PredictionError: if a teacher answered nothing at all.
        """

    @abstractmethod
    def place(self, instances: Sequence[TaskInstance], catalog: SkillCatalog) -> list[Skill]:
        """Give each instance that is not in the catalog a skill, an existing or a new one."""

    # --- what it offers ---

    @property
    def catalog(self) -> SkillCatalog:
        """The catalog, made at first use; ConfigurationError if the task has no instances."""
        if self._catalog is None:
            if not (instances := self._instances()):
                raise ConfigurationError(
                    f"task {self._task_name!r} offers no instances, so its skills are found when "
                    "the first instances are labeled"
                )
            self._take(instances)
        assert self._catalog is not None
        return self._catalog

    def label(self, instances: Sequence[TaskInstance]) -> list[SkillLabel]:
        """Return the label of each instance; a new instance is labeled now and keeps its label."""
        if not instances:
            return []
        if self._catalog is None:
            self._take(self._instances() or tuple(instances))
        unseen = {_key(i): i for i in instances if _key(i) not in self._labels}
        if unseen:
            self._add(list(unseen.values()))
        return [self._labels[_key(instance)] for instance in instances]

    def describe(self) -> dict[str, Any]:
        """The labeler's identity for `environment.json`: the method, and the catalog's hash.

        If the task has no `instances`, there is no catalog when an episode begins, so no hash here.
        """
        if not self._instances():
            return {"method": self.method, **self.options}
        return {"method": self.catalog.method, "hash": self.catalog.hash}

    # --- machinery ---

    @property
    def _task_name(self) -> str:
        return type(self.task).__name__ if self.task is None else self.task.name

    def _instances(self) -> tuple[TaskInstance, ...]:
        if self.task is None:
            return ()
        task = self.task
        tasks = [task.on(split) for split in self.splits] if task.offers("on") else [task]
        return tuple(i for each in tasks for i in known_instances(each))

    def _take(self, instances: Sequence[TaskInstance]) -> None:
        """Use the run directory's catalog if its settings and questions match; else make one."""
        made_by: dict[str, JsonValue] = {
            **self.options,
            "splits": list(self.splits),
            "seed": self.seed,
            "questions": hash_of_questions(instances),
        }
        file = None if self._directory is None else self._directory / "skills.json"
        catalog = read_catalog(file) if file is not None and file.exists() else None
        if catalog is None or (catalog.task, catalog.options) != (self._task_name, made_by):
            catalog = self.discover(instances).model_copy(update={"options": made_by})
            if file is not None:
                catalog.save(file)
        self._catalog = catalog
        self._added = read_added(self._directory, catalog)
        self._labels = labels_of(self._added.to(catalog))

    def _add(self, unseen: list[TaskInstance]) -> None:
        assert self._catalog is not None
        catalog = self._added.to(self._catalog)
        placed = self.place(unseen, catalog)
        names = {skill.name for skill in catalog.skills}
        new = {skill.name: skill for skill in placed if skill.name not in names}
        labels = labeled(unseen, [skill.name for skill in placed])
        self._added = self._added.model_copy(
            update={
                "skills": (*self._added.skills, *new.values()),
                "labels": (*self._added.labels, *labels),
            }
        )
        if self._directory is not None:
            self._added.save(self._directory)
        self._labels = labels_of(self._added.to(self._catalog))


def _key(instance: TaskInstance) -> tuple[str, str]:
    return instance.id, instance.instruction
