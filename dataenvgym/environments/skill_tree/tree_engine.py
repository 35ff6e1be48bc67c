"""The engine of a skill tree: names subskills, and writes the records that a plan allocates.

An engine may know subskills, by these methods. Otherwise each skill has one subskill, the skill
itself.

- `propose_subskills(skill, known, count, examples, rng)` returns names of up to `count` subskills
  that are not among `known`; `examples` are evaluated instances of the skill, the wrong ones first.
- `subskill_of(skill, instruction)` returns the subskill of the skill that a problem needs, or None
  if unknown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dataenvgym.environments.episode_directory import state_of
from dataenvgym.environments.skill_tree.actions import Explore, TreeAction
from dataenvgym.environments.skill_tree.forest import Forest, Tree
from dataenvgym.environments.skill_tree.transitions import Key
from dataenvgym.interfaces import Stateful
from dataenvgym.records import CompletedTaskInstance, TrainingDatum
from dataenvgym.records.plans import Assignment, Engine, engine_fit

Examples = Mapping[str, Sequence[CompletedTaskInstance]]
"""Evaluated instances by skill, the wrong ones first."""


class TreeEngine:
    """Adapts an engine to a forest; `agent_name` is written into each record's provenance."""

    def __init__(self, engine: Engine, agent_name: str | None) -> None:
        self.engine = engine
        self.agent_name = agent_name
        self._untouched = self.state

    # --- what it writes ---

    def names(
        self, forest: Forest, action: TreeAction, examples: Examples, rng: np.random.Generator
    ) -> dict[str, tuple[str, ...]]:
        """The new subskills of each skill that the action explores.

        If the engine cannot propose any, the skill itself is the only one.
        """
        found: dict[str, tuple[str, ...]] = {}
        for move in action:
            if not isinstance(move, Explore):
                continue
            skill, count = move.skill, move.subskills
            known = [subskill.name for subskill in forest.tree(skill).subskills]
            if (propose := getattr(self.engine, "propose_subskills", None)) is not None:
                names = propose(skill, known, count, examples[skill], rng)
                new = [name for name in dict.fromkeys(names) if name not in known]
                found[skill] = tuple(new[:count])
            else:
                found[skill] = () if known else (skill,)
        return found

    def assignments(self, plan: Forest, examples: Examples) -> tuple[Assignment, ...]:
        """One assignment for each subskill with an allocation."""
        needs_examples = engine_fit(self.engine).needs == "examples"
        assignments = []
        for tree in plan.trees:
            tried = examples.get(tree.skill, ())
            wrong = [c for c in tried if not c.was_correct]
            if needs_examples and not wrong:
                wrong = list(tried)
            belongs = [self._subskill_of(tree, c) for c in wrong]
            for s in tree.subskills:
                own = [c for c, name in zip(wrong, belongs, strict=True) if name == s.name]
                if s.allocation:
                    assignments.append(
                        Assignment(
                            s.allocation,
                            skill=tree.skill,
                            subskill=None if s.name == tree.skill else s.name,
                            examples=own or wrong,
                        )
                    )
        return tuple(assignments)

    # --- whose its records are ---

    def signed(self, record: TrainingDatum, plan: Forest) -> TrainingDatum:
        """Write the subskill and the agent's name into the record's provenance."""
        changes: dict[str, Any] = {"agent": self.agent_name}
        if (key := key_of(record, plan)) is not None:
            changes["subskill"] = key[1]
        provenance = record.provenance.model_copy(update=changes)
        return record.model_copy(update={"provenance": provenance})

    def subskill_tested(self, completed: CompletedTaskInstance, plan: Forest) -> str | None:
        """The subskill that an evaluated instance belongs to; None if unknown."""
        skill = completed.instance.skill
        if skill is None or skill not in plan.skills:
            return None
        return self._subskill_of(plan.tree(skill), completed)

    def _subskill_of(self, tree: Tree, completed: CompletedTaskInstance) -> str | None:
        """The open subskill of the tree that an instance of its skill belongs to, or None."""
        if (subskill_of := getattr(self.engine, "subskill_of", None)) is None:
            return None
        name: str | None = subskill_of(tree.skill, completed.instance.instruction)
        return name if any(s.name == name for s in tree.subskills) else None

    # --- its state ---

    @property
    def state(self) -> Any | None:
        """The engine's current state; None if it has none."""
        return state_of(self.engine) if isinstance(self.engine, Stateful) else None

    def load(self, state: Any | None) -> None:
        """Load this state into the engine."""
        if isinstance(self.engine, Stateful) and state is not None:
            self.engine.load_state_dict(state)

    def reset(self) -> None:
        """Load the engine's initial state."""
        self.load(self._untouched)


def key_of(record: TrainingDatum, plan: Forest) -> Key | None:
    """The subskill that a record was written for; None if unknown."""
    skill, name = record.provenance.skill, record.provenance.subskill
    if skill is None or skill not in plan.skills:
        return None
    subskills = plan.tree(skill).subskills
    if any(s.name == name for s in subskills):
        return skill, str(name)
    return (skill, subskills[0].name) if len(subskills) == 1 else None


def wrong_first(
    forest: Forest, completed: Sequence[CompletedTaskInstance]
) -> dict[str, tuple[CompletedTaskInstance, ...]]:
    """The evaluated instances by skill, the wrong ones first; failed calls are left out."""
    found: dict[str, list[CompletedTaskInstance]] = {skill: [] for skill in forest.skills}
    tried = (c for c in completed if c.error is None and c.instance.skill in found)
    for c in sorted(tried, key=lambda c: c.was_correct):
        found[c.instance.skill or ""].append(c)
    return {skill: tuple(cs) for skill, cs in found.items()}
