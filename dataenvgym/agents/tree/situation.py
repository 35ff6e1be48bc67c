"""The observation of `SkillTree-v0` policies, and their interface."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from dataenvgym.environments.skill_tree.actions import Exploit, Explore, TreeAction
from dataenvgym.environments.skill_tree.forest import Forest, Tree
from dataenvgym.interfaces import PredictorInterface
from dataenvgym.records import CompletedTaskInstance, Model
from dataenvgym.records.plans import apportion, warn_of_cut


class TreeStep(Model):
    """An earlier step of an episode.

    Attributes:
        iteration: its number.
        action: the moves that the agent chose.
        accuracies: the validation accuracy of each skill before it.
        rewards: the change in the validation accuracy of each skill in it; empty until it is over.
    """

    iteration: int
    action: TreeAction
    accuracies: dict[str, float | None]
    rewards: dict[str, float | None] = {}

    def move(self, skill: str) -> Explore | Exploit | None:
        """Its move for the skill; None if it had none."""
        return next((move for move in self.action if move.skill == skill), None)


@dataclass(frozen=True)
class TreeSituation:
    """A tree policy's observation before an iteration.

    Attributes:
        forest: the current forest.
        iteration: the iteration to plan, from 1 on.
        completed: the evaluated validation instances.
        predictor: the current student, or None if it cannot be asked.
        history: the steps so far, the first one first, with their moves and rewards.
    """

    forest: Forest
    iteration: int = 1
    completed: Sequence[CompletedTaskInstance] = ()
    predictor: PredictorInterface | None = None
    history: Sequence[TreeStep] = ()


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


def reallocated(tree: Tree, allocations: Mapping[str, int]) -> Exploit:
    """The move that sets the subskills to `allocations`; subskills not named there get 0."""
    changes = {s.name: allocations.get(s.name, 0) - s.allocation for s in tree.subskills}
    return Exploit(skill=tree.skill, changes=changes)


def records_asked_for(forest: Forest, action: TreeAction) -> int:
    """The number of records that a step asks for if all its new subskills are found."""
    moves = {move.skill: move for move in action}
    return sum(sum(_asked_for(tree, moves.get(tree.skill)).values()) for tree in forest.trees)


def within_budget(forest: Forest, action: TreeAction, count: int) -> TreeAction:
    """Cut the action in proportion, with a warning, if it asks for more than `count` records.

    A step cannot change the existing records of an explored tree. If these alone are too many, the
    tree is cut instead of explored.
    """
    if (asked := records_asked_for(forest, action)) <= count:
        return action
    moves = {move.skill: move for move in action}
    explored = {m.skill: m for m in action if isinstance(m, Explore)}
    left = count - sum(forest.tree(skill).allocation for skill in explored)
    if left < 0:
        explored, left = {}, count
        moves = {skill: m for skill, m in moves.items() if isinstance(m, Exploit)}
    wanted = {
        (tree.skill, name): n
        for tree in forest.trees
        for name, n in _asked_for(tree, moves.get(tree.skill)).items()
        if tree.skill not in explored or name == _NEW
    }
    parts = apportion(np.array([*wanted.values()], float), left)
    share = dict(zip(wanted, parts, strict=True))
    found: list[Explore | Exploit | None] = []
    for tree in forest.trees:
        if (move := explored.get(tree.skill)) is not None:
            found.append(opening(tree.skill, move.subskills, share[tree.skill, _NEW]))
        elif tree.subskills:
            own = {s.name: share[tree.skill, s.name] for s in tree.subskills}
            found.append(reallocated(tree, own))
    cut = tuple(move for move in found if move is not None)
    warn_of_cut(asked, records_asked_for(forest, cut), count)
    return cut


_NEW = ""
"""The key for all new subskills of a tree; no subskill has this name."""


def _asked_for(tree: Tree, move: Explore | Exploit | None) -> dict[str, int]:
    asked = {s.name: s.allocation for s in tree.subskills}
    match move:
        case Explore():
            asked[_NEW] = move.subskills * move.records_each
        case Exploit():
            asked = {name: max(0, n + move.changes.get(name, 0)) for name, n in asked.items()}
    return asked


def opening(skill: str, subskills: int, records: int) -> Explore | None:
    """Open up to `subskills` with equal parts of up to `records`; None if that is nothing."""
    if not records:
        return None
    subskills = min(subskills, records)
    return Explore(skill=skill, subskills=subskills, records_each=records // subskills)
