"""Math problems from files or named data sets, by split."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Unpack

from dataenvgym.interfaces import SamplingParameters
from dataenvgym.records import TaskInstance
from dataenvgym.scoring import gold_problems
from dataenvgym.tasks.base import LONG_REPLIES, Task, TaskOptions
from dataenvgym.tasks.math.domain import MathDomain
from dataenvgym.tasks.math.loaders import Format, to_instance
from dataenvgym.tasks.prompt_template import INSTRUCTION, PromptTemplate
from dataenvgym.tasks.row_source import FRACTIONS, Places, RowSource
from dataenvgym.tasks.source import Split


class MathTask(Task):
    """Math problems in GSM8K's or MATH's format.

        MathTask({"train": "train.jsonl", "validation": "train.jsonl", "test": "test.jsonl"})

    Args:
        sources, fractions, limit, seed: see `RowSource`, which divides them among the splits.
        name: name of the task.
        format: "gsm8k", "math", or "auto" to tell from each row's fields.
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
            partial(to_instance, task=name, format=format),
            name=name,
            overlap_key=domain.overlap_key,
            complaints=_complaints,
            fractions=fractions,
            limit=limit,
            seed=seed,
        )
        super().__init__(source, domain, name=name, sampling=sampling, **options)


def _complaints(instances: Sequence[TaskInstance]) -> Sequence[str | None]:
    return gold_problems([instance.answer or "" for instance in instances])
