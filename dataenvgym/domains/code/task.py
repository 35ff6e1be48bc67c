"""Code problems from files or named data sets, by split."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import partial

from dataenvgym.domains.code.domain import CodeDomain
from dataenvgym.domains.code.environment import CodeOptions
from dataenvgym.domains.code.loaders import Format, to_instance
from dataenvgym.options import takes
from dataenvgym.tasks.base import Task, training_problems
from dataenvgym.tasks.options import RowOptions, TaskOptions
from dataenvgym.tasks.row_source import Places, RowSource


@dataclass(frozen=True)
class CodeTaskOptions(TaskOptions, RowOptions, CodeOptions):
    """Options of `CodeTask`.

    Attributes:
        sources: one path for all splits, or {train: ..., validation: ..., test: ...}; `eval` of one
            path uses all its problems (see `RowSource`).
        name: name of the task.
        format: "own", "humaneval", "mbpp", "apps", "livecodebench", or "auto" to tell from each
            row's fields.
    """

    sources: Places
    _: KW_ONLY
    name: str = "code"
    format: Format = "auto"


class CodeTask(Task):
    """Code problems in HumanEval's, MBPP's, APPS's, LiveCodeBench's or our own format.

    CodeTask({"test": "HumanEval.jsonl.gz"}, split="test")
    """

    @takes(CodeTaskOptions)
    def __init__(self, options: CodeTaskOptions) -> None:
        domain = CodeDomain(partial(training_problems, self), options)
        source = RowSource(
            options.sources,
            partial(to_instance, task=options.name, format=options.format),
            options,
            name=options.name,
            overlap_key=domain.overlap_key,
        )
        self.set_up(source, domain, options, name=options.name)
