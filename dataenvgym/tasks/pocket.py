"""What the pocket families of all domains have in common.

A family has skills, each asked for in several plain-word phrasings and in symbols, and draws
exercises without end. It can read its own questions back. The pocket student is pretrained on
exercises; the embedded teacher (`PocketEngine`) writes records of them.

Exercises of different splits never share what they are about (operands, names): see the family.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from dataenvgym.errors import ConfigurationError, did_you_mean
from dataenvgym.interfaces import TaskInterface
from dataenvgym.tasks.adapted import task_of
from dataenvgym.tasks.source import Split


@dataclass(frozen=True)
class Exercise:
    """A question and what a student should write on it.

    Attributes:
        phrasing: how it is worded, with `{...}` for what it is about; None in symbols.
    """

    skill: str
    phrasing: str | None
    question: str
    output: str


class PocketFamily(Protocol):
    """A procedural family of problems.

    Attributes:
        name: the name of its task.
        phrasings: skill -> the phrasings that ask for it.
    """

    @property
    def name(self) -> str: ...

    @property
    def phrasings(self) -> Mapping[str, Sequence[str]]: ...

    def draw(
        self,
        skill: str,
        split: Split,
        rng: np.random.Generator,
        *,
        phrasing: str | None = None,
        symbols: bool = False,
    ) -> Exercise:
        """A random exercise of that split: worded as `phrasing`, in `symbols`, or at random."""
        ...

    def read(self, question: str) -> Exercise | None:
        """The exercise that a question in plain words puts, or None if it is none."""
        ...

    def reworded(self, exercise: Exercise, phrasing: str) -> Exercise:
        """The same exercise in another phrasing of its skill."""
        ...

    def holds(self, exercise: Exercise, output: str) -> bool:
        """Whether `output` is a right one, as far as can be told without running it."""
        ...


@runtime_checkable
class PocketDomain(Protocol):
    """A domain whose problems are those of a pocket family."""

    @property
    def family(self) -> PocketFamily: ...


def family_of(task: TaskInterface) -> PocketFamily:
    """The family of a pocket task.

    Raises:
        ConfigurationError: if it is another task.
    """
    task = task_of(task)
    if not isinstance(task.domain, PocketDomain):
        raise ConfigurationError(
            f"task {task.name!r} has no pocket family, whose exercises could be written: choose "
            "another engine (`dataenvgym list` shows them), your own agent "
            "(agent=my_module.MyAgent), or task=pocket_math or another pocket task"
        )
    return task.domain.family


def find_skill(family: PocketFamily, name: str) -> str:
    """`name`, if the family has a skill of that name.

    Raises:
        ConfigurationError: if it has none.
    """
    if name not in family.phrasings:
        raise ConfigurationError(
            f"{family.name} has no skill {name!r}.{did_you_mean(name, family.phrasings)} "
            f"It has: {', '.join(family.phrasings)}."
        )
    return name
