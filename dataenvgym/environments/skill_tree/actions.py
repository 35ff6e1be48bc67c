"""Actions on a forest of skills: explore or exploit, at most one for each skill.

`Explore` opens new subskills of a skill; `Exploit` gives open ones more or fewer records. Skills
that the action does not name keep their allocation, so an empty action repeats the step before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

import gymnasium
import numpy as np
from pydantic import Field, StrictInt, TypeAdapter, ValidationError

from dataenvgym.environments.skill_tree.forest import Forest, Subskill, Tree
from dataenvgym.errors import InvalidActionError, first_fault
from dataenvgym.records import Model
from dataenvgym.records.spaces import CompletedInstancesSpace, RecordSpace, ReportSpace, draw_skills


class Explore(Model):
    """Open up to `subskills` new subskills of `skill`, with `records_each` records a step each."""

    kind: Literal["explore"] = "explore"
    skill: str
    subskills: StrictInt = Field(ge=1)
    records_each: StrictInt = Field(ge=0)


class Exploit(Model):
    """Change the allocation of open subskills of `skill`, by name; it never falls below 0."""

    kind: Literal["exploit"] = "exploit"
    skill: str
    changes: dict[str, StrictInt]


Move = Annotated[Explore | Exploit, Field(discriminator="kind")]
TreeAction = tuple[Explore | Exploit, ...]

_MOVE: TypeAdapter[Explore | Exploit] = TypeAdapter(Move)


def parse_tree_action(value: Any, forest: Forest) -> TreeAction:
    """Parse a sequence of `Explore` and `Exploit`, or of mappings with their fields and `kind`.

    Raises:
        InvalidActionError: for another type, a malformed move, an unknown skill or subskill, or
            two moves for one skill.
    """
    if isinstance(value, str | bytes | Mapping | Model) or not isinstance(value, Iterable):
        raise InvalidActionError(
            f"the action is {type(value).__name__}, expected a list of Explore and Exploit "
            "(at most one for each skill)"
        )
    action: list[Explore | Exploit] = []
    named: set[str] = set()
    for i, given in enumerate(value):
        try:
            move = _MOVE.validate_python(given)
        except ValidationError as error:
            raise InvalidActionError(f"move {i}: {first_fault(error, skip=1)}") from None
        if move.skill in named:
            raise InvalidActionError(
                f"move {i}: a second one for skill {move.skill!r}, expected at most one for each"
            )
        named.add(move.skill)
        if move.skill not in forest.skills:
            raise InvalidActionError(
                f"move {i}: the forest has no skill {move.skill!r}, but {', '.join(forest.skills)}"
            )
        names = [subskill.name for subskill in forest.tree(move.skill).subskills]
        for name in move.changes if isinstance(move, Exploit) else ():
            if name not in names:
                raise InvalidActionError(
                    f"move {i}: skill {move.skill!r} has no subskill {name!r}, but "
                    f"{', '.join(names) or 'none yet: explore it'}"
                )
        action.append(move)
    return tuple(action)


class ForestSpace(RecordSpace[Forest]):
    """One `Forest`."""

    adapter = TypeAdapter(Forest)

    def contains(self, x: Any) -> bool:
        return isinstance(x, Forest)

    def draw(self, rng: np.random.Generator) -> Forest:
        trees = []
        for skill in draw_skills(rng):
            shares = (rng.integers(0, 9, 6) / 8).tolist()
            subskills = tuple(
                Subskill(
                    name=f"{skill} of {what}",
                    allocation=int(rng.integers(0, 6)),
                    generated=int(rng.integers(0, 20)),
                    val_accuracy=shares[2 * i],
                    train_accuracy=shares[2 * i + 1],
                )
                for i, what in enumerate(("two numbers", "long numbers"))
            )
            own = {"val_accuracy": shares[4], "train_accuracy": shares[5]}
            trees.append(Tree(skill=skill, subskills=subskills, **own))
        return Forest(trees=tuple(trees))


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
    items = (Explore, Exploit)

    def __init__(self, *, seed: int | np.random.Generator | None = None) -> None:
        self.forest = Forest()
        super().__init__(seed=seed)

    def seed(self, seed: int | None = None) -> int | list[int] | dict[str, int]:
        fresh = tuple(Tree(skill=tree.skill) for tree in self.forest.trees)
        self.forest = Forest(trees=fresh)
        return super().seed(seed)

    def contains(self, x: Any) -> bool:
        return super().contains(x) and len({move.skill for move in x}) == len(x)

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
