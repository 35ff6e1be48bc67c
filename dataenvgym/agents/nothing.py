"""The floor of a study: no plan and no records, so that every step trains nothing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dataenvgym.interfaces import PredictorInterface
from dataenvgym.plans import Plan, Situation
from dataenvgym.records import TrainingDatum


class NoPolicy:
    """Plans nothing."""

    plans_nothing = True

    def plan(self, situation: Situation, count: int, rng: np.random.Generator) -> Plan:
        return ()


class NoEngine:
    """Writes nothing."""

    writes_nothing = True
    is_spent = True

    @property
    def skills(self) -> Sequence[str]:
        return ()

    def generate(
        self, plan: Plan, predictor: PredictorInterface, rng: np.random.Generator
    ) -> Sequence[TrainingDatum]:
        return ()
