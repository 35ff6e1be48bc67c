"""Options of an episode: those of a teaching environment, and those of `reset`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, Self, TypedDict, get_args

from dataenvgym.environments.iterations import IterationResult
from dataenvgym.environments.phases import PhaseClock
from dataenvgym.errors import (
    ConfigurationError,
    InvalidActionError,
    InvalidRecordError,
    check_at_least,
    check_one_of,
    did_you_mean,
)
from dataenvgym.interfaces import RecordCheckInterface, SkillLabelerInterface, TaskInterface
from dataenvgym.records import TrainingDatum, parse_training_data
from dataenvgym.students.llama_factory import stage_of


def parse_action(action: Any, *, beside: Sequence[TrainingDatum] = ()) -> tuple[TrainingDatum, ...]:
    """Parse the records of an action.

    Args:
        beside: earlier records that the same training will use.

    Raises:
        InvalidActionError: if the action is not a sequence of records.
        InvalidRecordError: if a record is malformed (the message names its index and field), or
            needs another training stage than the records before it.
    """
    if isinstance(action, str | bytes | Mapping) or not isinstance(action, Iterable):
        raise InvalidActionError(
            f"the action is {type(action).__name__}, expected a list of training records "
            "(models or mappings); does the agent return one?"
        )
    records = parse_training_data(action)
    stages = {stage_of(record): record for record in beside}
    for i, record in enumerate(records):
        stages.setdefault(stage_of(record), record)
        if len(stages) > 1:
            kinds = " and ".join(repr(r.kind) for r in stages.values())
            raise InvalidRecordError(
                f"record {i}, field kind: records of kind {kinds} need different training "
                "stages; send one stage a step (and one an episode in mode 'accumulate')",
                index=i,
                field="kind",
            )
    return records


def stamp(records: Sequence[TrainingDatum], iteration: int) -> list[TrainingDatum]:
    """Give the records ids, and write the iteration into their provenance."""
    stamped = []
    for i, record in enumerate(records):
        place = {"id": f"{iteration:03d}-{i:05d}", "iteration": iteration}
        provenance = record.provenance.model_copy(update=place)
        stamped.append(record.model_copy(update={"provenance": provenance}))
    return stamped


Mode = Literal["incremental", "accumulate"]
Held = Literal["all", "untaught"]


class EnvironmentOptions(TypedDict, total=False):
    """Keyword arguments of `TeachingEnvironment` that each environment passes on."""

    directory: str | Path | None
    mode: Mode
    replay: int
    target_score: float | None
    max_records: int | None
    generations_per_training: int
    gate: float | None
    held: Held
    similarity: float
    labeler: SkillLabelerInterface | None
    quality: Sequence[RecordCheckInterface]
    render_mode: str | None


@dataclass(frozen=True)
class TeachingOptions:
    """Options of `TeachingEnvironment` that determine an episode; impossible values are refused."""

    mode: Mode = "incremental"
    replay: int = 100
    target_score: float | None = None
    max_records: int | None = None
    similarity: float = 0.9
    gate: float | None = None
    held: Held = "all"
    generations_per_training: int = 1

    def __post_init__(self) -> None:
        check_at_least(1, generations_per_training=self.generations_per_training)
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
        if self.gate is not None and not (isinstance(self.gate, float) and 0 < self.gate < 1):
            raise ConfigurationError(
                f"gate is {self.gate!r}, expected the level of its test, between 0 and 1 such as "
                "0.05, or None for no gate"
            )
        check_one_of(get_args(Held), held=self.held)
        if self.held != "all" and self.gate is None:
            raise ConfigurationError(
                f"held is {self.held!r} without a gate, which alone holds skills: set gate too, "
                "such as gate=0.05"
            )

    def trains_in(self, iteration: int, records: int) -> bool:
        """True if the student is trained in this iteration, False if it only gathers records.

        Args:
            records: the number of the episode's records with those of this iteration. If they reach
                `max_records`, the episode ends, so the student is trained.
        """
        is_spent = self.max_records is not None and records >= self.max_records
        return is_spent or iteration % self.generations_per_training == 0

    def end_at(self, last: IterationResult) -> bool:
        """True if the target score or the record budget is reached."""
        return aim_reached(
            last.val_score, last.n_records_total, self.target_score, self.max_records
        )


def _is_count(value: object) -> bool:
    return isinstance(value, int) and value >= 0


def aim_reached(
    score: float, records: int, target_score: float | None, max_records: int | None
) -> bool:
    """True if the validation score or the number of records ends an episode."""
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
        """Parse the options of `reset`; ConfigurationError for an unknown name."""
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
