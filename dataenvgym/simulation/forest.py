"""`FixedForest(SimulatedSkillTree())` as one class: the same numbers, computed on arrays.

A policy that trains for a hundred thousand steps needs no readable forest, so only the totals of
each tree are kept.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, SupportsFloat

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded

from dataenvgym.errors import check_at_least
from dataenvgym.simulation.curves import LearningCurves, read_curves
from dataenvgym.simulation.student import SimulatedStudent
from dataenvgym.wrappers.fixed_layout import FixedLayout, TreeTotals


class SimulatedForest(gymnasium.Env[np.ndarray, np.ndarray]):
    """A simulated student with observations and actions of fixed size.

    Args:
        curves, replay, n_instances: see `SimulatedSkillTree`.
        subskills: the number of subskills of each skill, and of those that an exploring skill
            opens at once.
        records_per_iteration, iterations: see `FixedLayout`. The last step returns truncated.

    Raises:
        ConfigurationError: if there are no such curves, or an option is impossible.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": []}  # type: ignore[misc]

    def __init__(
        self,
        curves: LearningCurves | str | Path = "pocket_math",
        *,
        replay: int = 100,
        n_instances: int | None = None,
        subskills: int = 3,
        records_per_iteration: int = 300,
        iterations: int = 5,
    ) -> None:
        check_at_least(1, subskills=subskills)
        self.curves = read_curves(curves)
        self.student = SimulatedStudent(self.curves, replay=replay, n_instances=n_instances)
        self.subskills = subskills
        self.layout = FixedLayout(
            self.curves.skills,
            records_per_iteration=records_per_iteration,
            iterations=iterations,
            subskills=subskills,
        )
        self.observation_space = self.layout.observation_space
        self.action_space = self.layout.action_space
        self._known = np.ones(len(self.curves.skills), dtype=bool)
        self._n_steps: int | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin with the base student and nothing explored."""
        super().reset(seed=seed)
        self._seen = self.student.reset(self.np_random)
        n = len(self._seen)
        self._allocation = np.zeros(n, dtype=int)
        self._n_open = np.zeros(n, dtype=int)
        self._complete = np.zeros(n, dtype=bool)
        self._n_steps = 0
        return self._observation(self._seen), self._info()

    def step(
        self, action: np.ndarray
    ) -> tuple[np.ndarray, SupportsFloat, bool, bool, dict[str, Any]]:
        """Allocate the record budget by the weights, and train on it.

        Raises:
            InvalidActionError: as `FixedLayout.orders`.
            ResetNeeded: before the first `reset`.
        """
        if self._n_steps is None:
            raise ResetNeeded("step() needs an episode in progress: call reset() first")
        self._allocate(*self.layout.orders(action, self._known))
        before = self._seen
        self._seen = self.student.teach(self._allocation)
        self._n_steps += 1
        reward = float(self._seen.mean() - before.mean())
        truncated = self._n_steps >= self.layout.iterations
        return self._observation(before), reward, False, truncated, self._info()

    def _allocate(self, shares: np.ndarray, explores: np.ndarray) -> None:
        """Do the same as `FixedForest` and the forest's transitions, tree by tree."""
        room = shares - self._allocation
        is_open = self._n_open > 0
        exploring = (explores | ~is_open) & ~self._complete & (room > 0)
        asked = np.where(exploring, np.minimum(self.subskills, room), 1)
        opened = np.where(exploring, np.minimum(asked, self.subskills - self._n_open), 0)
        explored = self._allocation + opened * (room // asked)
        exploited = np.where(is_open, shares, self._allocation)
        self._allocation = np.where(exploring, explored, exploited)
        self._complete = np.where(exploring, opened < asked, self._complete)
        self._n_open = self._n_open + opened

    def _observation(self, before: np.ndarray) -> np.ndarray:
        totals = TreeTotals(self._seen, self._allocation, self.student.taught, self._n_open > 0)
        return self.layout.observation(totals, before, self._n_steps or 0)

    def _info(self) -> dict[str, Any]:
        return {
            "iteration": float(self._n_steps or 0),
            "score": float(self._seen.mean()),
            "n_records": float(self._allocation.sum()),
            "n_records_total": float(self.student.taught.sum()),
        }
