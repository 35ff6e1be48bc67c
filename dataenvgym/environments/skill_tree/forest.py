"""A forest: skills and their subskills, with the allocation and accuracy of each.

    Forest
      Tree "reversed"                 one for each skill of the report
        Subskill "Write _ backwards."   opened by `Explore`, gets more or fewer by `Exploit`

A forest is immutable; `transitions` computes the next one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from pydantic import Field, model_validator

from dataenvgym.records import Model


class Subskill(Model):
    """One part of a skill that records can be written for.

    Attributes:
        name: unique within its tree.
        allocation: records written for it in each step.
        generated: records made and trained on so far.
        val_accuracy: on the validation instances, in [0, 1]; None without instances. If instances
            cannot be assigned to subskills, it is the skill's accuracy.
        untaught_accuracy: on a sample of this step's new records, before the student was trained on
            them: how hard the records are (DataEnvGym's training accuracy). None without any.
        train_accuracy: on a sample of all its training records, after the last training: how well
            they were learned; None if none was asked.
    """

    name: str = Field(min_length=1)
    allocation: int = Field(default=0, ge=0)
    generated: int = Field(default=0, ge=0)
    val_accuracy: float | None = None
    untaught_accuracy: float | None = None
    train_accuracy: float | None = None


class Tree(Model):
    """One skill with its subskills, in the order in which they were opened.

    Attributes:
        skill: unique within its forest.
        category: of the skill, or None.
        is_complete: True if the engine last had fewer new subskills than requested.
        last_move: the kind of the last step's move, or None if it had none.
        reward: the change in `val_accuracy` in the last step; None if it is not known.
        val_accuracy, untaught_accuracy, train_accuracy: of the whole skill, as in `Subskill`.
    """

    skill: str = Field(min_length=1)
    category: str | None = None
    subskills: tuple[Subskill, ...] = ()
    is_complete: bool = False
    last_move: Literal["explore", "exploit"] | None = None
    reward: float | None = None
    val_accuracy: float | None = None
    untaught_accuracy: float | None = None
    train_accuracy: float | None = None

    @model_validator(mode="after")
    def _names_differ(self) -> Tree:
        if twice := _repeated(s.name for s in self.subskills):
            raise ValueError(f"two subskills of {self.skill!r} are named {twice!r}")
        return self

    @property
    def allocation(self) -> int:
        """Records for all its subskills in each step."""
        return sum(s.allocation for s in self.subskills)

    @property
    def generated(self) -> int:
        """Records made so far for all its subskills."""
        return sum(s.generated for s in self.subskills)


class Forest(Model):
    """The trees, in the order of the report."""

    trees: tuple[Tree, ...] = ()

    @model_validator(mode="after")
    def _skills_differ(self) -> Forest:
        if twice := _repeated(t.skill for t in self.trees):
            raise ValueError(f"two trees are of the skill {twice!r}")
        return self

    @property
    def skills(self) -> tuple[str, ...]:
        """The skills of the trees."""
        return tuple(tree.skill for tree in self.trees)

    @property
    def allocation(self) -> int:
        """Records that a step asks the engine for, over all trees."""
        return sum(tree.allocation for tree in self.trees)

    def tree(self, skill: str) -> Tree:
        """The tree of this skill; KeyError if there is none."""
        for tree in self.trees:
            if tree.skill == skill:
                return tree
        raise KeyError(skill)


def _repeated(names: Iterable[str]) -> str | None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None
