"""Preference pairs from execution: code that passes before the student's own code that does not."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Unpack

from dataenvgym.agents.engines.preference import PreferenceEngine, PreferenceOptions
from dataenvgym.errors import ConfigurationError, SandboxError
from dataenvgym.interfaces import TaskInterface
from dataenvgym.plans import Engine
from dataenvgym.records import SupervisedDatum
from dataenvgym.tasks.adapted import task_of
from dataenvgym.tasks.code.domain import CodeDomain

_log = logging.getLogger(__name__)


class ExecutionPreferenceEngine(PreferenceEngine):
    """The student's code that fails the tests of the records of `engine`, as preference records.

    Chosen is the record's own solution. The tests are those of the problem of the training split
    that the record puts, or those that stand in its instruction (see `CodeDomain.judge_record`);
    a record without tests makes no pair, nor does code that could not be run.

    Args:
        engine: writes supervised records with right solutions, e.g. `ExecutionEngine`.
        task: a task with code, whose sandbox is used.
        options: those of `PreferenceEngine`.
    """

    def __init__(
        self, engine: Engine, task: TaskInterface, **options: Unpack[PreferenceOptions]
    ) -> None:
        super().__init__(engine, task, **options)
        domain = task_of(task).domain
        if not isinstance(domain, CodeDomain):
            name = getattr(task, "name", type(task).__name__)
            raise ConfigurationError(
                f"the execution engine runs code in the task's sandbox, and task {name!r} has "
                "none: choose a task with code, or agent/engine=preference"
            )
        self._judges = domain

    def are_right(self, answered: Sequence[tuple[SupervisedDatum, str]]) -> list[bool]:
        tried = [record.model_copy(update={"output": text}) for record, text in answered]
        return [self._is_right(record) for record in tried]

    def _is_right(self, record: SupervisedDatum) -> bool:
        try:
            return self._judges.judge_record(record) is not False
        except SandboxError as error:
            _log.warning("an answer was not judged, and counts as right: %s", error)
            return True
