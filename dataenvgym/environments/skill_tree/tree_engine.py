"""The engine of a skill tree: names subskills, and writes the records that a plan allocates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dataenvgym.environments.skill_tree.actions import Explore, TreeAction
from dataenvgym.environments.skill_tree.forest import Forest
from dataenvgym.environments.skill_tree.subskills import propose, subskill_of
from dataenvgym.environments.skill_tree.transitions import Key
from dataenvgym.environments.states import state_of
from dataenvgym.interfaces import Stateful
from dataenvgym.plans import Assignment, Engine, engine_fit
from dataenvgym.records import CompletedTaskInstance, TrainingDatum

Examples = Mapping[str, Sequence[CompletedTaskInstance]]
"""Evaluated instances by skill, the wrong ones first."""


class TreeEngine:
    """Adapts an engine to a forest.

    Args:
        engine: writes the records; see `SkillTree`.
        agent_name: is written into each record's provenance.
    """

    def __init__(self, engine: Engine, agent_name: str | None) -> None:
        self.engine = engine
        self.agent_name = agent_name
        self._untouched = self.state

    # --- what it writes ---

    def names(
        self, forest: Forest, action: TreeAction, examples: Examples, rng: np.random.Generator
    ) -> dict[str, tuple[str, ...]]:
        """The new subskills of each skill that the action explores."""
        return {
            m.skill: propose(self.engine, m, forest.tree(m.skill), examples[m.skill], rng)
            for m in action
            if isinstance(m, Explore)
        }

    def assignments(self, plan: Forest, examples: Examples) -> tuple[Assignment, ...]:
        """One assignment for each subskill with an allocation."""
        needs_examples = engine_fit(self.engine).needs == "examples"
        assignments = []
        for tree in plan.trees:
            tried = examples.get(tree.skill, ())
            wrong = [c for c in tried if not c.was_correct]
            if needs_examples and not wrong:
                wrong = list(tried)
            belongs = [subskill_of(self.engine, tree, c.instance.instruction) for c in wrong]
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
        return subskill_of(self.engine, plan.tree(skill), completed.instance.instruction)

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
