"""Seeded generation: every record is a rewrite of a seed, which is a known good record.

    assignment -> seeds that fit it -> rewriter -> records

The rewriter decides how to rewrite (see `rewriters`). If it finds no right
rewrite, or only one that was written before, another seed is tried.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property
from itertools import cycle
from pathlib import Path
from typing import cast

import numpy as np
from pydantic import JsonValue

from dataenvgym.agents.engines.llm.record_requests import next_round
from dataenvgym.agents.engines.record_pool import RecordPool
from dataenvgym.agents.engines.rewriters import Rewriter
from dataenvgym.errors import BudgetSpentError, ConfigurationError, check_at_least, shorten
from dataenvgym.interfaces import PredictorInterface, TaskInterface
from dataenvgym.plans import EngineFit, Plan, credited
from dataenvgym.records import SupervisedDatum, TrainingDatum
from dataenvgym.tasks.adapted_task import task_of


class SeededEngine:
    """Rewrites seeds that fit each assignment, taking the seeds in turn.

    Args:
        rewriter: makes a new record from a seed. It gets and returns plain instructions, without
            the task's prompt around them.
        task: its train split, with gold answers, gives the seeds if there is no file. The records
            get its prompts.
        path: a JSONL file of supervised records, or None.
        nearest: for an assignment whose skill no seed has: the number of seeds, most similar to its
            examples, to use; at least 1.
        attempts: rounds in a row without a new record before the rest is given up, at least 1. All
            but the first of these rounds have at most that many rewrites.
    """

    fit = EngineFit(needs="counts")

    def __init__(
        self,
        rewriter: Rewriter,
        task: TaskInterface,
        *,
        path: str | Path | None = None,
        nearest: int = 10,
        attempts: int = 5,
    ) -> None:
        check_at_least(1, nearest=nearest, attempts=attempts)
        self.rewriter = rewriter
        self._domain = task_of(task).domain
        self.seeds = RecordPool(task, path)
        self.nearest = nearest
        self.attempts = attempts
        self._written: set[str] = set()

    @property
    def skills(self) -> Sequence[str]:
        return self.seeds.skills

    def prepare(self) -> None:
        self.seeds.prepare()
        if not any(self.rewriter.reads(seed) for seed in self._plain if seed):
            raise ConfigurationError(
                f"{type(self.rewriter).__name__} can rewrite none of the "
                f"{len(self.seeds.records)} seeds, such as "
                f"{shorten(self.seeds.records[0].question)!r}: use supervised seeds of pocket "
                "math, or agent/engine=seeded_teacher with a teacher"
            )

    def generate(
        self, plan: Plan, predictor: PredictorInterface, rng: np.random.Generator
    ) -> Sequence[TrainingDatum]:
        """Return the records of the plan, all new; fewer if rewrites run out.

        An assignment gets none if no seed that fits it can be rewritten.

        Raises:
            BudgetSpentError: if the rewriter's budget is spent before there is any record.
        """
        usable = np.array([seed is not None for seed in self._plain])
        seeds: list[list[SupervisedDatum]] = []  # those that fit each assignment, shuffled
        for assignment in plan:
            positions = self.seeds.fitting(assignment, usable, nearest=self.nearest)
            fitting = (self._plain[i] for i in rng.permutation(positions).tolist())
            seeds.append([seed for seed in fitting if seed is not None])
        turns = [cycle(some) for some in seeds]
        slots = [i for i, a in enumerate(plan) if seeds[i] for _ in range(a.count)]
        written: dict[int, TrainingDatum] = {}
        fruitless = 0
        while (missing := [s for s in range(len(slots)) if s not in written]) and (
            fruitless < self.attempts
        ):
            asked = next_round(missing, fruitless, self.attempts)
            try:
                rewrites = self.rewriter.rewrite([next(turns[slots[s]]) for s in asked], rng)
            except BudgetSpentError:
                if not written:
                    raise
                break
            before = len(written)
            for slot, record in zip(asked, rewrites, strict=True):
                if record is None:
                    continue
                text = f"{record.instruction}\0{record.output}"
                key = hashlib.sha256(text.encode()).hexdigest()[:16]  # short: there are many
                if key not in self._written:
                    self._written.add(key)
                    written[slot] = credited(self._domain.frame(record), plan[slots[slot]])
            fruitless = fruitless + 1 if len(written) == before else 0
        return [written[slot] for slot in sorted(written)]

    def state_dict(self) -> dict[str, JsonValue]:
        return {"written": [*sorted(self._written)]}

    def load_state_dict(self, state: dict[str, JsonValue]) -> None:
        self._written = set(cast("list[str]", state["written"]))

    @cached_property
    def _plain(self) -> list[SupervisedDatum | None]:
        """Each seed without the task's prompt; None for a record that is not supervised."""
        plain = map(self._domain.unframe, self.seeds.records)
        return [seed if isinstance(seed, SupervisedDatum) else None for seed in plain]
