"""The agent of `SkillTree-v0`: a tree policy; the environment has the engine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from dataenvgym.agents.policy_agent import PolicyAgent
from dataenvgym.agents.tree.budget import within_budget
from dataenvgym.agents.tree.situation import TreePolicy, TreeSituation
from dataenvgym.environments.skill_tree.actions import TreeAction
from dataenvgym.interfaces import PredictorInterface
from dataenvgym.plans import Engine
from dataenvgym.seeding import derive_rng


class TreeAgent(PolicyAgent[TreePolicy, Engine | None]):
    """Acts on the forest by `policy`; the environment's engine writes the records.

    Args:
        policy: turns the forest into an action.
        engine: the environment's engine, to check before the run whether it fits the task.
        name: is written into each record's provenance.
        records_per_iteration: the most records that a step asks for.
        seed: of its random choices.
    """

    parts: ClassVar[Mapping[str, type]] = {"policy": TreePolicy}

    def __init__(
        self,
        policy: TreePolicy,
        engine: Engine | None = None,
        *,
        name: str,
        records_per_iteration: int = 300,
        seed: int = 0,
    ) -> None:
        super().__init__(
            policy, engine, name=name, records_per_iteration=records_per_iteration, seed=seed
        )

    def act(self, observation: dict[str, Any], predictor: PredictorInterface) -> TreeAction:
        """Choose an action that asks for `records_per_iteration` records at most."""
        forest = observation["forest"]
        situation = TreeSituation(forest, self.iteration, observation["completed"], predictor)
        rng = derive_rng(self.seed, self.iteration, "policy")
        action = self.policy.act(situation, self.records_per_iteration, rng)
        return within_budget(forest, action, self.records_per_iteration)
