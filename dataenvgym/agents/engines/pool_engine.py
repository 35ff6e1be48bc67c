"""Data selection: takes records from a pool instead of writing them, each one only once.

A selection scores the records of the pool, and `PoolEngine` takes the highest scores:

- `RandomSelection`: random scores.
- `UncertaintySelection`: how much k samples of the student disagree.
- `InfluenceSelection`: similarity to the student's errors, a proxy of influence without gradients.

`measured_selections` has those that ask the student for losses and gradients.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Protocol, cast, runtime_checkable

import numpy as np
from annotated_types import Ge
from pydantic import JsonValue, PositiveFloat, PositiveInt

from dataenvgym.agents.engines.record_pool import Candidates, RecordPool
from dataenvgym.errors import ConfigurationError, RunDirectoryError
from dataenvgym.interfaces import PredictorInterface
from dataenvgym.records import CompletedTaskInstance, TrainingDatum
from dataenvgym.records.plans import EngineFit, Plan, credited, engine_fit
from dataenvgym.tasks.adapted_task import attemptable
from dataenvgym.tasks.base import Task
from dataenvgym.tasks.domain import last_reply
from dataenvgym.tasks.metrics.answers import answers_of


@runtime_checkable
class Selection(Protocol):
    """Scores the records of a pool.

    A selection that needs examples declares `fit = EngineFit(needs="examples")`. One with a text
    `measure` names its scores by it in the provenance of the records.
    """

    def score(self, asked: Candidates) -> list[np.ndarray]:
        """Score each candidate of each assignment of the plan; higher is better."""
        ...


class RandomSelection:
    """Selects records at random."""

    def score(self, asked: Candidates) -> list[np.ndarray]:
        return [asked.rng.random(len(positions)) for positions in asked.positions]


@dataclass(eq=False)
class UncertaintySelection:
    """1 - agreement: the share of the student's samples that are not its most frequent answer.

    Two samples agree if the task's domain reads the same answer in them; a sample without an
    answer counts with its whole text. Only a random choice of candidates is tried; the others come
    last. Records that are not problems of the task count as certain.

    Args:
        task: asks the student, with its `sampling`.
        samples: tries of each record, at least 2.
        temperature: of the tries, more than 0.

    Attributes:
        breadth: candidates tried for each wanted record.
    """

    task: Task
    _: KW_ONLY
    samples: Annotated[int, Ge(2)] = 4
    temperature: PositiveFloat = 1.0
    breadth: ClassVar[int] = 3

    def __post_init__(self) -> None:
        self.task = attemptable(self.task)

    def score(self, asked: Candidates) -> list[np.ndarray]:
        rng = asked.rng
        tried = {
            int(position)
            for assignment, positions in zip(asked.plan, asked.positions, strict=True)
            for position in rng.permutation(positions)[: assignment.count * self.breadth]
        }
        order = sorted(tried)
        uncertainty = np.full(len(asked.pool.records), -1.0)
        uncertainty[order] = self._uncertainty(asked, order)
        return asked.with_chance(uncertainty, 1e-6)

    def _uncertainty(self, asked: Candidates, positions: Sequence[int]) -> list[float]:
        """The uncertainty at each position; 0.0 if fewer than two samples came back."""
        found = {p: self.task.problem_of(asked.pool.records[p]) for p in positions}
        problems = {p: problem for p, problem in found.items() if problem is not None}
        if found and not problems:
            raise ConfigurationError(
                f"none of {len(found)} records of the pool is a problem of task "
                f"{self.task.name!r} to try the student on: use "
                "agent/engine=pool_random or pool_influence"
            )
        rounds: list[list[CompletedTaskInstance]] = []
        for _ in range(self.samples):
            changes = {"temperature": self.temperature, "seed": int(asked.rng.integers(2**62))}
            sampling = self.task.sampling.model_copy(update=changes)
            tried = self.task.attempt(asked.student, list(problems.values()), sampling=sampling)
            rounds.append(tried)
        tries = dict(zip(problems, zip(*rounds, strict=True), strict=True))
        uncertainty = []
        for position in positions:
            answered = [c for c in tries.get(position, ()) if c.error is None]
            if len(answered) < 2:
                uncertainty.append(0.0)
                continue
            read = zip(answers_of(self.task, answered), answered, strict=True)
            answers = Counter(answer or f"\n{last_reply(c)}" for (answer, _), c in read)
            uncertainty.append(1.0 - answers.most_common(1)[0][1] / len(answered))
        return uncertainty


class InfluenceSelection:
    """A proxy of influence: the mean similarity of a record's question to the examples.

    The examples of an assignment are the student's errors. A record with a similar question
    (`TextSimilarity`) is expected to correct them most. No gradients are needed.
    """

    fit = EngineFit(needs="examples")

    def score(self, asked: Candidates) -> list[np.ndarray]:
        """Score by similarity to the examples (none: ConfigurationError); chance breaks ties."""
        if not all(assignment.examples for assignment in asked.plan):
            raise ConfigurationError(
                "selecting by influence needs examples of the student's errors, and the policy "
                "gives none: use agent/policy=open_ended or skill_list"
            )
        return [
            asked.pool.likeness(assignment)[some] + asked.rng.uniform(0, 1e-6, len(some))
            for assignment, some in zip(asked.plan, asked.positions, strict=True)
        ]


@dataclass(eq=False)
class PoolEngine:
    """Selects, for each assignment, the best of the records that fit it.

    Args:
        selection: ranks the records.
        task: its train split, with gold answers, is the pool if there is no file.
        path: a JSONL file of records, or None.
        nearest: for an assignment whose skill the pool does not know: the number of candidates,
            most similar to its examples, for each wanted record; at least 1.
    """

    selection: Selection
    task: Task
    _: KW_ONLY
    path: str | Path | None = None
    nearest: PositiveInt = 10

    def __post_init__(self) -> None:
        self.pool = RecordPool(self.task, self.path)
        self._measure = getattr(self.selection, "measure", None)

    @property
    def fit(self) -> EngineFit:
        """The needs of its selection; by default only the number of records."""
        says = getattr(self.selection, "fit", None) is not None
        return engine_fit(self.selection) if says else EngineFit(needs="counts")

    @property
    def skills(self) -> Sequence[str]:
        return self.pool.skills

    def prepare(self) -> None:
        self.pool.prepare()

    def generate(
        self, plan: Plan, predictor: PredictorInterface, rng: np.random.Generator
    ) -> Sequence[TrainingDatum]:
        """Return the records of the plan; fewer if the pool has no more that fit.

        If others took the best candidates of an assignment, it selects again from the rest.

        Raises:
            ConfigurationError: if the first plan has more records than the whole pool, and the
                selection has a measure.
        """
        size, planned = len(self.pool.records), sum(assignment.count for assignment in plan)
        if self._measure is not None and planned > size and not self.pool.taken:
            raise ConfigurationError(
                f"the plan has {planned} records, and the pool {size}: there is nothing to select "
                f"from. Set agent.records_per_iteration below {size}, take a larger pool "
                "(task.n_train or agent.engine.path), or use agent=gold to train on all of it"
            )
        free = np.ones(size, dtype=bool)
        free[sorted(self.pool.taken)] = False
        chosen: list[TrainingDatum] = []
        missing = plan
        while missing:
            candidates = [
                self.pool.fitting(assignment, free, nearest=self.nearest * assignment.count)
                for assignment in missing
            ]
            asked = Candidates(self.pool, missing, candidates, predictor, rng)
            scores = self.selection.score(asked)
            unserved = []
            for assignment, positions, score in zip(missing, candidates, scores, strict=True):
                order = np.argsort(-score, kind="stable")
                taken = order[free[positions[order]]][: assignment.count]
                free[positions[taken]] = False
                for place, i in enumerate(taken.tolist(), start=1):
                    record = credited(self.pool.records[positions[i]], assignment)
                    why = (
                        f"{score[i]:.4g}, place {place} of {len(order)}; record {positions[i] + 1}"
                    )
                    chosen.append(self._explained(record, why))
                if len(positions) and len(taken) < assignment.count:
                    unserved.append(assignment.of(assignment.count - len(taken)))
            missing = tuple(unserved)
        self.pool.taken = set(np.flatnonzero(~free).tolist())
        return chosen

    def _explained(self, record: TrainingDatum, why: str) -> TrainingDatum:
        selected = "" if self._measure is None else f"{self._measure} {why} of the pool"
        if selected == record.provenance.selected:  # "": not the reason of an earlier run
            return record
        provenance = record.provenance.model_copy(update={"selected": selected})
        return record.model_copy(update={"provenance": provenance})

    def state_dict(self) -> dict[str, JsonValue]:
        return {"taken": [*sorted(self.pool.taken)], "size": len(self.pool.records)}

    def load_state_dict(self, state: dict[str, JsonValue]) -> None:
        if (size := state["size"]) != len(self.pool.records):
            raise RunDirectoryError(
                f"the run selected from a pool of {size} records, and now it has "
                f"{len(self.pool.records)}: bring the file back, or start the run over"
            )
        self.pool.taken = set(cast("list[int]", state["taken"]))
