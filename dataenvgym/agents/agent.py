"""An agent is a policy and an engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from dataenvgym.agents.policy_agent import PolicyAgent
from dataenvgym.interfaces import PredictorInterface
from dataenvgym.plans import Engine, Policy, Situation, generated
from dataenvgym.records import CompletedTaskInstance, TrainingDatum
from dataenvgym.seeding import derive_rng


class Agent(PolicyAgent[Policy, Engine]):
    """A data-generation agent: `policy` plans the records and `engine` writes them.

    Args:
        policy: turns completed instances into a plan.
        engine: turns the plan into records.
        name: is written into each record's provenance.
        records_per_iteration: the most records that a call returns.
        seed: of its random choices.
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
        rng = derive_rng(self.seed, self.iteration, "engine")
        return [self._signed(r) for r in generated(self.engine, plan, predictor, rng)]

    def _signed(self, record: TrainingDatum) -> TrainingDatum:
        provenance = record.provenance.model_copy(update={"agent": self.name})
        return record.model_copy(update={"provenance": provenance})
