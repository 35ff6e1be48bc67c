"""`FixedForest`: `SkillTree-v0` with observations and actions of fixed size, for RL libraries.

observation   for each skill one row of FEATURES, in [-1, 1]; flattened
action        for each skill (weight, whether to explore), in [-1, 1]; flattened

The wrapper works for the simulated and the real environment, so a policy trained in one can act in
the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, SupportsFloat

import gymnasium
import numpy as np
from gymnasium.utils import RecordConstructorArgs

from dataenvgym.environments.skill_tree import Exploit, Explore, Forest, Tree, TreeAction
from dataenvgym.errors import ConfigurationError, InvalidActionError
from dataenvgym.records.plans import apportion
from dataenvgym.tasks.adapted_task import known_instances

__all__ = ["FEATURES", "FixedForest"]

FEATURES = ("accuracy", "change", "allocation", "generated", "opened", "steps_left")
"""The columns of an observation, for each skill:

accuracy      on the validation instances; 0 if nothing was scored
change        of the accuracy since the last observation
allocation    its share of the record budget in the last step
generated     records made so far, as a share of the budget of all steps, times the number of skills
opened        1 if it has an open subskill
steps_left    share of the episode's steps that are left, the same in each row
"""


class FixedForest(gymnasium.Wrapper[Any, Any, Any, TreeAction], RecordConstructorArgs):
    """Turns forests and actions into arrays of fixed size.

    A weight x in an action counts as ((x + 1) / 2) ** 2: it is the skill's share of the record
    budget, which is divided evenly among its open subskills. If the skill explores (a number above
    0), the increase of its share goes to new subskills instead. A skill without open subskills
    always explores; a complete one never does. Rounding leaves up to `subskills` - 1 records of an
    exploring skill unused.

    Args:
        env: `SkillTree-v0` or `SimulatedSkillTree`, wrapped or not.
        skills: the rows, in this order. None takes the `skills` of the environment, or else the
            gold skills of its task. Trees of other skills get no records.
        records_per_iteration: the record budget of a step.
        iterations: the number of steps of an episode; the last one returns truncated.
        subskills: the number of subskills that an exploring skill opens at once.
    """

    def __init__(
        self,
        env: gymnasium.Env[Any, TreeAction],
        *,
        skills: Sequence[str] | None = None,
        records_per_iteration: int = 300,
        iterations: int = 5,
        subskills: int = 3,
    ) -> None:
        sizes: dict[str, Any] = {
            "records_per_iteration": records_per_iteration,
            "iterations": iterations,
            "subskills": subskills,
        }
        RecordConstructorArgs.__init__(self, skills=skills, **sizes)
        gymnasium.Wrapper.__init__(self, env)
        self.skills = _skills_of(env) if skills is None else tuple(skills)
        self.records_per_iteration = records_per_iteration
        self.iterations = iterations
        self.subskills = subskills
        n = len(self.skills)
        self.observation_space = gymnasium.spaces.Box(-1.0, 1.0, (n * len(FEATURES),), np.float32)
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (n * 2,), np.float32)
        self._forest = Forest()
        self._accuracies: np.ndarray | None = None
        self._n_steps = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        observation, info = self.env.reset(seed=seed, options=options)
        self._n_steps, self._accuracies = 0, None
        return self._laid_out(observation["forest"]), info

    def step(
        self, action: np.ndarray
    ) -> tuple[np.ndarray, SupportsFloat, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(self.moves(action))
        self._n_steps += 1
        truncated = truncated or self._n_steps >= self.iterations
        return self._laid_out(observation["forest"]), reward, terminated, truncated, info

    def moves(self, action: np.ndarray) -> TreeAction:
        """The action on the last observed forest, within the record budget.

        Raises:
            InvalidActionError: if the action has another shape, or an entry that is not a number.
        """
        values = np.asarray(action, dtype=float)
        if values.shape != self.action_space.shape or not np.isfinite(values).all():
            raise InvalidActionError(
                f"the action is {action!r}, expected {self.action_space.shape} finite numbers"
            )
        pairs = np.clip(values, -1.0, 1.0).reshape(-1, 2)
        known = np.array([skill in self._forest.skills for skill in self.skills])
        weights = known * ((pairs[:, 0] + 1) / 2) ** 2
        if not weights.any():
            weights = known.astype(float)
        shares = apportion(weights, self.records_per_iteration if weights.any() else 0)
        explores = dict(zip(self.skills, (pairs[:, 1] > 0).tolist(), strict=True))
        share_of = dict(zip(self.skills, shares, strict=True))
        moves: list[Explore | Exploit] = []
        for tree in self._forest.trees:  # as close to its share as a move can bring it
            share, explore = share_of.get(tree.skill, 0), explores.get(tree.skill, False)
            room = share - tree.allocation
            if (explore or not tree.subskills) and not tree.is_complete and room > 0:
                n = min(self.subskills, room)
                moves.append(Explore(skill=tree.skill, subskills=n, records_each=room // n))
            elif tree.subskills:
                wanted = apportion(np.ones(len(tree.subskills)), share)
                pairs_of = zip(tree.subskills, wanted, strict=True)
                changes = {s.name: n - s.allocation for s, n in pairs_of}
                moves.append(Exploit(skill=tree.skill, changes=changes))
        return tuple(moves)

    def _laid_out(self, forest: Forest) -> np.ndarray:
        """The forest as an observation."""
        self._forest = forest
        trees = {tree.skill: tree for tree in forest.trees}
        rows = [trees.get(skill) or Tree(skill=skill) for skill in self.skills]
        accuracies = np.array([tree.val_accuracy or 0.0 for tree in rows])
        before = accuracies if self._accuracies is None else self._accuracies
        self._accuracies = accuracies
        budget = self.records_per_iteration
        columns = (
            accuracies,
            accuracies - before,
            [tree.allocation / budget for tree in rows],
            [tree.generated * len(rows) / (budget * self.iterations) for tree in rows],
            [bool(tree.subskills) for tree in rows],
            np.full(len(rows), max(0.0, 1 - self._n_steps / self.iterations)),
        )
        return np.minimum(np.column_stack(columns).astype(np.float32), 1.0).ravel()


def _skills_of(env: gymnasium.Env[Any, Any]) -> tuple[str, ...]:
    inner = env.unwrapped
    if (skills := getattr(inner, "skills", None)) is not None:
        return tuple(skills)
    task = getattr(inner, "task", None)
    instances = () if task is None else known_instances(task)
    found = {(i.category or "", i.skill) for i in instances if i.skill is not None}
    if not found:
        raise ConfigurationError(
            f"{type(inner).__name__} names no skills and its task has no gold skills: "
            "name them with FixedForest(env, skills=...)"
        )
    return tuple(skill for _, skill in sorted(found))
