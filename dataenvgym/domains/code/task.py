"""Code problems from files or named data sets, by split."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Unpack

from dataenvgym.domains.code.domain import CodeDomain, CodeTaskOptions, parted
from dataenvgym.domains.code.environment import DEFAULT_LIMITS
from dataenvgym.domains.code.loaders import Format, to_instance
from dataenvgym.interfaces import SamplingParameters
from dataenvgym.sandbox import Limits
from dataenvgym.tasks.base import LONG_REPLIES, Task, training_problems
from dataenvgym.tasks.row_source import FRACTIONS, Places, RowSource
from dataenvgym.tasks.source import Split


class CodeTask(Task):
    """Code problems in HumanEval's, MBPP's, APPS's, LiveCodeBench's or our own format.

        CodeTask({"test": "HumanEval.jsonl.gz"}, split="test")

    Args:
        sources, fractions, limit, seed: see `RowSource`, which divides them among the splits.
        name: name of the task.
        format: "own", "humaneval", "mbpp", "apps", "livecodebench", or "auto" to tell from each
            row's fields.
        sampling: how the student draws its replies.
        limits: of each run, see `CodeEnvironment`.
        options: those of `CodeDomain` (`sandbox`, `workers`, `max_turns`, ...) and of `Task`.
    """

    def __init__(
        self,
        sources: Places,
        *,
        name: str = "code",
        format: Format = "auto",
        fractions: Mapping[Split, float] = FRACTIONS,
        limit: int | None = None,
        seed: int = 0,
        sampling: SamplingParameters = LONG_REPLIES,
        limits: Limits | Mapping[str, Any] = DEFAULT_LIMITS,
        **options: Unpack[CodeTaskOptions],
    ):
        of_domain, others = parted(options)
        domain = CodeDomain(partial(training_problems, self), limits=limits, **of_domain)
        source = RowSource(
            sources,
            partial(to_instance, task=name, format=format),
            name=name,
            overlap_key=domain.overlap_key,
            fractions=fractions,
            limit=limit,
            seed=seed,
        )
        super().__init__(source, domain, name=name, sampling=sampling, **others)
