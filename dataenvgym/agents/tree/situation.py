"""Observations of the policies of `SkillTree-v0`, and their actions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from dataenvgym.environments.skill_tree.actions import TreeAction
from dataenvgym.environments.skill_tree.forest import Forest
from dataenvgym.interfaces import PredictorInterface
from dataenvgym.records import CompletedTaskInstance


@dataclass(frozen=True)
class TreeSituation:
    """A tree policy's observation before an iteration.

    Attributes:
        forest: the forest as it is.
        iteration: the iteration that is planned, from 1 on.
        completed: the evaluated validation instances.
        predictor: the student as it is now, or None where there is none to ask.
    """

    forest: Forest
    iteration: int = 1
    completed: Sequence[CompletedTaskInstance] = ()
    predictor: PredictorInterface | None = None


@runtime_checkable
class TreePolicy(Protocol):
    """Turns a forest into an action."""

    def act(self, situation: TreeSituation, count: int, rng: np.random.Generator) -> TreeAction:
        """The next action.

        Args:
            count: how many records the step may ask for, in all; the agent cuts what asks for
                more.
            rng: where all chance comes from.
        """
        ...
