"""The spaces of `SkillTree`: forests, and actions on them."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from pydantic import TypeAdapter

from dataenvgym.environments.skill_tree.actions import Exploit, Explore, TreeAction
from dataenvgym.environments.skill_tree.forest import Forest, Subskill, Tree
from dataenvgym.spaces import CompletedInstancesSpace, ReportSpace
from dataenvgym.spaces.conversation import RecordSpace, is_tuple_of
from dataenvgym.spaces.samples import draw_skills


class ForestSpace(RecordSpace[Forest]):
    """One `Forest`."""

    adapter = TypeAdapter(Forest)

    def contains(self, x: Any) -> bool:
        return isinstance(x, Forest)

    def draw(self, rng: np.random.Generator) -> Forest:
        return Forest(trees=tuple(_tree(skill, rng) for skill in draw_skills(rng)))


def tree_observation_space() -> gymnasium.spaces.Dict:
    """The observations of `SkillTree`."""
    return gymnasium.spaces.Dict(
        {
            "completed": CompletedInstancesSpace(),
            "report": ReportSpace(),
            "forest": ForestSpace(),
        }
    )


class TreeActionSpace(RecordSpace[TreeAction]):
    """Tuples of `Explore` and `Exploit`, at most one for each skill.

    Samples fit `forest`, which the environment keeps up to date; before the first `reset` they are
    empty. After `seed`, samples fit the forest of a fresh episode until the environment updates
    `forest` again.
    """

    adapter = TypeAdapter(TreeAction)

    def __init__(self, *, seed: int | np.random.Generator | None = None) -> None:
        self.forest = Forest()
        super().__init__(seed=seed)

    def seed(self, seed: int | None = None) -> int | list[int] | dict[str, int]:
        fresh = tuple(Tree(skill=tree.skill) for tree in self.forest.trees)
        self.forest = Forest(trees=fresh)
        return super().seed(seed)

    def contains(self, x: Any) -> bool:
        return is_tuple_of(x, Explore, Exploit) and len({move.skill for move in x}) == len(x)

    def draw(self, rng: np.random.Generator) -> TreeAction:
        moves: list[Explore | Exploit] = []
        for tree in self.forest.trees:
            match rng.integers(3):
                case 0:
                    n, each = rng.integers(1, 4, 2).tolist()
                    moves.append(Explore(skill=tree.skill, subskills=n, records_each=each))
                case 1 if tree.subskills:
                    changes = {s.name: int(rng.integers(-2, 4)) for s in tree.subskills}
                    moves.append(Exploit(skill=tree.skill, changes=changes))
        return tuple(moves)


def _tree(skill: str, rng: np.random.Generator) -> Tree:
    shares = (rng.integers(0, 9, 6) / 8).tolist()
    return Tree(
        skill=skill,
        subskills=tuple(
            Subskill(
                name=f"{skill} of {what}",
                allocation=int(rng.integers(0, 6)),
                generated=int(rng.integers(0, 20)),
                val_accuracy=shares[2 * i],
                train_accuracy=shares[2 * i + 1],
            )
            for i, what in enumerate(("two numbers", "long numbers"))
        ),
        val_accuracy=shares[4],
        train_accuracy=shares[5],
    )
