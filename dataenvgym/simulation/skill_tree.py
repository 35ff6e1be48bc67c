"""`SkillTree-v0` around a simulated student: the same spaces and transitions, and no files.

Records are only counted, and there are no evaluated instances: `observation["completed"]` is empty.
In a step the student trains on the forest's allocation, as in `SkillTree-v0`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, SupportsFloat

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded

from dataenvgym.environments.skill_tree import (
    Accuracies,
    Explore,
    Forest,
    ForestSpace,
    Results,
    TreeAction,
    TreeActionSpace,
    apply_action,
    apply_results,
    parse_tree_action,
    plant,
)
from dataenvgym.environments.skill_tree.transitions import Key
from dataenvgym.errors import check_at_least
from dataenvgym.records import PerformanceReport, SkillReport
from dataenvgym.simulation.curves import LearningCurves, read_curves
from dataenvgym.simulation.student import SimulatedStudent
from dataenvgym.spaces import CompletedInstancesSpace, ReportSpace

Observation = dict[str, Any]


class SimulatedSkillTree(gymnasium.Env[Observation, TreeAction]):
    """A simulated student to teach, with thousands of steps per second.

    The observation is `{"completed": (), "report": PerformanceReport, "forest": Forest}`, the
    action a tuple of `Explore` and `Exploit`, the reward the change in mean accuracy. An episode
    never ends by itself: limit it with `gymnasium.wrappers.TimeLimit`.

    Args:
        curves: the student's learning curves: the name of shipped curves, or a file.
        replay: the number of earlier records that each training repeats.
        n_instances: the number of evaluated instances of each skill; None shows the exact
            accuracies.
        subskills: the number of subskills of each skill.

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
    ) -> None:
        check_at_least(1, subskills=subskills)
        self.curves = read_curves(curves)
        self.student = SimulatedStudent(self.curves, replay=replay, n_instances=n_instances)
        self.subskills = subskills
        self.observation_space = gymnasium.spaces.Dict(
            {
                "completed": CompletedInstancesSpace(),
                "report": ReportSpace(),
                "forest": ForestSpace(),
            }
        )
        self.action_space: TreeActionSpace = TreeActionSpace()
        self._n_steps = 0
        self._n_records = 0
        self._forest: Forest | None = None
        self._report = self._reported(self.student.accuracies)
        # samples only explore, so they fit the forest at any time
        self.action_space.forest = plant(self._report)

    @property
    def skills(self) -> tuple[str, ...]:
        """The skills of the forest."""
        return self.curves.skills

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin with the base student."""
        super().reset(seed=seed)
        self._n_steps = self._n_records = 0
        seen = self.student.reset(self.np_random)
        self._report = self._reported(seen)
        self._settle(plant(self._report), {}, seen)
        return self._observation(), self._info()

    def step(
        self, action: TreeAction
    ) -> tuple[Observation, SupportsFloat, bool, bool, dict[str, Any]]:
        """Change the forest, and train on its allocation.

        Raises:
            InvalidActionError: as `parse_tree_action`; the environment is unchanged.
            ResetNeeded: before the first `reset`.
        """
        if self._forest is None:
            raise ResetNeeded("step() needs an episode in progress: call reset() first")
        moves = parse_tree_action(action, self._forest)
        names = {}
        for move in moves:
            if isinstance(move, Explore):  # its next unopened subskills
                n_open = len(self._forest.tree(move.skill).subskills)
                last = min(self.subskills, n_open + move.subskills)
                names[move.skill] = [f"part {i + 1}" for i in range(n_open, last)]
        forest = apply_action(self._forest, moves, names)
        counts = np.array([tree.allocation for tree in forest.trees], dtype=float)
        before = self._report.score
        seen = self.student.teach(counts)
        made = {(t.skill, s.name): s.allocation for t in forest.trees for s in t.subskills}
        self._n_steps += 1
        self._n_records = int(counts.sum())
        self._report = self._reported(seen)
        self._settle(forest, made, seen)
        return self._observation(), self._report.score - before, False, False, self._info()

    def _settle(self, forest: Forest, made: Mapping[Key, int], seen: np.ndarray) -> None:
        by_skill = dict(zip(self.curves.skills, seen.tolist(), strict=True))
        results = Results(made=made, validation=Accuracies(skills=by_skill))
        self._forest = apply_results(forest, results)

    def _reported(self, seen: np.ndarray) -> PerformanceReport:
        n = self.student.n_instances or 1
        parts = zip(self.curves.skills, self.curves.categories, seen.tolist(), strict=True)
        skills = tuple(
            SkillReport(skill=skill, category=category, score=a, accuracy=a, n=n, n_errors=0)
            for skill, category, a in parts
        )
        score = float(seen.mean())
        return PerformanceReport(
            task=self.curves.task,
            score=score,
            accuracy=score,
            n=n * len(skills),
            n_errors=0,
            skills=skills,
        )

    def _observation(self) -> Observation:
        return {"completed": (), "report": self._report, "forest": self._forest}

    def _info(self) -> dict[str, Any]:
        return {
            "iteration": float(self._n_steps),
            "score": self._report.score,
            "n_records": float(self._n_records),
            "n_records_total": float(self.student.taught.sum()),
        }
