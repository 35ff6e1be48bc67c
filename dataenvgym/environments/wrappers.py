"""`FixedForest`: `SkillTree-v0` with observations and actions of fixed size, for RL libraries.

observation   for each skill one row of FEATURES, in [-1, 1]; flattened
action        for each skill (weight, whether to explore), in [-1, 1]; flattened

The wrapper works for the simulated and the real environment, so a policy trained in one can act in
the other. `simulation.environments.SimulatedForest` is both in one, and faster.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, SupportsFloat

import gymnasium
import numpy as np
from gymnasium.utils import RecordConstructorArgs

from dataenvgym.environments.skill_tree import Exploit, Explore, Forest, Tree, TreeAction
from dataenvgym.errors import ConfigurationError, InvalidActionError, check_at_least
from dataenvgym.records.plans import apportion
from dataenvgym.tasks.adapted_task import known_instances

__all__ = ["FEATURES", "FixedForest", "FixedLayout"]

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
    """The rows of an observation, each (n_skills,): accuracies in [0, 1], numbers of records."""

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
        """(n_skills * len(FEATURES),) float32, `step` steps after the first.

        `before` has the accuracies (n_skills,) of the last observation.
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


class FixedForest(gymnasium.Wrapper[Any, Any, Any, TreeAction], RecordConstructorArgs):
    """Turns forests and actions into arrays of fixed size.

    A skill's share of the record budget is divided evenly among its open subskills. If the skill
    explores, the increase of its share goes to new subskills instead. A skill without open
    subskills always explores; a complete one never does. Rounding leaves up to `subskills` - 1
    records of an exploring skill unused.

    Args:
        env: `SkillTree-v0` or `SimulatedSkillTree`, wrapped or not.
        skills: the rows, in this order. None takes the `skills` of the environment, or else the
            gold skills of its task. Trees of other skills get no records.
        records_per_iteration, iterations, subskills: see `FixedLayout`.
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
        self.layout = FixedLayout(_skills_of(env) if skills is None else skills, **sizes)
        self.observation_space = self.layout.observation_space
        self.action_space = self.layout.action_space
        self._forest = Forest()
        self._accuracies = np.zeros(len(self.layout.skills))
        self._n_steps = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        observation, info = self.env.reset(seed=seed, options=options)
        self._n_steps = 0
        totals = self._settle(observation["forest"])
        self._accuracies = totals.accuracy
        return self.layout.observation(totals, totals.accuracy, 0), info

    def step(
        self, action: np.ndarray
    ) -> tuple[np.ndarray, SupportsFloat, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(self.moves(action))
        self._n_steps += 1
        totals, before = self._settle(observation["forest"]), self._accuracies
        self._accuracies = totals.accuracy
        laid_out = self.layout.observation(totals, before, self._n_steps)
        return laid_out, reward, terminated, truncated, info

    def moves(self, action: np.ndarray) -> TreeAction:
        """The action on the last observed forest, within the record budget."""
        known = np.array([skill in self._forest.skills for skill in self.layout.skills])
        shares, explores = self.layout.orders(action, known)
        pairs = zip(shares.tolist(), explores.tolist(), strict=True)
        orders = dict(zip(self.layout.skills, pairs, strict=True))
        moves: list[Explore | Exploit] = []
        for tree in self._forest.trees:  # as close to its share as a move can bring it
            share, explore = orders.get(tree.skill, (0, False))
            room = share - tree.allocation
            if (explore or not tree.subskills) and not tree.is_complete and room > 0:
                n = min(self.layout.subskills, room)
                moves.append(Explore(skill=tree.skill, subskills=n, records_each=room // n))
            elif tree.subskills:
                wanted = apportion(np.ones(len(tree.subskills)), share)
                pairs_of = zip(tree.subskills, wanted, strict=True)
                changes = {s.name: n - s.allocation for s, n in pairs_of}
                moves.append(Exploit(skill=tree.skill, changes=changes))
        return tuple(moves)

    def _settle(self, forest: Forest) -> TreeTotals:
        self._forest = forest
        trees = {tree.skill: tree for tree in forest.trees}
        rows = [trees.get(skill) or Tree(skill=skill) for skill in self.layout.skills]
        return TreeTotals(
            accuracy=np.array([tree.val_accuracy or 0.0 for tree in rows]),
            allocation=np.array([tree.allocation for tree in rows]),
            generated=np.array([tree.generated for tree in rows]),
            opened=np.array([bool(tree.subskills) for tree in rows]),
        )


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
