"""Seeded generation: every record is a rewrite of a seed, which is a known good record.

    assignment -> seeds that fit it -> rewriter -> records

A rewriter follows the rules of a pocket family, or asks a teacher, who must not add facts or change
answers. If it finds no right rewrite, or only one that was written before, another seed is tried.
"""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from itertools import cycle
from pathlib import Path
from typing import Any, Literal, Protocol, cast, runtime_checkable

import numpy as np
from pydantic import JsonValue, PositiveInt

from dataenvgym.agents.engines.llm.record_requests import next_round
from dataenvgym.agents.engines.llm.records import records_schema
from dataenvgym.agents.engines.record_pool import RecordPool
from dataenvgym.errors import BudgetSpentError, ConfigurationError, SandboxError, shorten
from dataenvgym.interfaces import PredictorInterface, SamplingParameters, TeacherInterface
from dataenvgym.records import SupervisedDatum, TrainingDatum
from dataenvgym.records.plans import EngineFit, Plan, credited
from dataenvgym.tasks.base import Task
from dataenvgym.tasks.dialogue import DialogueDomain
from dataenvgym.tasks.pocket import Exercise, family_of
from dataenvgym.teachers.prompts import PromptLike, as_prompt
from dataenvgym.teachers.structured import ask_json

_log = logging.getLogger(__name__)
_NUMBER = re.compile(r"[0-9]+(?:[.,][0-9]+)*")


@runtime_checkable
class Rewriter(Protocol):
    """Makes new records from seeds."""

    def reads(self, seed: SupervisedDatum) -> bool:
        """True if it could rewrite such a seed."""
        ...

    def rewrite(
        self, seeds: Sequence[SupervisedDatum], rng: np.random.Generator
    ) -> Sequence[SupervisedDatum | None]:
        """Rewrite each seed, in order; None where no right rewrite was found.

        Raises:
            BudgetSpentError: if it needs a teacher and the budget allows no request at all.
        """
        ...


@dataclass(eq=False)
class PocketRewriter:
    """Rewrites exercises of a pocket family, and works out their answers.

    Seeds whose output is wrong are not rewritten.

    Args:
        operands: "same" asks the same in other words; "other" asks in the same words about other
            operands of the training split (numbers; for code, names); "mixed" chooses one of the
            two at random.
        task: a task of the pocket family.
    """

    operands: Literal["same", "other", "mixed"] = "mixed"
    _: KW_ONLY
    task: Task

    def __post_init__(self) -> None:
        self._family = family_of(self.task)

    def reads(self, seed: SupervisedDatum) -> bool:
        return self._exercise_in(seed) is not None

    def rewrite(
        self, seeds: Sequence[SupervisedDatum], rng: np.random.Generator
    ) -> list[SupervisedDatum | None]:
        rewritten: list[SupervisedDatum | None] = []
        for seed in seeds:
            if (exercise := self._exercise_in(seed)) is None:
                rewritten.append(None)
                continue
            if self.operands == "same" or (self.operands == "mixed" and rng.random() < 0.5):
                phrasings = self._family.phrasings[exercise.skill]
                others = [p for p in phrasings if p != exercise.phrasing]
                new = self._family.reworded(exercise, others[int(rng.integers(len(others)))])
            else:
                new = self._family.draw(exercise.skill, "train", rng, phrasing=exercise.phrasing)
            changes = {"instruction": new.question, "output": new.output}
            rewritten.append(seed.model_copy(update=changes))
        return rewritten

    def _exercise_in(self, seed: SupervisedDatum) -> Exercise | None:
        """The exercise of a seed, if the seed's output is right."""
        exercise = self._family.read(seed.instruction)
        right = exercise is not None and self._family.holds(exercise, seed.output)
        return exercise if right else None


