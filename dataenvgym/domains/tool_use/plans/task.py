"""Requests with gold plans from files or named data sets, by split."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from dataenvgym.domains.tool_use.plans.domain import PlanOptions, PlansDomain
from dataenvgym.domains.tool_use.plans.loaders import read_tools, to_instance
from dataenvgym.options import takes
from dataenvgym.tasks.base import Task, training_problems
from dataenvgym.tasks.domain import gold_errors
from dataenvgym.tasks.options import FileOptions, TaskOptions


@dataclass(frozen=True, kw_only=True)
class PlansOptions(TaskOptions, FileOptions, PlanOptions):
    """Options of `PlansTask`.

    Attributes:
        sources: one path for all splits, or {train: ..., validation: ..., test: ...}. m&m's are
            validation: test_human_verified.json, test: test_human_verified_filtered.json.
        tools: the tool list: a JSON file, or its content (see `tools`).
        best_match: whether the listed alternatives are gold plans, too; the one whose tools have
            the highest F1 with the student's plan counts.
    """

    tools: str | Path | Mapping[str, Any] | Sequence[Any] = field(kw_only=False)
    name: str = "plans"
    best_match: bool = False


class PlansTask(Task):
    """Plans in m&m's form, from files: task.sources=FILE task.tools=FILE.

        PlansTask(
            {
                "validation": "test_human_verified.json",
                "test": "test_human_verified_filtered.json",
            },
            tools="tools.json",
        )

    Problems of the test source are left out of the other splits: in m&m's, the verified problems
    contain the filtered ones.
    """

    @takes(PlansOptions)
    def __init__(self, options: PlansOptions) -> None:
        known = partial(training_problems, self)
        domain = PlansDomain(read_tools(options.tools), known, options)
        read = partial(
            to_instance,
            task=options.name,
            tools=domain.tools,
            form=domain.form,
            best_match=options.best_match,
        )
        errors = partial(gold_errors, domain)
        self.set_up_rows(domain, options, read, gold_errors=errors, keeps_test_apart=True)
