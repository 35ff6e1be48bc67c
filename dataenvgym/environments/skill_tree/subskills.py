"""Subskills that an engine knows; otherwise each skill has one subskill, the skill itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np

from dataenvgym.environments.skill_tree.actions import Explore
from dataenvgym.environments.skill_tree.forest import Forest, Tree
from dataenvgym.plans import Engine
from dataenvgym.records import CompletedTaskInstance


@runtime_checkable
class ProposesSubskills(Protocol):
    """An engine that can name the subskills of a skill."""

    def propose_subskills(
        self,
        skill: str,
        known: Sequence[str],
        count: int,
        examples: Sequence[CompletedTaskInstance],
        rng: np.random.Generator,
    ) -> Sequence[str]:
        """Names of up to `count` subskills of `skill` that are not among `known`.

        Args:
            examples: evaluated instances of the skill, the wrong ones first.
        """
        ...


@runtime_checkable
class TellsSubskills(Protocol):
    """An engine that can find the subskill of a problem."""

    def subskill_of(self, skill: str, instruction: str) -> str | None:
        """The subskill of `skill` that the problem needs, or None if unknown."""
        ...


def propose(
    engine: Engine,
    move: Explore,
    tree: Tree,
    examples: Sequence[CompletedTaskInstance],
    rng: np.random.Generator,
) -> tuple[str, ...]:
    """The new subskills for `move`; the skill itself if the engine cannot propose any."""
    known = [subskill.name for subskill in tree.subskills]
    if not isinstance(engine, ProposesSubskills):
        return () if known else (tree.skill,)
    names = engine.propose_subskills(tree.skill, known, move.subskills, examples, rng)
    new = (name for name in dict.fromkeys(names) if name not in known)
    return tuple(new)[: move.subskills]


def subskill_of(engine: Engine, tree: Tree, instruction: str) -> str | None:
    """The open subskill of the tree that a problem of its skill belongs to, or None."""
    if not isinstance(engine, TellsSubskills):
        return None
    name = engine.subskill_of(tree.skill, instruction)
    return name if any(s.name == name for s in tree.subskills) else None


def is_told_apart(engine: Engine) -> bool:
    """True if the engine can find the subskill of a problem."""
    return isinstance(engine, TellsSubskills)


def wrong_first(
    forest: Forest, completed: Sequence[CompletedTaskInstance]
) -> dict[str, tuple[CompletedTaskInstance, ...]]:
    """The evaluated instances by skill, the wrong ones first; failed calls are left out."""
    found: dict[str, list[CompletedTaskInstance]] = {skill: [] for skill in forest.skills}
    tried = (c for c in completed if c.error is None and c.instance.skill in found)
    for c in sorted(tried, key=lambda c: c.was_correct):
        found[c.instance.skill or ""].append(c)
    return {skill: tuple(cs) for skill, cs in found.items()}