@dataclass(eq=False)
class TeacherRewriter:
    """Asks a teacher for the same problem in other words, and keeps rewrites with the same answer.

    A rewrite is dropped if its numbers differ from the seed's; if its answer, read by the task's
    domain, differs (if the domain reads none, the outputs are compared); or if the domain can judge
    records and finds it wrong.

    Args:
        teacher: the model that rewrites.
        task: the task whose domain reads answers and may judge records.
        prompt: has `{instruction}` and `{output}`, and may have `{count}`, which is 1.
        temperature, top_p, max_tokens: of the teacher's answers.
    """

    teacher: TeacherInterface
    task: Task
    _: KW_ONLY
    prompt: PromptLike = "rewrite"
    temperature: float = 1.0
    top_p: float = 1.0
    max_tokens: int = 2048

    def __post_init__(self) -> None:
        self._question = as_prompt(self.prompt, needs=("instruction", "output"), may=("count",))
        self._sampling = SamplingParameters(
            temperature=self.temperature, top_p=self.top_p, max_tokens=self.max_tokens
        )

    def reads(self, seed: SupervisedDatum) -> bool:
        return True

    def rewrite(
        self, seeds: Sequence[SupervisedDatum], rng: np.random.Generator
    ) -> list[SupervisedDatum | None]:
        asked = [
            self._question.render(count=1, instruction=seed.instruction, output=seed.output)
            for seed in seeds
        ]
        sampling = self._sampling.model_copy(update={"seed": int(rng.integers(2**31))})
        answers = ask_json(self.teacher, asked, records_schema(), sampling, purpose="rewrites")
        return [self._accepted(s, answer) for s, answer in zip(seeds, answers, strict=True)]

    def _accepted(self, seed: SupervisedDatum, answer: Any | None) -> SupervisedDatum | None:
        if answer is None or not answer["records"]:
            return None
        first = answer["records"][0]
        if not first["instruction"].strip() or not first["output"].strip():
            return None
        changes = {"instruction": first["instruction"], "output": first["output"]}
        record = SupervisedDatum.model_validate(seed.model_dump() | changes)
        numbers, kept = (sorted(_NUMBER.findall(r.instruction)) for r in (seed, record))
        if record.instruction == seed.instruction or numbers != kept:
            return None
        domain = self.task.domain_of(record.provenance)
        if record.output.split() != seed.output.split():
            alone = seed.model_copy(update={"system": "", "history": ()})
            if (problem := domain.problem_of_record(alone)) is None:
                return None
            before, after = (domain.answer_class(problem, r.output) for r in (seed, record))
            if before is None or after is None:
                return None
            if before != after and not domain.same_answer(problem, before, after):
                return None
        try:
            return None if domain.judge_record(record) is False else record
        except SandboxError as error:
            _log.warning("a rewritten record was not judged: %s", error)
            return record


@dataclass(eq=False)
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

    rewriter: Rewriter
    task: Task
    _: KW_ONLY
    path: str | Path | None = None
    nearest: PositiveInt = 10
    attempts: PositiveInt = 5

    def __post_init__(self) -> None:
        self.seeds = RecordPool(self.task, self.path)
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
                    written[slot] = credited(self.task.frame(record), plan[slots[slot]])
            fruitless = fruitless + 1 if len(written) == before else 0
        return [written[slot] for slot in sorted(written)]

    def state_dict(self) -> dict[str, JsonValue]:
        return {"written": [*sorted(self._written)]}

    def load_state_dict(self, state: dict[str, JsonValue]) -> None:
        self._written = set(cast("list[str]", state["written"]))

    @cached_property
    def _plain(self) -> list[SupervisedDatum | None]:
        """Each seed without the task's prompt; None for a record that is not supervised."""
        plain = []
        for record in self.seeds.records:
            domain = self.task.domain_of(record.provenance)
            from_prompt = domain if isinstance(domain, DialogueDomain) else domain.prompt_template
            plain.append(from_prompt.unframe(record))
        return [seed if isinstance(seed, SupervisedDatum) else None for seed in plain]
