"""Difficulty at the edge of ability: problems that the student solves sometimes teach most.

A problem that it always solves has nothing left to teach; one that it never solves is too hard to
learn from. With p, the share of sampled tries that solve a problem, its value is 4p(1 - p): 1 at
p = 1/2, 0 at both ends (the variance of a try, scaled).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

import numpy as np
from pydantic import NonNegativeFloat, PositiveFloat, PositiveInt

from dataenvgym.interfaces import PredictorInterface
from dataenvgym.records import CompletedTaskInstance, TaskInstance
from dataenvgym.records.plans import Assignment, Plan, PolicyFit, Situation, apportion
from dataenvgym.tasks.adapted_task import attemptable
from dataenvgym.tasks.base import Task


@dataclass(eq=False)
class EdgePolicy:
    """Records like problems that the student solves in some of its tries: value 4p(1 - p).

    If instances have skills, a skill's share is `4p(1 - p) + floor`, where p is the mean solve rate
    of its instances; its examples are those at the edge (half or more of the best value in the
    skill). If they have none, each instance is an example with its own share.

    Args:
        task: the task in whose environments the student tries.
        samples: tries at each instance.
        temperature: of the tries.
        floor: the weight of skills that are always or never solved, 0 or more.
    """

    fit = PolicyFit(asks_student=True)

    task: Task
    _: KW_ONLY
    samples: PositiveInt = 4
    temperature: PositiveFloat = 0.5
    floor: NonNegativeFloat = 0.05

    def __post_init__(self) -> None:
        self.task = attemptable(self.task)

    def plan(self, situation: Situation, count: int, rng: np.random.Generator) -> Plan:
        instances = [c.instance for c in situation.completed]
        rates = self.solve_rates(instances, situation.predictor, rng)
        tried = [
            (c, float(rate))
            for c, rate in zip(situation.completed, rates, strict=True)
            if not np.isnan(rate)
        ]
        if any(c.instance.skill is not None for c, _ in tried):
            return self._by_skill(tried, count)
        if not tried:
            return ()
        order = rng.permutation(len(tried)).tolist()  # break ties of remainders at random
        values = value_of(np.array([tried[i][1] for i in order])) + self.floor
        counts = apportion(values, count)
        return tuple(
            Assignment(n, examples=(tried[i][0],)) for i, n in zip(order, counts, strict=True) if n
        )

    def solve_rates(
        self,
        instances: Sequence[TaskInstance],
        predictor: PredictorInterface,
        rng: np.random.Generator,
    ) -> np.ndarray:
        """Compute the share of solved tries of each instance (n,); NaN where every call failed."""
        solved = np.zeros((self.samples, len(instances)))
        for row in solved:
            changes = {"seed": int(rng.integers(2**62)), "temperature": self.temperature}
            sampling = self.task.sampling.model_copy(update=changes)
            tried = self.task.attempt(predictor, instances, sampling=sampling)
            row[:] = [np.nan if c.error is not None else c.was_correct for c in tried]
        n_tried = np.sum(~np.isnan(solved), axis=0)
        with np.errstate(invalid="ignore"):
            rates: np.ndarray = np.nansum(solved, axis=0) / n_tried
        return rates

    def _by_skill(self, tried: list[tuple[CompletedTaskInstance, float]], count: int) -> Plan:
        groups: defaultdict[str, list[tuple[CompletedTaskInstance, float]]] = defaultdict(list)
        for c, rate in tried:
            if c.instance.skill is not None:
                groups[c.instance.skill].append((c, rate))
        skills = sorted(groups)
        rates = np.array([np.mean([rate for _, rate in groups[skill]]) for skill in skills])
        counts = apportion(value_of(rates) + self.floor, count)
        plan = []
        for skill, n in zip(skills, counts, strict=True):
            values = value_of(np.array([rate for _, rate in groups[skill]]))
            edge = zip(groups[skill], values >= values.max() / 2, strict=True)
            if n:
                plan.append(Assignment(n, skill=skill, examples=[c for (c, _), at in edge if at]))
        return tuple(plan)


def value_of(rates: np.ndarray) -> np.ndarray:
    """4p(1 - p) for each solve rate p (n,)."""
    return 4.0 * rates * (1.0 - rates)
