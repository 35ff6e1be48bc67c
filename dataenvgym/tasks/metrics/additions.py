"""Additions of a domain to the evaluations of its problems: checks, files and a table of its own.

The class of a task names it: `Task.evaluation_addition()` returns a class with these methods, or
None. An example is that of the social scenes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

from dataenvgym.interfaces import PredictorInterface
from dataenvgym.records import TaskInstance
from dataenvgym.tasks.base import Task
from dataenvgym.tasks.metrics.files import EvaluationFiles
from dataenvgym.tasks.metrics.samples import Sample

if TYPE_CHECKING:
    from omegaconf import DictConfig


class AddedTable(Protocol):
    """A table of results that a command shows.

    Attributes:
        files: further files in the folder of the evaluation, by what is in them.
    """

    files: ClassVar[Mapping[str, str]]

    def document(self) -> Iterable[Any]:
        """The table, and notes on it (see `runs.documents`)."""
        ...


class EvaluationAddition(Protocol):
    """Takes part in one evaluation."""

    @classmethod
    def of(
        cls, config: DictConfig, overrides: Sequence[str] | None, adapter: Path | None
    ) -> Self | None:
        """Prepare an evaluation before its task is built; may change the configuration.

        Args:
            overrides: of the configuration; None if it was composed by the caller.
            adapter: the folder of the student's adapter.
        """
        ...

    @classmethod
    def again(cls, settings: DictConfig, directory: Path) -> Self | None:
        """The addition of an evaluation in that folder, whose samples are judged again."""
        ...

    def check(
        self, task: Task, predictor: PredictorInterface, instances: Sequence[TaskInstance]
    ) -> None:
        """Refuse problems that cannot be evaluated, before any model is asked.

        Raises:
            ConfigurationError: naming what is missing.
        """
        ...

    def begin(self, task: Task, directory: Path | None) -> Any:
        """Prepare to keep what the problems leave, in this folder or (None) in memory.

        Returns:
            What `sum_up_again` reads.
        """
        ...

    def sum_up(self, files: EvaluationFiles, samples: int, *, was_drawn: bool) -> AddedTable:
        """Write the files and return the table.

        Args:
            was_drawn: True if nothing was drawn now.
        """
        ...

    def sum_up_again(
        self, files: EvaluationFiles, samples: Sequence[Sample], kept: Any, folder: Path
    ) -> AddedTable:
        """Write the same of samples that were judged again into another folder."""
        ...
