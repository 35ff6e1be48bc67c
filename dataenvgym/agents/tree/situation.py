"""The observation of `SkillTree-v0` policies, and their interface."""

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
        forest: the current forest.
        iteration: the iteration to plan, from 1 on.
        completed: the evaluated validation instances.
        predictor: the current student, or None if it cannot be asked.
    """

    forest: Forest
    iteration: int = 1
    completed: Sequence[CompletedTaskInstance] = ()
    predictor: PredictorInterface | None = None


@runtime_checkable
class TreePolicy(Protocol):
    """Turns a forest into an action."""

    def act(self, situation: TreeSituation, count: int, rng: np.random.Generator) -> TreeAction:
        """Choose the next action.

        Args:
            count: the most records that the step may ask for in all; the agent cuts an action
                that asks for more.
            rng: the source of all randomness.
        """
        ...
