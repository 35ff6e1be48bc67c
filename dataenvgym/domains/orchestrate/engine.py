"""Scored records of orchestrations: one for each turn, with the advantage of its try as weight."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import numpy as np
from annotated_types import Ge
from pydantic import NonNegativeFloat, PositiveFloat, PositiveInt

from dataenvgym.agents.engines.scored_tries import ScoredTriesEngine
from dataenvgym.domains.orchestrate.calls import account
from dataenvgym.domains.orchestrate.domain import OrchestrateDomain
from dataenvgym.domains.orchestrate.preferences import preference_of
from dataenvgym.domains.orchestrate.rewards import (
    CLIP,
    LEAST_DEVIATION,
    LEAST_GROUP,
    RewardName,
    rewards,
)
from dataenvgym.errors import ConfigurationError
from dataenvgym.events import warn_run
from dataenvgym.interfaces import PredictorInterface
from dataenvgym.records import CompletedTaskInstance, Provenance, ScoredDatum, TrainingDatum
from dataenvgym.records.plans import Plan
from dataenvgym.tasks.base import Task
from dataenvgym.tasks.turn_scores import advantages


class OrchestrateTriesEngine(ScoredTriesEngine):
    """Scored records of orchestrations by outcome, efficiency or preference, in groups of tries.

    The tries at one problem are a group; their rewards become advantages (see `tasks.turn_scores`).
    Each turn of a try is a record of its own, because each has its own rebuilt prompt; its weight
    is the advantage of the try. Groups smaller than 3, or with a standard deviation of
    `least_deviation` or less, have no records, and neither have tries with an invalid call; those
    count in their group. Failed tries do not.

    Args:
        task, samples, temperature, tries: see `ScoredTriesEngine`.
        reward: "outcome", "efficiency" or "preference".
        clip: advantages are clipped to this value above and below 0.
        least_deviation: of the rewards of a group that is trained on, more than this.
        turns: about how many a try has; a problem is expected to give as many records for each of
            its tries.
        repeat: play problems again in later iterations, with the current student.
    """

    name = "orchestrate_tries"

    def __init__(
        self,
        task: Task,
        *,
        samples: Annotated[int, Ge(LEAST_GROUP)] = 8,
        temperature: PositiveFloat = 1.0,
        tries: PositiveInt = 4,
        reward: RewardName = "outcome",
        clip: PositiveFloat = CLIP,
        least_deviation: NonNegativeFloat = LEAST_DEVIATION,
        turns: PositiveInt = 1,
        repeat: bool = True,
    ) -> None:
        super().__init__(
            task,
            samples=samples,
            temperature=temperature,
            tries=tries,
            name_turns=False,
            least_deviation=least_deviation,
            repeat=repeat,
        )
        domain = self.task.domain
        if not isinstance(domain, OrchestrateDomain):
            raise ConfigurationError(
                f"these rewards are of orchestrations, and task {self.task.name!r} has none: "
                "choose task=qa_jsonl, task=pocket_orchestrate, or agent/engine=scored_tries"
            )
        self._domain = domain
        self.reward: RewardName = reward
        self.clip = clip
        self.least_group = LEAST_GROUP
        self.records_per_problem = samples * turns
        self._n_invalid = 0

    def generate(
        self, plan: Plan, predictor: PredictorInterface, rng: np.random.Generator
    ) -> Sequence[TrainingDatum]:
        self._n_invalid = 0
        records = super().generate(plan, predictor, rng)
        if self._n_invalid:
            warn_run(
                f"orchestrate_tries: {self._n_invalid} tries in groups that are trained on have an "
                "invalid call; they have no record"
            )
        return records

    def learn_all(
        self, problems: Sequence[Sequence[CompletedTaskInstance]]
    ) -> list[Sequence[ScoredDatum]]:
        groups = [[done for done in tries if self._lost.keeps(done)] for tries in problems]
        found: list[Sequence[ScoredDatum]] = []
        for group in groups:
            values = self.rewards_of(group)
            if not self.is_trained_on(values):
                found.append([])
                continue
            records: list[ScoredDatum] = []
            for done, weight in zip(group, advantages(values, clip=self.clip), strict=True):
                if account(done).n_invalid:
                    self._n_invalid += 1
                else:
                    records += self._records_of(done, weight)
            found.append(records)
        return found

    def rewards_of(self, group: Sequence[CompletedTaskInstance]) -> list[float]:
        """The reward of each try at one problem; none with an error."""
        if not group:
            return []
        tries = [(done.was_correct, account(done)) for done in group]
        return rewards(self.reward, tries, preference_of(group[0].instance))

    def _records_of(self, done: CompletedTaskInstance, weight: float) -> list[ScoredDatum]:
        records = []
        for prompt, said in self._domain.turns(done):
            first, *rest = prompt
            is_system = first.role == "system"
            bare = first.model_copy(update={"tools": ()})
            records.append(
                ScoredDatum(
                    messages=(*(() if is_system else (bare,)), *rest, said),
                    system=first.content if is_system else "",
                    tools=first.tools,
                    weights=(weight,),
                    provenance=Provenance(skill=done.instance.skill, task=done.instance.task),
                )
            )
        return records
