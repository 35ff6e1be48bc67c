"""Environments around a simulated student, without files: a forest of skills, and fixed arrays.

`SimulatedSkillTree` has the spaces and the transitions of `SkillTree-v0`. `SimulatedForest` is
`FixedForest(SimulatedSkillTree())` computed on arrays: it keeps only the totals of each tree, for
policies that train for a hundred thousand steps. Records are only counted.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, SupportsFloat, TypeVar

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded

from dataenvgym.environments.simulation.curves import LearningCurves, SimulatedStudent, read_curves
from dataenvgym.environments.skill_tree import (
    Accuracies,
    Explore,
    Results,
    TreeAction,
    TreeActionSpace,
    apply_action,
    apply_results,
    parse_tree_action,
    plant,
)
from dataenvgym.environments.skill_tree.actions import tree_observation_space
from dataenvgym.environments.skill_tree.transitions import Key
from dataenvgym.environments.wrappers import FixedLayout, TreeTotals
from dataenvgym.errors import check_at_least
from dataenvgym.records import PerformanceReport, SkillReport

Observation = dict[str, Any]
ObsT = TypeVar("ObsT")
ActT = TypeVar("ActT")


class _Simulated(gymnasium.Env[ObsT, ActT]):
    """A simulated student to teach; the reward is the change in mean accuracy."""

    metadata: ClassVar[dict[str, Any]] = {"render_modes": []}  # type: ignore[misc]
    iterations: float = float("inf")

    def __init__(
        self,
        curves: LearningCurves | str | Path = "pocket_math",
        *,
        replay: int = 100,
        n_instances: int | None = None,
        subskills: int = 3,
    ) -> None:
        check_at_least(1, subskills=subskills)
        self.curves = read_curves(curves)
        self.student = SimulatedStudent(self.curves, replay=replay, n_instances=n_instances)
        self.subskills = subskills
        self._seen = self.student.accuracies
        self._n_records = 0.0
        self._n_steps: int | None = None
        self._open()

    def _open(self) -> None:
        """Set the spaces."""

    @property
    def skills(self) -> tuple[str, ...]:
        """The skills of the student."""
        return self.curves.skills

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[ObsT, dict[str, Any]]:
        """Begin with the base student and nothing explored."""
        super().reset(seed=seed)
        self._seen = self.student.reset(self.np_random)
        self._n_steps, self._n_records = 0, 0.0
        self._plant()
        return self._observation(self._seen), self._info()

    def step(self, action: ActT) -> tuple[ObsT, SupportsFloat, bool, bool, dict[str, Any]]:
        """Allocate records by the action, and train; impossible actions change nothing."""
        if self._n_steps is None:
            raise ResetNeeded("step() needs an episode in progress: call reset() first")
        counts = self._allocate(action)
        before, self._seen = self._seen, self.student.teach(counts)
        self._n_steps += 1
        self._n_records = float(counts.sum())
        reward = float(self._seen.mean() - before.mean())
        truncated = self._n_steps >= self.iterations
        return self._observation(before), reward, False, truncated, self._info()

    @abstractmethod
    def _plant(self) -> None:
        """Begin with a tree for each skill, none open."""

    @abstractmethod
    def _allocate(self, action: ActT) -> np.ndarray:
        """Apply the action; return the number of records (n_skills,)."""

    @abstractmethod
    def _observation(self, before: np.ndarray) -> ObsT:
        """The observation after training; `before` has the accuracies (n_skills,) before it."""

    def _info(self) -> dict[str, Any]:
        return {
            "iteration": float(self._n_steps or 0),
            "score": float(self._seen.mean()),
            "n_records": self._n_records,
            "n_records_total": float(self.student.taught.sum()),
        }


class SimulatedSkillTree(_Simulated[Observation, TreeAction]):
    """`SkillTree-v0` around a simulated student: the same spaces and transitions, and no files.

    The observation is `{"completed": (), "report": PerformanceReport, "forest": Forest}`, the
    action a tuple of `Explore` and `Exploit`. In a step the student trains on the forest's
    allocation. An episode never ends by itself: limit it with `gymnasium.wrappers.TimeLimit`.

    Args:
        curves: the student's learning curves: the name of shipped curves, or a file.
        replay: the number of earlier records that each training repeats.
        n_instances: the number of evaluated instances of each skill; None shows the exact
            accuracies.
        subskills: the number of subskills of each skill.

    Raises:
        ConfigurationError: if there are no such curves, or an option is impossible.
    """

    def _open(self) -> None:
        self.observation_space = tree_observation_space()
        self.action_space: TreeActionSpace = TreeActionSpace()
        # samples only explore, so they fit the forest at any time
        self._bare = self.action_space.forest = plant(self._reported())

    def _plant(self) -> None:
        self._forest = self._bare
        self._made: Mapping[Key, int] = {}

    def _allocate(self, action: TreeAction) -> np.ndarray:
        moves = parse_tree_action(action, self._forest)
        names = {}
        for move in moves:
            if isinstance(move, Explore):  # its next unopened subskills
                n_open = len(self._forest.tree(move.skill).subskills)
                last = min(self.subskills, n_open + move.subskills)
                names[move.skill] = [f"part {i + 1}" for i in range(n_open, last)]
        self._forest = apply_action(self._forest, moves, names)
        trees = self._forest.trees
        self._made = {(t.skill, s.name): s.allocation for t in trees for s in t.subskills}
        return np.array([tree.allocation for tree in trees], dtype=float)

    def _observation(self, before: np.ndarray) -> Observation:
        by_skill = dict(zip(self.skills, self._seen.tolist(), strict=True))
        results = Results(made=self._made, validation=Accuracies(skills=by_skill))
        self._forest = apply_results(self._forest, results)
        return {"completed": (), "report": self._reported(), "forest": self._forest}

    def _reported(self) -> PerformanceReport:
        n = self.student.n_instances or 1
        parts = zip(self.skills, self.curves.categories, self._seen.tolist(), strict=True)
        skills = tuple(
            SkillReport(skill=skill, category=category, score=a, accuracy=a, n=n, n_errors=0)
            for skill, category, a in parts
        )
        score = float(self._seen.mean())
        return PerformanceReport(
            task=self.curves.task,
            score=score,
            accuracy=score,
            n=n * len(skills),
            n_errors=0,
            skills=skills,
        )


class SimulatedForest(_Simulated[np.ndarray, np.ndarray]):
    """A simulated student with observations and actions of fixed size.

    Args:
        curves, replay, n_instances: see `SimulatedSkillTree`.
        subskills: the number of subskills of each skill, and of those that an exploring skill
            opens at once.
        records_per_iteration, iterations: see `FixedLayout`. The last step returns truncated.

    Raises:
        ConfigurationError: if there are no such curves, or an option is impossible.
    """

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
        super().__init__(curves, replay=replay, n_instances=n_instances, subskills=subskills)
        sizes = {"records_per_iteration": records_per_iteration, "iterations": iterations}
        self.layout = FixedLayout(self.skills, subskills=subskills, **sizes)
        self.iterations = iterations
        self.observation_space = self.layout.observation_space
        self.action_space = self.layout.action_space
        self._known = np.ones(len(self.skills), dtype=bool)

    def _plant(self) -> None:
        n = len(self.skills)
        self._allocation = np.zeros(n, dtype=int)
        self._n_open = np.zeros(n, dtype=int)
        self._complete = np.zeros(n, dtype=bool)

    def _allocate(self, action: np.ndarray) -> np.ndarray:
        """Do the same as `FixedForest` and the forest's transitions, tree by tree."""
        shares, explores = self.layout.orders(action, self._known)
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
        return self._allocation

    def _observation(self, before: np.ndarray) -> np.ndarray:
        totals = TreeTotals(self._seen, self._allocation, self.student.taught, self._n_open > 0)
        return self.layout.observation(totals, before, self._n_steps or 0)
