"""Math problems from files or named data sets, by split."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import partial

from dataenvgym.domains.math.domain import MathDomain
from dataenvgym.domains.math.loaders import Format, to_instance
from dataenvgym.options import takes
from dataenvgym.tasks.base import Task
from dataenvgym.tasks.options import PromptOptions, RowOptions, TaskOptions
from dataenvgym.tasks.row_source import Places, RowSource


@dataclass(frozen=True)
class MathOptions(TaskOptions, RowOptions, PromptOptions):
    """Options of `MathTask`.

    Attributes:
        sources: one path for all splits, or {train: ..., validation: ..., test: ...}; `eval` of one
            path uses all its problems (see `RowSource`).
        name: name of the task.
        format: "gsm8k" or "math" to accept only these; "auto" accepts problem or question, and
            answer, expected_answer or solution.
        question_field, answer_field: the fields of a row with the question and the gold answer;
            None tries those of the format.
    """

    sources: Places
    _: KW_ONLY
    name: str = "math"
    format: Format = "auto"
    question_field: str | None = None
    answer_field: str | None = None


class MathTask(Task):
    """Math problems in plain rows, or in GSM8K's or MATH's format (see `loaders`).

    MathTask({"train": "train.jsonl", "validation": "train.jsonl", "test": "test.jsonl"})
    """

    @takes(MathOptions)
    def __init__(self, options: MathOptions) -> None:
        domain = MathDomain(options.prompt)
        read = partial(
            to_instance,
            task=options.name,
            format=options.format,
            question_field=options.question_field,
            answer_field=options.answer_field,
        )
        source = RowSource(
            options.sources,
            read,
            options,
            name=options.name,
            overlap_key=domain.overlap_key,
            gold_errors=domain.gold_errors,
        )
        self.set_up(source, domain, options, name=options.name)
