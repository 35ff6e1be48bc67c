"""Requests with gold plans from files or named data sets, by split."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Unpack

from dataenvgym.domains.tool_use.plans.domain import PlansDomain
from dataenvgym.domains.tool_use.plans.loaders import read_tools, to_instance
from dataenvgym.domains.tool_use.plans.metrics import Level
from dataenvgym.interfaces import SamplingParameters
from dataenvgym.tasks.base import LONG_REPLIES, Task, TaskOptions, training_problems
from dataenvgym.tasks.prompt_template import INSTRUCTION
from dataenvgym.tasks.row_source import FRACTIONS, Places, RowSource
from dataenvgym.tasks.source import Split


class PlansTask(Task):
    """Requests with gold plans, in m&m's format.

        PlansTask(
            {
                "validation": "test_human_verified.json",
                "test": "test_human_verified_filtered.json",
            },
            tools="tools.json",
        )

    Problems of the test source are left out of the other splits: in m&m's, the verified problems
    contain the filtered ones.

    Args:
        sources, fractions, limit, seed: see `RowSource`, which divides them among the splits.
        tools: the tool list: a JSON file, or its content (see `tools`).
        name: name of the task.
        form: how the student writes plans, "json" or "code".
        correct_by, system_prompt, template: see `PlansDomain`.
        best_match: whether the listed alternatives are gold plans, too; the one whose tools have
            the highest F1 with the student's plan counts.
        sampling: how the student draws its replies.
        options: those of `Task`.
    """

    def __init__(
        self,
        sources: Places,
        tools: str | Path | Mapping[str, Any] | Sequence[Any],
        *,
        name: str = "plans",
        form: str = "json",
        correct_by: Level = "tools",
        best_match: bool = False,
        fractions: Mapping[Split, float] = FRACTIONS,
        limit: int | None = None,
        seed: int = 0,
        system_prompt: str | None = None,
        template: str = INSTRUCTION,
        sampling: SamplingParameters = LONG_REPLIES,
        **options: Unpack[TaskOptions],
    ):
        domain = PlansDomain(
            read_tools(tools),
            partial(training_problems, self),
            form=form,
            correct_by=correct_by,
            system_prompt=system_prompt,
            template=template,
        )
        source = RowSource(
            sources,
            partial(
                to_instance, task=name, tools=domain.tools, form=domain.form, best_match=best_match
            ),
            name=name,
            overlap_key=domain.overlap_key,
            complaints=domain.gold_complaints,
            fractions=fractions,
            limit=limit,
            seed=seed,
            keeps_test_apart=True,
        )
        super().__init__(source, domain, name=name, sampling=sampling, **options)
