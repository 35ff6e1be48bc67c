"""The agent of `SkillTree-v0`: a tree policy, with a seed and a count of its iterations."""

from __future__ import annotations

from typing import Any

from pydantic import JsonValue

from dataenvgym.agents.plans import Engine
from dataenvgym.agents.tree_budget import within_budget
from dataenvgym.agents.tree_situation import TreePolicy, TreeSituation
from dataenvgym.environments.skill_tree.actions import TreeAction
from dataenvgym.errors import ConfigurationError
from dataenvgym.interfaces import PredictorInterface, Stateful
from dataenvgym.seeding import derive_rng


class TreeAgent:
    """Acts on the forest as `policy` says; the environment's engine writes the records.

    Args:
        policy: turns the forest into an action.
        engine: the engine that the environment has, to see beforehand whether it fits the task.
        name: written into each record's provenance.
        records_per_iteration: how many records each step asks for, at most.
        seed: where its random choices come from.
    """

    def __init__(
        self,
        policy: TreePolicy,
        engine: Engine | None = None,
        *,
        name: str,
        records_per_iteration: int = 300,
        seed: int = 0,
    ) -> None:
        if records_per_iteration < 1:
            raise ConfigurationError(
                f"records_per_iteration is {records_per_iteration}, expected 1 or more"
            )
        self.policy = policy
        self.engine = engine
        self.name = name
        self.records_per_iteration = records_per_iteration
        self.seed = seed
        self.iteration = 1

    def act(self, observation: dict[str, Any], predictor: PredictorInterface) -> TreeAction:
        """An action that asks for `records_per_iteration` records at most."""
        forest = observation["forest"]
        situation = TreeSituation(forest, self.iteration, observation["completed"], predictor)
        rng = derive_rng(self.seed, self.iteration, "policy")
        action = self.policy.act(situation, self.records_per_iteration, rng)
        return within_budget(forest, action, self.records_per_iteration)

    def step(self) -> None:
        self.iteration += 1

    def state_dict(self) -> dict[str, JsonValue]:
        state: dict[str, JsonValue] = {"iteration": self.iteration}
        if isinstance(self.policy, Stateful):
            state["policy"] = self.policy.state_dict()
        return state

    def load_state_dict(self, state: dict[str, JsonValue]) -> None:
        iteration = state["iteration"]
        assert isinstance(iteration, int)
        self.iteration = iteration
        if isinstance(self.policy, Stateful) and isinstance(saved := state.get("policy"), dict):
            self.policy.load_state_dict(saved)
