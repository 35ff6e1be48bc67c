"""A source: where the problems of a task come from, by split."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, get_args

import numpy as np

from dataenvgym.errors import ConfigurationError
from dataenvgym.records import TaskInstance
from dataenvgym.seeding import derive_rng

Split = Literal["train", "validation", "test"]
SPLITS: tuple[Split, ...] = get_args(Split)


class Source(ABC):
    """The problems of each split; only `load` is required.

    Attributes:
        has_one_source: whether all three splits are parts of one thing, such as a file; `whole`
            can then join them.
    """

    has_one_source: bool = False

    @abstractmethod
    def load(self, split: Split) -> Sequence[TaskInstance]:
        """The problems of that split, always the same ones in the same order.

        Raises:
            ConfigurationError: if the split does not exist.
            UnparsableAnswerError: for a gold answer that the scorer cannot read.
        """

    @property
    def splits(self) -> tuple[Split, ...]:
        """The available splits; by default, all three."""
        return SPLITS

    def share(self, split: Split, chosen: int) -> str | None:
        """The part of the source that the `chosen` problems of a split are; None if it is all."""
        return None

    def whole(self) -> Source:
        """All problems as the validation split; for sources that say `has_one_source`."""
        raise NotImplementedError


Draws = Callable[[str, Split, np.random.Generator], tuple[str, Callable[[], Mapping[str, Any]]]]
"""Draws one problem of a skill and split: a question, and a maker of the other fields of its
instance; both use the generator."""


class ProceduralSource(Source):
    """Generated problems, with equal shares of the skills; no question twice in a split.

    They are the same in every process and on every machine.

    Args:
        name: of the task; ids begin with it.
        skills: in the order in which they come.
        draw: draws a problem.
        sizes: number of problems in each split.
        seed: selects the problems. The published figures use 0.

    Raises:
        ConfigurationError: when a split is loaded, if a skill has too few different questions.
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
        n_in_vain = 0
        while len(instances) < self._sizes[split]:
            skill = self._skills[len(instances) % len(self._skills)]
            question, fields = self._draw(skill, split, rngs[skill])
            n_in_vain += 1
            if n_in_vain > _MOST_IN_VAIN:
                raise ConfigurationError(
                    f"n_{split} is {self._sizes[split]}, and of skill {skill!r} task "
                    f"{self._name!r} has no more different problems after {len(instances)} of all "
                    f"skills: set task.n_{split} lower"
                )
            if question not in instances:
                n_in_vain = 0
                instances[question] = TaskInstance(
                    id=f"{self._name}-{split}-{len(instances):05d}",
                    task=self._name,
                    instruction=question,
                    skill=skill,
                    **fields(),
                )
        return list(instances.values())


_MOST_IN_VAIN = 3000
"""Questions of a skill drawn again in a row before the skill counts as exhausted."""
