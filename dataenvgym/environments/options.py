"""The options of a teaching environment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any, Literal

from annotated_types import Gt, Lt
from pydantic import FiniteFloat, NonNegativeInt, PositiveInt

from dataenvgym.errors import ConfigurationError
from dataenvgym.interfaces import (
    RecordCheckInterface,
    SkillLabelerInterface,
    TaskInterface,
    TrainablePredictorInterface,
)
from dataenvgym.options import Given


@dataclass(frozen=True, kw_only=True)
class TeachingOptions:
    """Options of `TeachingEnvironment` that determine an episode.

    Attributes:
        mode: "incremental" continues from the last adapter, on the new records and a sample of
            `replay` earlier ones; "accumulate" trains from the base on all records so far.
        replay: the size of this sample.
        target_score: the validation score at which the episode ends, or None.
        max_records: the most records that the episode trains on, or None.
        similarity: Jaccard threshold of the near-duplicate check.
        gate: refuse a trained student that got worse on held skills, by a test at this level, such
            as 0.05: the student before it stays, the reward is 0, and the records count against
            `max_records` but are not trained on again. None: no gate.
        held: the skills that must not get worse: "all", or "untaught" by the step's records.
        generations_per_training: train in every n-th step only, on the records of n steps. The
            steps between check and keep their records: no training, no evaluation, reward 0, and
            the results of before.

    Raises:
        ConfigurationError: for `held` without a gate.
    """

    mode: Literal["incremental", "accumulate"] = "incremental"
    replay: NonNegativeInt = 100
    target_score: FiniteFloat | None = None
    max_records: NonNegativeInt | None = None
    similarity: Annotated[float, Gt(0), Lt(1)] = 0.9
    gate: Annotated[float, Gt(0), Lt(1)] | None = None
    held: Literal["all", "untaught"] = "all"
    generations_per_training: PositiveInt = 1

    def __post_init__(self) -> None:
        if self.held != "all" and self.gate is None:
            raise ConfigurationError(f"held is {self.held!r} without a gate: set gate too")

    def values(self) -> dict[str, Any]:
        """These options by name, without those that a subclass adds."""
        return {one.name: getattr(self, one.name) for one in fields(TeachingOptions)}


@dataclass(frozen=True, kw_only=True)
class EnvironmentOptions(TeachingOptions):
    """The options of `TeachingEnvironment`.

    Attributes:
        task: the task that the student is evaluated on.
        predictor: the student. Several environments may use one in turn: each step continues from
            the environment's own adapter.
        directory: the folder for `iterations/`; None makes a temporary one, which `close` removes.
        labeler: gives the instances skills that replace the task's gold skills.
        quality: further checks; records that fail one are dropped.
        render_mode: "ansi" makes `render` return text: the score, and a table of the skills if the
            agent sees them.
    """

    task: TaskInterface = field(kw_only=False)
    predictor: TrainablePredictorInterface = field(kw_only=False)
    directory: Given[str | Path | None] = None
    labeler: SkillLabelerInterface | None = None
    quality: Given[Sequence[RecordCheckInterface]] = ()
    render_mode: Given[Literal["ansi"] | None] = None
