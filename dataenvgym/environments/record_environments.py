"""Teaching environments in which the agent writes the records itself.

`OpenEnded` shows the evaluated instances without their gold skills; `SkillList` shows the skills,
and the report grouped by them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar

import gymnasium

from dataenvgym.environments.checks import CheckedRecord
from dataenvgym.environments.iterations import IterationFiles
from dataenvgym.environments.options import stamp
from dataenvgym.environments.teaching import Observation, TeachingEnvironment
from dataenvgym.records import CompletedTaskInstance, PerformanceReport, TrainingDatum
from dataenvgym.records.spaces import RecordsSpace


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
        records = stamp(action, files.number)
        if files.read_submitted() != records:
            files.clear()
            files.write_records(CheckedRecord(record=record) for record in records)
        return records

    def pending_action(self) -> list[TrainingDatum] | None:
        return self._files_of_next.read_submitted()


class OpenEnded(RecordEnvironment):
    """The agent sees the evaluated instances and the overall score, but no skills."""

    metadata: ClassVar[dict[str, Any]] = {**TeachingEnvironment.metadata, "shows_skills": False}  # type: ignore[misc]

    def observe(
        self, completed: tuple[CompletedTaskInstance, ...], report: PerformanceReport
    ) -> Observation:
        shown = tuple(each.with_skill(None, None) for each in completed)
        hidden: dict[str, Any] = {"skills": ()}
        if report.refused is not None:
            hidden["refused"] = report.refused.model_copy(update={"skills": ()})
        return {"completed": shown, "report": report.model_copy(update=hidden)}


class SkillList(RecordEnvironment):
    """The agent sees the evaluated instances with their skills, and the report by skill."""
