"""Teaching environments in which the agent writes the records itself.

`OpenEnded` shows the evaluated instances without their gold skills; `SkillList` shows the skills,
and the report grouped by them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar

import gymnasium

from dataenvgym.environments.iterations import IterationFiles
from dataenvgym.environments.teaching import Observation, TeachingEnvironment
from dataenvgym.records import CompletedTaskInstance, PerformanceReport, TaskInstance, TrainingDatum
from dataenvgym.spaces import RecordsSpace


class RecordEnvironment(TeachingEnvironment):
    """The action is a batch of training records (models or mappings)."""

    @cached_property
    def action_space(self) -> gymnasium.Space[Any]:  # type: ignore[override]
        return RecordsSpace()

    def parse(self, action: Any) -> tuple[TrainingDatum, ...]:
        return self._parse_records(action)

    def records_of(
        self, files: IterationFiles, action: Sequence[TrainingDatum]
    ) -> Sequence[TrainingDatum]:
        if files.read_submitted() != list(action):
            files.clear()
            files.write_submitted(action)
        return action

    def pending_action(self) -> list[TrainingDatum] | None:
        return self._files_of_next.read_submitted()


class OpenEnded(RecordEnvironment):
    """The agent sees the evaluated instances and the overall score, but no skills."""

    metadata: ClassVar[dict[str, Any]] = {**TeachingEnvironment.metadata, "shows_skills": False}  # type: ignore[misc]

    @cached_property
    def _unlabeled(self) -> dict[str, TaskInstance]:
        """The problems without their skills, by id; they stay the same."""
        return {}

    def observe(
        self, completed: tuple[CompletedTaskInstance, ...], report: PerformanceReport
    ) -> Observation:
        shown = []
        for c in completed:
            instance = c.instance
            if instance.skill is not None or instance.category is not None:
                if instance.id not in self._unlabeled:
                    plain = instance.model_copy(update={"skill": None, "category": None})
                    self._unlabeled[instance.id] = plain
                c = c.model_copy(update={"instance": self._unlabeled[instance.id]})
            shown.append(c)
        hidden: dict[str, Any] = {"skills": ()}
        if report.refused is not None:
            hidden["refused"] = report.refused.model_copy(update={"skills": ()})
        return {"completed": tuple(shown), "report": report.model_copy(update=hidden)}


class SkillList(RecordEnvironment):
    """The agent sees the evaluated instances with their skills, and the report by skill."""
