"""The lower bound of a study: no plan and no records, so the student never changes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dataenvgym.interfaces import PredictorInterface
from dataenvgym.plans import EngineFit, Plan, PolicyFit, Situation
from dataenvgym.records import TrainingDatum


class NoPolicy:
    """Plans nothing."""

    fit = PolicyFit(tells="nothing")

    def plan(self, situation: Situation, count: int, rng: np.random.Generator) -> Plan:
        return ()


class NoEngine:
    """Writes nothing."""

    fit = EngineFit(writes=False)

    @property
    def skills(self) -> Sequence[str]:
        return ()

    def generate(
        self, plan: Plan, predictor: PredictorInterface, rng: np.random.Generator
    ) -> Sequence[TrainingDatum]:
        return ()
