"""Math problems from files or named datasets, by split."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from dataenvgym.errors import UnparsableAnswerError
from dataenvgym.interfaces import SamplingParameters
from dataenvgym.records import TaskInstance
from dataenvgym.scoring import gold_problems
from dataenvgym.tasks.base import Split
from dataenvgym.tasks.environment import TaskEnvironment
from dataenvgym.tasks.math.answers import MathAnswers
from dataenvgym.tasks.math.environment import MathEnvironment
from dataenvgym.tasks.math.loaders import Format, to_instance
from dataenvgym.tasks.prompt_template import INSTRUCTION, PromptTemplate
from dataenvgym.tasks.sourced import Source, SourcedTask
from dataenvgym.tasks.sources import Row

LONG_REPLIES = SamplingParameters(max_tokens=1024)
_SIGNS = re.compile(r"[+*/^=<>|×÷·−√]|(?<![a-z])-|-(?![a-z])")  # noqa: RUF001


class MathTask(MathAnswers, SourcedTask):
    """Math problems in GSM8K's or MATH's format.

        MathTask({"train": "train.jsonl", "validation": "train.jsonl", "test": "test.jsonl"})

    Args:
        sources: see `SourcedTask`, which divides them among the splits.
        name: name of the task.
        format: "gsm8k", "math", or "auto" to tell from each row's fields.
        system_prompt, template: see `MathEnvironment`.
        sampling: how the student draws its replies.
        options: those of `SourcedTask` (`fractions`, `limit`, `seed`) and of `Task`.
    """

    def __init__(
        self,
        sources: Source | Mapping[Split, Source],
        *,
        name: str = "math",
        format: Format = "auto",
        system_prompt: str = "",
        template: str = INSTRUCTION,
        sampling: SamplingParameters = LONG_REPLIES,
        **options: Any,
    ):
        super().__init__(sources, name=name, sampling=sampling, **options)
        self._format = format
        self.prompt_template = PromptTemplate(system_prompt, template)

    def load(self, split: Split) -> Sequence[TaskInstance]:
        """The problems of that split, with gold answers that the scorer can read.

        Raises:
            ConfigurationError: if the split has no source.
            InvalidInstanceError, UnparsableAnswerError: naming the file and the line.
        """
        problems = self.located(split)
        complaints = gold_problems([p.instance.answer or "" for p in problems])
        for problem, complaint in zip(problems, complaints, strict=True):
            if complaint is not None:
                raise UnparsableAnswerError(
                    f"{problem.where} (instance {problem.instance.id!r}): {complaint}"
                )
        return [p.instance for p in problems]

    def to_instance(self, row: Row) -> TaskInstance:
        return to_instance(row, task=self.name, format=self._format)

    def make_environment(self) -> TaskEnvironment:
        prompt = self.prompt_template
        return MathEnvironment(
            self.instances, system_prompt=prompt.system, template=prompt.template
        )

    def overlap_key(self, text: str) -> str:
        """Words, digits and signs: 3 + 4 is another problem than 3 - 4."""
        signs = _SIGNS.findall(unicodedata.normalize("NFKC", text).casefold())
        return f"{super().overlap_key(text)} {''.join(signs)}".strip()
