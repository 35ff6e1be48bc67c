"""A language model rewrites seed records; it must not add facts or change answers."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dataenvgym.agents.engines.llm.records import records_schema
from dataenvgym.errors import SandboxError
from dataenvgym.interfaces import SamplingParameters, TaskInterface, TeacherInterface
from dataenvgym.llm.prompts import Prompt, as_prompt
from dataenvgym.llm.structured import ask_json
from dataenvgym.records import SupervisedDatum
from dataenvgym.tasks.adapted import task_of

_log = logging.getLogger(__name__)
_NUMBER = re.compile(r"[0-9]+(?:[.,][0-9]+)*")


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
        if record.instruction == seed.instruction or not self._keeps_facts(seed, record):
            return None
        return None if self._is_wrong(record) else record

    def _is_wrong(self, record: SupervisedDatum) -> bool:
        try:
            return self._domain.judge_record(record) is False
        except SandboxError as error:
            _log.warning("a rewritten record was not judged: %s", error)
            return False

    def _keeps_facts(self, seed: SupervisedDatum, record: SupervisedDatum) -> bool:
        numbers, kept = (sorted(_NUMBER.findall(r.instruction)) for r in (seed, record))
        return numbers == kept and self._keeps_answer(seed, record)

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
