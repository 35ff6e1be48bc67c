"""Rewriters of seed records: by the rules of a pocket family, or by a teacher.

A teacher must not add facts or change answers.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol, get_args, runtime_checkable

import numpy as np

from dataenvgym.agents.engines.llm.records import records_schema
from dataenvgym.errors import SandboxError, check_one_of
from dataenvgym.interfaces import SamplingParameters, TaskInterface, TeacherInterface
from dataenvgym.llm.prompts import Prompt, as_prompt
from dataenvgym.llm.structured import ask_json
from dataenvgym.records import SupervisedDatum
from dataenvgym.tasks.adapted_task import task_of
from dataenvgym.tasks.pocket import Exercise, family_of

_log = logging.getLogger(__name__)
_NUMBER = re.compile(r"[0-9]+(?:[.,][0-9]+)*")
Operands = Literal["same", "other", "mixed"]


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


class PocketRewriter:
    """Rewrites exercises of a pocket family, and works out their answers.

    Seeds whose output is wrong are not rewritten.

    Args:
        operands: "same" asks the same in other words; "other" asks in the same words about other
            operands of the training split (numbers; for code, names); "mixed" chooses one of the
            two at random.
        task: a task of the pocket family.
    """

    def __init__(self, operands: Operands = "mixed", *, task: TaskInterface) -> None:
        check_one_of(get_args(Operands), operands=operands)
        self.operands = operands
        self._family = family_of(task)

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

    def __init__(
        self,
        teacher: TeacherInterface,
        task: TaskInterface,
        *,
        prompt: Prompt | Mapping[str, Any] | str = "rewrite",
        temperature: float = 1.0,
        top_p: float = 1.0,
        max_tokens: int = 2048,
    ) -> None:
        self._teacher = teacher
        self._domain = task_of(task).domain
        self._prompt = as_prompt(prompt, needs=("instruction", "output"), may=("count",))
        self._sampling = SamplingParameters(
            temperature=temperature, top_p=top_p, max_tokens=max_tokens
        )

    def reads(self, seed: SupervisedDatum) -> bool:
        return True

    def rewrite(
        self, seeds: Sequence[SupervisedDatum], rng: np.random.Generator
    ) -> list[SupervisedDatum | None]:
        asked = [
            self._prompt.render(count=1, instruction=seed.instruction, output=seed.output)
            for seed in seeds
        ]
        sampling = self._sampling.model_copy(update={"seed": int(rng.integers(2**31))})
        schema = records_schema()
        answers = ask_json(self._teacher, asked, schema, sampling, purpose="rewrites")
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
        if not self._keeps_answer(seed, record):
            return None
        try:
            return None if self._domain.judge_record(record) is False else record
        except SandboxError as error:
            _log.warning("a rewritten record was not judged: %s", error)
            return record

    def _keeps_answer(self, seed: SupervisedDatum, record: SupervisedDatum) -> bool:
        if record.output.split() == seed.output.split():
            return True
        alone = seed.model_copy(update={"system": "", "history": ()})
        if (problem := self._domain.problem_of_record(alone)) is None:
            return False
        before, after = (self._domain.answer_class(problem, r.output) for r in (seed, record))
        if before is None or after is None:
            return False
        return before == after or self._domain.same_answer(problem, before, after)
