"""An agent is a policy and an engine; the agent of `SkillTree-v0` leaves the engine to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Generic, TypeVar, cast

from pydantic import JsonValue, PositiveInt

from dataenvgym.agents.policies.plain import at_most
from dataenvgym.agents.tree.situation import TreePolicy, TreeSituation, TreeStep, within_budget
from dataenvgym.environments.skill_tree.actions import TreeAction
from dataenvgym.interfaces import PredictorInterface, Stateful
from dataenvgym.records import CompletedTaskInstance, TrainingDatum
from dataenvgym.records.plans import Engine, Policy, Situation, generated, warn_of_shortage
from dataenvgym.seeding import derive_rng

PolicyT = TypeVar("PolicyT")
EngineT = TypeVar("EngineT")


@dataclass(eq=False)
class PolicyAgent(Generic[PolicyT, EngineT]):
    """An agent whose random choices all derive from `seed` and the iteration.

    So its state is the iteration, and the states of its stateful `parts` (by name, with protocol).

    Args:
        name: is written into each record's provenance.
        seed: of its random choices.
    """

    parts: ClassVar[Mapping[str, type]]

    policy: PolicyT
    engine: EngineT
    _: KW_ONLY
    name: str
    records_per_iteration: PositiveInt = 300
    seed: int = 0

    def __post_init__(self) -> None:
        self.iteration = 1

    def step(self) -> None:
        """Begin the next iteration."""
        self.iteration += 1

    def state_dict(self) -> dict[str, JsonValue]:
        """The iteration, and the states of the parts."""
        state: dict[str, JsonValue] = {"iteration": self.iteration}
        for name, part in self._stateful():
            state[name] = part.state_dict()
        return state

    def load_state_dict(self, state: dict[str, JsonValue]) -> None:
        """Continue from a state of `state_dict`."""
        self.iteration = cast(int, state["iteration"])
        for name, part in self._stateful():
            if isinstance(saved := state.get(name), dict):
                part.load_state_dict(saved)

    def _stateful(self) -> list[tuple[str, Stateful]]:
        parts = ((name, getattr(self, name)) for name in self.parts)
        return [(name, part) for name, part in parts if isinstance(part, Stateful)]


class Agent(PolicyAgent[Policy, Engine]):
    """A data-generation agent: `policy` plans the records and `engine` writes them.

    Args:
        policy: turns completed instances into a plan.
        engine: turns the plan into records.
        records_per_iteration: the most records that a plan has; a policy that plans more is cut, in
            proportion, with a warning.
    """

    parts: ClassVar[Mapping[str, type]] = {"policy": Policy, "engine": Engine}

    def __call__(
        self, completed: Sequence[CompletedTaskInstance], predictor: PredictorInterface
    ) -> Sequence[TrainingDatum]:
        """Return this iteration's records, planned by the policy and written by the engine."""
        situation = Situation(completed, self.engine.skills, predictor, self.iteration)
        plan = self.policy.plan(
            situation,
            self.records_per_iteration,
            derive_rng(self.seed, self.iteration, "policy"),
        )
        plan = at_most(plan, self.records_per_iteration)
        rng = derive_rng(self.seed, self.iteration, "engine")
        records = generated(self.engine, plan, predictor, rng)
        warn_of_shortage(self.engine, plan, len(records))
        signed = {"agent": self.name}
        return [
            record.model_copy(update={"provenance": record.provenance.model_copy(update=signed)})
            for record in records
        ]


@dataclass(eq=False)
class TreeAgent(PolicyAgent[TreePolicy, Engine | None]):
    """Acts on the forest by `policy`; the environment's engine writes the records.

    Args:
        policy: turns the forest into an action.
        engine: the environment's engine, to check before the run whether it fits the task.
        records_per_iteration: the most records that a step asks for.
    """

    parts: ClassVar[Mapping[str, type]] = {"policy": TreePolicy}

    engine: Engine | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.history: tuple[TreeStep, ...] = ()

    def act(self, observation: dict[str, Any], predictor: PredictorInterface) -> TreeAction:
        """Choose an action that asks for `records_per_iteration` records at most."""
        forest = observation["forest"]
        history = [step for step in self.history if step.iteration < self.iteration]
        if history and not history[-1].rewards:
            rewards = {tree.skill: tree.reward for tree in forest.trees}
            history[-1] = history[-1].model_copy(update={"rewards": rewards})
        situation = TreeSituation(
            forest, self.iteration, observation["completed"], predictor, tuple(history)
        )
        rng = derive_rng(self.seed, self.iteration, "policy")
        action = self.policy.act(situation, self.records_per_iteration, rng)
        action = within_budget(forest, action, self.records_per_iteration)
        accuracies = {tree.skill: tree.val_accuracy for tree in forest.trees}
        step = TreeStep(iteration=self.iteration, action=action, accuracies=accuracies)
        self.history = (*history, step)
        return action

    def state_dict(self) -> dict[str, JsonValue]:
        """The iteration, the history, and the policy's state."""
        history: list[JsonValue] = [step.model_dump(mode="json") for step in self.history]
        return {**super().state_dict(), "history": history}

    def load_state_dict(self, state: dict[str, JsonValue]) -> None:
        """Continue from a state of `state_dict`; one of an earlier version has no history."""
        super().load_state_dict(state)
        found = state.get("history", [])
        assert isinstance(found, list)
        self.history = tuple(TreeStep.model_validate(step) for step in found)
