"""What the data-generation agent does: batches of training records."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from pydantic import TypeAdapter

from dataenvgym.errors import ConfigurationError
from dataenvgym.records import (
    ChatDatum,
    KTODatum,
    PreferenceDatum,
    Provenance,
    SupervisedDatum,
    TextDatum,
    TrainingDatum,
)
from dataenvgym.spaces.base import RecordSpace, is_tuple_of
from dataenvgym.spaces.samples import draw_problem


class RecordsSpace(RecordSpace[tuple[TrainingDatum, ...]]):
    """Batches of at most `max_size` training records of any kind; a batch may be empty."""

    adapter = TypeAdapter(tuple[TrainingDatum, ...])
    parameters: ClassVar = ("max_size",)

    def __init__(
        self, max_size: int | None = None, *, seed: int | np.random.Generator | None = None
    ):
        if max_size is not None and max_size < 1:
            raise ConfigurationError(f"max_size is {max_size}, expected 1 or more, or None")
        self.max_size = max_size
        super().__init__(seed=seed)

    def contains(self, x: Any) -> bool:
        kinds = (SupervisedDatum, ChatDatum, PreferenceDatum, KTODatum, TextDatum)
        return is_tuple_of(x, *kinds) and (self.max_size is None or len(x) <= self.max_size)

    def draw(self, rng: np.random.Generator) -> tuple[TrainingDatum, ...]:
        size = int(rng.integers(1, min(self.max_size or 4, 4) + 1))
        problems = [draw_problem(rng) for _ in range(size)]
        return tuple(
            SupervisedDatum(
                instruction=problem.question,
                output=problem.solution,
                provenance=Provenance(skill=problem.skill),
            )
            for problem in problems
        )
