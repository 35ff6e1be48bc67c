"""Options of an episode: given when a teaching environment is made, and at `reset`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, Self, TypedDict, get_args

from dataenvgym.environments.iteration_result import IterationResult
from dataenvgym.environments.phases import PhaseClock
from dataenvgym.errors import ConfigurationError, did_you_mean
from dataenvgym.interfaces import RecordCheckInterface, SkillLabelerInterface, TaskInterface

Mode = Literal["incremental", "accumulate"]


class EnvironmentOptions(TypedDict, total=False):
    """Keyword arguments of `TeachingEnvironment` that each environment passes on."""

    directory: str | Path | None
    mode: Mode
    replay: int
    target_score: float | None
    max_records: int | None
    similarity: float
    labeler: SkillLabelerInterface | None
    quality: Sequence[RecordCheckInterface]
    render_mode: str | None


@dataclass(frozen=True)
class TeachingOptions:
    """The options of `TeachingEnvironment` that decide how an episode goes; see there.

    Raises:
        ConfigurationError: for a value that cannot be.
    """

    mode: Mode = "incremental"
    replay: int = 100
    target_score: float | None = None
    max_records: int | None = None
    similarity: float = 0.9

    def __post_init__(self) -> None:
        modes = get_args(Mode)
        if self.mode not in modes:
            raise ConfigurationError(
                f"mode is {self.mode!r}, expected 'incremental' or 'accumulate'."
                f"{did_you_mean(str(self.mode), modes)}"
            )
        if not _is_count(self.replay):
            raise ConfigurationError(f"replay is {self.replay!r}, expected 0 or more records")
        if self.max_records is not None and not _is_count(self.max_records):
            raise ConfigurationError(
                f"max_records is {self.max_records!r}, expected 0 or more, or None"
            )
        if self.target_score is not None and not math.isfinite(self.target_score):
            raise ConfigurationError(
                f"target_score is {self.target_score}, expected a finite number, or None"
            )
        if not 0 < self.similarity < 1:
            raise ConfigurationError(f"similarity is {self.similarity}, expected between 0 and 1")

    def end_at(self, last: IterationResult) -> bool:
        """Whether the target score or the record budget is reached."""
        return aim_reached(
            last.val_score, last.n_records_total, self.target_score, self.max_records
        )

    def described(self) -> dict[str, Any]:
        """By name, as an episode's identity keeps them."""
        return asdict(self)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and value >= 0


def aim_reached(
    score: float, records: int, target_score: float | None, max_records: int | None
) -> bool:
    """Whether a validation score or a number of records ends an episode."""
    return (target_score is not None and score >= target_score) or (
        max_records is not None and records >= max_records
    )


@dataclass(frozen=True)
class ResetOptions:
    """The `options` of `reset`; see `TeachingEnvironmentInterface`."""

    resume: bool = False
    fresh: bool = False
    directory: str | Path | None = None
    test_tasks: Sequence[TaskInterface] = ()
    clock: PhaseClock = field(default_factory=PhaseClock)

    @classmethod
    def parse(cls, options: Mapping[str, Any] | None) -> Self:
        """The options by name.

        Raises:
            ConfigurationError: for a name without an option.
        """
        names = [each.name for each in fields(cls)]
        if not isinstance(options, Mapping | None):
            raise ConfigurationError(
                f"options is {options!r:.80}, expected a mapping such as {{'resume': True}}"
            )
        for name in options or {}:
            if name not in names:
                raise ConfigurationError(
                    f"reset() has no option {name!r}.{did_you_mean(name, names)} "
                    f"It has: {', '.join(names)}."
                )
        return cls(**(options or {}))
