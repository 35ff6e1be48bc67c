"""`SimulatedSkillTree`: the spaces and the transitions of `SkillTree-v0`, without files.

The student is simulated, and records are only counted. `FixedForest` makes arrays of it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, SupportsFloat

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
from dataenvgym.records import PerformanceReport, SkillReport

Observation = dict[str, Any]


class SimulatedSkillTree(gymnasium.Env[Observation, TreeAction]):
    """`SkillTree-v0` around a simulated student: the same spaces and transitions, and no files.

    The observation is `{"completed": (), "report": PerformanceReport, "forest": Forest}`, the
    action a tuple of `Explore` and `Exploit`. In a step the student trains on the forest's
    allocation; the reward is the change in mean accuracy. An episode never ends by itself: limit it
    with `gymnasium.wrappers.TimeLimit`.

    Args:
        curves: the student's learning curves: the name of shipped curves, or a file.
        replay: the number of earlier records that each training repeats.
        n_instances: the number of evaluated instances of each skill; None shows the exact
            accuracies.
        subskills: the number of subskills of each skill.

    Raises:
        ConfigurationError: if there are no such curves.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": []}  # type: ignore[misc]

    def __init__(
        self,
        curves: LearningCurves | str | Path = "pocket_math",
        *,
        replay: int = 100,
        n_instances: int | None = None,
        subskills: int = 3,
    ) -> None:
        self.curves = read_curves(curves)
        self.student = SimulatedStudent(self.curves, replay=replay, n_instances=n_instances)
        self.subskills = subskills
        self._seen = self.student.accuracies
        self._n_steps: int | None = None
        self.observation_space = tree_observation_space()
        self.action_space: TreeActionSpace = TreeActionSpace()
        # samples only explore, so they fit the forest at any time
        self._bare = self.action_space.forest = plant(self._reported())

    @property
    def skills(self) -> tuple[str, ...]:
        """The skills of the student."""
        return self.curves.skills

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin with the base student and nothing explored."""
        super().reset(seed=seed)
        self._seen = self.student.reset(self.np_random)
        self._n_steps, self._forest = 0, self._bare
        return self._observation(Results(validation=self._accuracies())), self._info()

    def step(
        self, action: TreeAction
    ) -> tuple[Observation, SupportsFloat, bool, bool, dict[str, Any]]:
        """Allocate records by the action, and train; impossible actions change nothing."""
        if self._n_steps is None:
            raise ResetNeeded("step() needs an episode in progress: call reset() first")
        moves = parse_tree_action(action, self._forest)
        names = {}
        for move in moves:
            if isinstance(move, Explore):  # its next unopened subskills
                n_open = len(self._forest.tree(move.skill).subskills)
                last = min(self.subskills, n_open + move.subskills)
                names[move.skill] = [f"part {i + 1}" for i in range(n_open, last)]
        self._forest = apply_action(self._forest, moves, names)
        trees = self._forest.trees
        counts = np.array([tree.allocation for tree in trees], dtype=float)
        before, self._seen = self._seen, self.student.teach(counts)
        self._n_steps += 1
        made = {(t.skill, s.name): s.allocation for t in trees for s in t.subskills}
        observation = self._observation(Results(made=made, validation=self._accuracies()))
        reward = float(self._seen.mean() - before.mean())
        return observation, reward, False, False, self._info()

    def _accuracies(self) -> Accuracies:
        return Accuracies(skills=dict(zip(self.skills, self._seen.tolist(), strict=True)))

    def _observation(self, results: Results) -> Observation:
        self._forest = apply_results(self._forest, results)
        return {"completed": (), "report": self._reported(), "forest": self._forest}

    def _info(self) -> dict[str, Any]:
        return {
            "iteration": float(self._n_steps or 0),
            "score": float(self._seen.mean()),
            "n_records": float(self._forest.allocation if self._n_steps else 0),
            "n_records_total": float(self.student.taught.sum()),
        }

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
