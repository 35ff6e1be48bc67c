"""A source that generates its problems."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from dataenvgym.records import TaskInstance
from dataenvgym.seeding import derive_rng
from dataenvgym.tasks.source import Source, Split


class Draws(Protocol):
    """Draws one problem of a skill."""

    def __call__(
        self, skill: str, split: Split, rng: np.random.Generator
    ) -> tuple[str, Callable[[], Mapping[str, Any]]]:
        """A question, and a maker of the other fields of its instance; both use `rng`."""
        ...


class ProceduralSource(Source):
    """Generated problems, with equal shares of the skills; no question twice in a split.

    They are the same in every process and on every machine.

    Args:
        name: of the task; ids begin with it.
        skills: in the order in which they come.
        draw: draws a problem.
        sizes: number of problems in each split.
        seed: selects the problems. The published figures use 0.
    """

    def __init__(
        self,
        name: str,
        skills: Sequence[str],
        draw: Draws,
        *,
        sizes: Mapping[Split, int],
        seed: int = 0,
    ) -> None:
        self._name = name
        self._skills = tuple(skills)
        self._draw = draw
        self._sizes = sizes
        self._seed = seed

    def load(self, split: Split) -> Sequence[TaskInstance]:
        rngs = {skill: derive_rng(self._seed, self._name, split, skill) for skill in self._skills}
        instances: dict[str, TaskInstance] = {}
        while len(instances) < self._sizes[split]:
            skill = self._skills[len(instances) % len(self._skills)]
            question, fields = self._draw(skill, split, rngs[skill])
            if question not in instances:
                instances[question] = TaskInstance(
                    id=f"{self._name}-{split}-{len(instances):05d}",
                    task=self._name,
                    instruction=question,
                    skill=skill,
                    **fields(),
                )
        return list(instances.values())
