"""Math problems from files or named datasets, by split."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dataenvgym.errors import ConfigurationError, UnparsableAnswerError, did_you_mean
from dataenvgym.interfaces import SamplingParameters
from dataenvgym.records import TaskInstance
from dataenvgym.scoring import gold_problems
from dataenvgym.tasks.base import SPLITS, Split, Task
from dataenvgym.tasks.environment import TaskEnvironment
from dataenvgym.tasks.math.environment import INSTRUCTION, MathEnvironment
from dataenvgym.tasks.math.loaders import Format, to_instance
from dataenvgym.tasks.math.sources import HubDataset, read_rows, source_name

Source = str | Path | HubDataset | Mapping[str, Any]
FRACTIONS: Mapping[Split, float] = {"train": 0.8, "validation": 0.1, "test": 0.1}
LONG_REPLIES = SamplingParameters(max_tokens=1024)
_SIGNS = re.compile(r"[+*/^=<>|×÷·−√]|(?<![a-z])-|-(?![a-z])")  # noqa: RUF001


class MathTask(Task):
    """Math problems in GSM8K's or MATH's format.

        MathTask({"train": "train.jsonl", "validation": "train.jsonl", "test": "test.jsonl"})

    A source that several splits name is divided among them in proportion to their `fractions`, by
    a hash of each problem's words: the same problem never lands in two splits. A source that one
    split names belongs to it whole.

    Args:
        sources: one source, which all three splits then share, or one for each split. A source
            is a path (.jsonl, .jsonl.gz, .json with an array, or a folder of .json files with one
            problem each), a `HubDataset`, or a mapping with its fields (`dataset` and so on).
        name: name of the task.
        format: "gsm8k", "math", or "auto" to tell from each row's fields.
        fractions: shares of the splits in a source that they have in common.
        limit: at most this many problems of each split, a seeded sample in the source's order.
        seed: which problems go to which split, and which ones into the sample.
        system_prompt, template: see `MathEnvironment`.
        sampling, options: those of `Task`.
    """

    def __init__(
        self,
        sources: Source | Mapping[Split, Source],
        *,
        name: str = "math",
        format: Format = "auto",
        fractions: Mapping[Split, float] = FRACTIONS,
        limit: int | None = None,
        seed: int = 0,
        system_prompt: str = "",
        template: str = INSTRUCTION,
        sampling: SamplingParameters = LONG_REPLIES,
        **options: Any,
    ):
        super().__init__(sampling=sampling, **options)
        if limit is not None and limit < 1:
            raise ConfigurationError(f"limit is {limit}, expected 1 or more, or None")
        if fractions.keys() - set(SPLITS) or any(share < 0 for share in fractions.values()):
            raise ConfigurationError(
                f"fractions are {dict(fractions)}, expected shares of {', '.join(SPLITS)}"
            )
        self.name = name
        self._sources = _by_split(sources)
        self._format = format
        self._fractions = fractions
        self._limit = limit
        self._seed = seed
        self._system_prompt = system_prompt
        self._template = template

    def load(self, split: Split) -> Sequence[TaskInstance]:
        """The problems of that split, with gold answers that the scorer can read.

        Raises:
            ConfigurationError: if the split has no source.
            InvalidInstanceError, UnparsableAnswerError: naming the file and the line.
        """
        problems = self._chosen(split, self._read(split))
        complaints = gold_problems([p.instance.answer or "" for p in problems])
        for problem, complaint in zip(problems, complaints, strict=True):
            if complaint is not None:
                raise UnparsableAnswerError(
                    f"{problem.where} (instance {problem.instance.id!r}): {complaint}"
                )
        return [p.instance for p in problems]

    def make_environment(self) -> TaskEnvironment:
        return MathEnvironment(
            self.instances, system_prompt=self._system_prompt, template=self._template
        )

    def overlap_key(self, text: str) -> str:
        """Words, digits and signs: 3 + 4 is another problem than 3 - 4."""
        signs = _SIGNS.findall(unicodedata.normalize("NFKC", text).casefold())
        return f"{super().overlap_key(text)} {''.join(signs)}".strip()

    def _read(self, split: Split) -> list[_Problem]:
        if split not in self._sources:
            raise ConfigurationError(
                f"task {self.name!r} has no source for split {split!r}, "
                f"only for {', '.join(self._sources)}"
            )
        source = self._sources[split]
        prefix = self._prefix(source)
        problems = []
        for position, row in enumerate(read_rows(source)):
            instance = to_instance(row, task=self.name, format=self._format)
            instance = instance.model_copy(update={"id": prefix + instance.id})
            key = self.overlap_key(instance.instruction)
            rank = hashlib.sha256(f"{self._seed} {key}".encode()).hexdigest()
            problems.append(_Problem(position, rank, row.where, instance))
        return problems

    def _prefix(self, source: Path | HubDataset) -> str:
        """What keeps ids apart if another source has the same name: the parent folder."""
        names = [source_name(other) for other in set(self._sources.values())]
        if isinstance(source, Path) and names.count(source_name(source)) > 1:
            return f"{source.absolute().parent.name}/"
        return ""

    def _chosen(self, split: Split, problems: list[_Problem]) -> list[_Problem]:
        """The split's share of the problems, and of it the sample."""
        sharing = [s for s in SPLITS if self._sources.get(s) == self._sources[split]]
        total = sum(self._fractions.get(s, 0.0) for s in sharing)
        if len(sharing) > 1 and total > 0:
            before = sum(self._fractions.get(s, 0.0) for s in sharing[: sharing.index(split)])
            after = before + self._fractions.get(split, 0.0)
            ranks = sorted({p.rank for p in problems})
            low, high = round(len(ranks) * before / total), round(len(ranks) * after / total)
            own = set(ranks[low:high])
            problems = [p for p in problems if p.rank in own]
        sample = sorted(problems, key=lambda p: (p.rank, p.position))[: self._limit]
        return sorted(sample, key=lambda p: p.position)


@dataclass(frozen=True)
class _Problem:
    """An instance, its place in the source, and a seeded hash of its words."""

    position: int
    rank: str
    where: str
    instance: TaskInstance


def _by_split(sources: Source | Mapping[Split, Source]) -> dict[Split, Path | HubDataset]:
    if not isinstance(sources, Mapping) or "dataset" in sources:
        return dict.fromkeys(SPLITS, _parsed(sources))
    for name in sources:
        if name not in SPLITS:
            raise ConfigurationError(
                f"sources has a split {name!r}, expected {', '.join(SPLITS)}."
                f"{did_you_mean(str(name), SPLITS)}"
            )
    return {split: _parsed(sources[split]) for split in SPLITS if split in sources}


def _parsed(source: Any) -> Path | HubDataset:
    if isinstance(source, HubDataset):
        return source
    if isinstance(source, Mapping):
        return HubDataset.model_validate(dict(source))
    return Path(source).expanduser()
