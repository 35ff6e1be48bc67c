"""The options of a teaching environment."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, Self, TypedDict

from pydantic import Field, ValidationError, model_validator

from dataenvgym.errors import ConfigurationError, first_fault
from dataenvgym.interfaces import RecordCheckInterface, SkillLabelerInterface
from dataenvgym.records import Model

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


class TeachingOptions(Model):
    """Options of `TeachingEnvironment` that determine an episode.

    Raises:
        ConfigurationError: for an impossible value.
    """

    mode: Mode = "incremental"
    replay: int = Field(default=100, ge=0, strict=True)
    target_score: float | None = Field(default=None, allow_inf_nan=False)
    max_records: int | None = Field(default=None, ge=0, strict=True)
    similarity: float = Field(default=0.9, gt=0, lt=1)
    gate: float | None = Field(default=None, gt=0, lt=1)
    held: Held = "all"
    generations_per_training: int = Field(default=1, ge=1)

    def __init__(self, **options: Any) -> None:
        try:
            super().__init__(**options)
        except ValidationError as error:
            raise ConfigurationError(first_fault(error)) from None

    @model_validator(mode="after")
    def _gate_holds(self) -> Self:
        if self.held != "all" and self.gate is None:
            raise ValueError(f"held is {self.held!r} without a gate: set gate too, such as 0.05")
        return self
