"""The layout of forests and actions as arrays of fixed size, for RL libraries.

observation   for each skill one row of FEATURES, in [-1, 1]; flattened
action        for each skill (weight, whether to explore), in [-1, 1]; flattened
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np

from dataenvgym.agents.policies.plain import apportion
from dataenvgym.errors import ConfigurationError, InvalidActionError, check_at_least

FEATURES = ("accuracy", "change", "allocation", "generated", "opened", "steps_left")
"""The columns of an observation, for each skill:

accuracy      on the validation instances; 0 if nothing was scored
change        of the accuracy since the last observation
allocation    its share of the record budget in the last step
generated     records made so far, as a share of the budget of all steps, times the number of skills
opened        1 if it has an open subskill
steps_left    share of the episode's steps that are left, the same in each row
"""


@dataclass(frozen=True)
class TreeTotals:
    """The rows of an observation; each (n_skills,).

    Attributes:
        accuracy: in [0, 1].
        allocation, generated: records.
        opened: True if there is an open subskill.
    """

    accuracy: np.ndarray
    allocation: np.ndarray
    generated: np.ndarray
    opened: np.ndarray


class FixedLayout:
    """Observations and actions of fixed size for these skills.

    Args:
        skills: the rows.
        records_per_iteration: the record budget of a step.
        iterations: the number of steps of an episode.
        subskills: the number of subskills that an exploring skill opens at once.
    """

    def __init__(
        self,
        skills: Sequence[str],
        *,
        records_per_iteration: int = 300,
        iterations: int = 5,
        subskills: int = 3,
    ) -> None:
        check_at_least(
            1,
            records_per_iteration=records_per_iteration,
            iterations=iterations,
            subskills=subskills,
        )
        if not skills or len(set(skills)) < len(skills):
            raise ConfigurationError(
                f"skills are {tuple(skills)}, expected one or more, all different"
            )
        self.skills = tuple(skills)
        self.records_per_iteration = records_per_iteration
        self.iterations = iterations
        self.subskills = subskills
        n = len(self.skills)
        self.observation_space = gymnasium.spaces.Box(-1.0, 1.0, (n * len(FEATURES),), np.float32)
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (n * 2,), np.float32)

    def observation(self, now: TreeTotals, before: np.ndarray, step: int) -> np.ndarray:
        """(n_skills * len(FEATURES),) float32.

        Args:
            before: the accuracies (n_skills,) of the last observation.
            step: the number of steps made.
        """
        budget, n = self.records_per_iteration, len(self.skills)
        rows = np.empty((n, len(FEATURES)), np.float32)
        rows[:, 0] = now.accuracy
        rows[:, 1] = now.accuracy - before
        rows[:, 2] = now.allocation / budget
        rows[:, 3] = now.generated * (n / (budget * self.iterations))
        rows[:, 4] = now.opened
        rows[:, 5] = max(0.0, 1 - step / self.iterations)
        return np.minimum(rows, 1.0).ravel()

    def orders(self, action: Any, known: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Each skill's share of the record budget, and whether it explores; (n_skills,) both.

        A weight x counts as ((x + 1) / 2) ** 2; a second number above 0 explores.

        Args:
            known: True for each skill with a tree; a skill without one gets share 0.

        Raises:
            InvalidActionError: if the action has another shape, or an entry that is not a number.
        """
        values = np.asarray(action, dtype=float)
        if values.shape != self.action_space.shape or not np.isfinite(values).all():
            raise InvalidActionError(
                f"the action is {action!r}, expected {self.action_space.shape} finite numbers"
            )
        pairs = np.minimum(np.maximum(values, -1.0), 1.0).reshape(-1, 2)
        weights = known * ((pairs[:, 0] + 1) / 2) ** 2
        if not weights.any():
            weights = known.astype(float)
        budget = self.records_per_iteration if weights.any() else 0
        return np.array(apportion(weights, budget)), pairs[:, 1] > 0
