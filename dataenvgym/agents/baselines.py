"""The lower bound of a study: no plan and no records, so the student never changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from pydantic import JsonValue

from dataenvgym.errors import ConfigurationError
from dataenvgym.interfaces import PredictorInterface, Stateful
from dataenvgym.records import CompletedTaskInstance, TrainingDatum
from dataenvgym.records.plans import EngineFit, Plan, Policy, PolicyFit, Situation, policy_fit


class NoPolicy:
    """Plans nothing; for engines that ignore plans."""

    fit = PolicyFit(tells="nothing")

    def plan(self, situation: Situation, count: int, rng: np.random.Generator) -> Plan:
        return ()


class NoEngine:
    """Writes nothing."""

    fit = EngineFit(writes=False)
    skills: Sequence[str] = ()

    def generate(
        self, plan: Plan, predictor: PredictorInterface, rng: np.random.Generator
    ) -> Sequence[TrainingDatum]:
        return ()


@dataclass(eq=False)
class BlindPolicy:
    """Shows `policy` every instance as wrong and without an answer.

    The policy still sees problems, gold answers and skills. It does not see the student's answers,
    which of them were right, or which calls failed, and it cannot let the student try. The examples
    in its plan have an empty transcript, so engines show them to a teacher as samples, not as
    errors.

    Args:
        policy: the policy to blind.

    Raises:
        ConfigurationError: if it lets the student try (`PolicyFit.asks_student`).
    """

    policy: Policy

    def __post_init__(self) -> None:
        self.fit = policy_fit(self.policy)
        if self.fit.asks_student:
            raise ConfigurationError(
                f"a blind policy may not let the student try, and {type(self.policy).__name__} "
                "does: wrap another one, such as agent/policy@agent.policy.policy=skill_list"
            )

    def plan(self, situation: Situation, count: int, rng: np.random.Generator) -> Plan:
        hidden = [
            CompletedTaskInstance(instance=c.instance, transcript=(), reward=0.0, was_correct=False)
            for c in situation.completed
        ]
        nobody = cast(PredictorInterface, None)  # `__post_init__` refused policies that ask
        blind = replace(situation, completed=hidden, predictor=nobody)
        return self.policy.plan(blind, count, rng)

    def state_dict(self) -> dict[str, JsonValue]:
        return self.policy.state_dict() if isinstance(self.policy, Stateful) else {}

    def load_state_dict(self, state: dict[str, JsonValue]) -> None:
        if isinstance(self.policy, Stateful):
            self.policy.load_state_dict(state)
