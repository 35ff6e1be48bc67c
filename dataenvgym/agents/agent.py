"""An agent is a policy and an engine, with a seed and a count of its iterations."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import JsonValue

from dataenvgym.agents.plans import Engine, Policy, Situation
from dataenvgym.errors import ConfigurationError
from dataenvgym.interfaces import PredictorInterface, Stateful
from dataenvgym.records import CompletedTaskInstance, TrainingDatum
from dataenvgym.seeding import derive_rng


class Agent:
    """A data-generation agent: `policy` says how much of what, `engine` writes it.

    All chance derives from `seed` and the iteration, so that the state to save is the iteration,
    and that of the policy and the engine where they have one.

    Args:
        policy: turns completed instances into a plan.
        engine: turns the plan into records.
        name: written into each record's provenance.
        records_per_iteration: how many records each call returns, at most.
        seed: where its random choices come from.
    """

    def __init__(
        self,
        policy: Policy,
        engine: Engine,
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

    def __call__(
        self, completed: Sequence[CompletedTaskInstance], predictor: PredictorInterface
    ) -> Sequence[TrainingDatum]:
        situation = Situation(completed, self.engine.skills, predictor, self.iteration)
        plan = self.policy.plan(
            situation,
            self.records_per_iteration,
            derive_rng(self.seed, self.iteration, "policy"),
        )
        rng = derive_rng(self.seed, self.iteration, "engine")
        return [self._signed(r) for r in self.engine.generate(plan, predictor, rng)]

    def step(self) -> None:
        self.iteration += 1

    def state_dict(self) -> dict[str, JsonValue]:
        state: dict[str, JsonValue] = {"iteration": self.iteration}
        for name, part in self._stateful():
            state[name] = part.state_dict()
        return state

    def load_state_dict(self, state: dict[str, JsonValue]) -> None:
        iteration = state["iteration"]
        assert isinstance(iteration, int)
        self.iteration = iteration
        for name, part in self._stateful():
            if isinstance(saved := state.get(name), dict):
                part.load_state_dict(saved)

    def _stateful(self) -> list[tuple[str, Stateful]]:
        parts = {"policy": self.policy, "engine": self.engine}
        return [(name, part) for name, part in parts.items() if isinstance(part, Stateful)]

    def _signed(self, record: TrainingDatum) -> TrainingDatum:
        provenance = record.provenance.model_copy(update={"agent": self.name})
        return record.model_copy(update={"provenance": provenance})
