"""Math problems from files or named data sets, by split."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Unpack

from dataenvgym.domains.math.domain import MathDomain
from dataenvgym.domains.math.loaders import Format, to_instance
from dataenvgym.interfaces import SamplingParameters
from dataenvgym.tasks.base import LONG_REPLIES, Task, TaskOptions
from dataenvgym.tasks.prompt_template import INSTRUCTION, PromptTemplate
from dataenvgym.tasks.row_source import FRACTIONS, Places, RowSource
from dataenvgym.tasks.source import Split


class MathTask(Task):
    """Math problems in plain rows, or in GSM8K's or MATH's format (see `loaders`).

        MathTask({"train": "train.jsonl", "validation": "train.jsonl", "test": "test.jsonl"})

    Args:
        sources, fractions, limit, seed: see `RowSource`, which divides them among the splits.
        name: name of the task.
        format: "gsm8k" or "math" to accept only these; "auto" accepts all rows.
        question_field, answer_field: the fields of a row with the question and the gold answer;
            None tries those of the format.
        system_prompt, template: see `MathEnvironment`.
        sampling: how the student draws its replies.
        options: those of `Task`.
    """

    def __init__(
        self,
        sources: Places,
        *,
        name: str = "math",
        format: Format = "auto",
        question_field: str | None = None,
        answer_field: str | None = None,
        fractions: Mapping[Split, float] = FRACTIONS,
        limit: int | None = None,
        seed: int = 0,
        system_prompt: str = "",
        template: str = INSTRUCTION,
        sampling: SamplingParameters = LONG_REPLIES,
        **options: Unpack[TaskOptions],
    ):
        domain = MathDomain(PromptTemplate(system_prompt, template))
        source = RowSource(
            sources,
            partial(
                to_instance,
                task=name,
                format=format,
                question_field=question_field,
                answer_field=answer_field,
            ),
            name=name,
            overlap_key=domain.overlap_key,
            complaints=domain.gold_complaints,
            fractions=fractions,
            limit=limit,
            seed=seed,
        )
        super().__init__(source, domain, name=name, sampling=sampling, **options)
