"""BFCL and API-Bank as tasks: problems from files, by split."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Literal, Unpack

from dataenvgym.domains.tool_use.calls.api_bank import ApiBank, Turns, api_bank_instance
from dataenvgym.domains.tool_use.calls.bfcl import Subset, bfcl_instance, bfcl_rows
from dataenvgym.domains.tool_use.calls.domain import CallsDomain
from dataenvgym.errors import ConfigurationError
from dataenvgym.interfaces import SamplingParameters
from dataenvgym.records import TaskInstance, Tool
from dataenvgym.tasks.base import LONG_REPLIES, Task, TaskOptions, training_problems
from dataenvgym.tasks.prompt_template import INSTRUCTION
from dataenvgym.tasks.row_source import FRACTIONS, Places, RowSource
from dataenvgym.tasks.rows import HubDataset, SourceRow
from dataenvgym.tasks.source import Split
from dataenvgym.tasks.words import words_of

Matching = Literal["strict", "lenient"]
Search = Literal["given", "tool"]


class CallsOptions(TaskOptions, total=False):
    """Keyword arguments that both tasks pass on."""

    fractions: Mapping[Split, float]
    limit: int | None
    seed: int
    system_prompt: str
    template: str
    sampling: SamplingParameters


class CallsTask(Task):
    """Problems whose answer is tool calls, read from places by `rows` and `read`.

    Args:
        places, rows, read, overlap_key, fractions, limit, seed: see `RowSource`.
        name: of the task.
        matching: how arguments are compared, see `tool_use.matching`.
        catalog, reply_threshold, max_turns, system_prompt, template: see `CallsDomain`.
        sampling: how the student draws its replies.
        options: those of `Task`.
    """

    def __init__(
        self,
        places: Places,
        rows: Callable[[Path | HubDataset], Iterable[SourceRow]],
        read: Callable[[SourceRow], TaskInstance],
        *,
        name: str,
        matching: Matching,
        overlap_key: Callable[[str], str] | None = None,
        catalog: Callable[[], Sequence[Tool]] = tuple,
        reply_threshold: float = 0.5,
        max_turns: int | None = None,
        fractions: Mapping[Split, float] = FRACTIONS,
        limit: int | None = None,
        seed: int = 0,
        system_prompt: str = "",
        template: str = INSTRUCTION,
        sampling: SamplingParameters = LONG_REPLIES,
        **options: Unpack[TaskOptions],
    ):
        if matching not in ("strict", "lenient"):
            raise ConfigurationError(f"matching is {matching!r}, expected strict or lenient")
        domain = CallsDomain(
            partial(training_problems, self),
            catalog=catalog,
            lenient=matching == "lenient",
            reply_threshold=reply_threshold,
            max_turns=max_turns,
            system_prompt=system_prompt,
            template=template,
        )
        source = RowSource(
            places,
            read,
            name=name,
            overlap_key=overlap_key or domain.overlap_key,
            fractions=fractions,
            limit=limit,
            seed=seed,
            rows=rows,
            text_of=domain.text_of,
            complaints=domain.gold_complaints,
        )
        super().__init__(source, domain, name=name, sampling=sampling, **options)


class BFCLTask(CallsTask):
    """The single-turn files of the Berkeley Function Calling Leaderboard for Python.

        BFCLTask("bfcl", subset="parallel")

    Args:
        sources: a folder with BFCL's files, or one file, for all splits or for each.
        name: of the task.
        subset: one file by its name, such as "live_simple" (see `bfcl.Subset`), or "all".
        matching: "lenient", as BFCL compares arguments, or "strict".
        plain_names: write dots in tool names as underscores, for APIs that reject dots.
        options: those of `CallsTask`.
    """

    def __init__(
        self,
        sources: Places,
        *,
        name: str = "bfcl",
        subset: Subset = "all",
        plain_names: bool = False,
        matching: Matching = "lenient",
        **options: Unpack[CallsOptions],
    ):
        super().__init__(
            sources,
            partial(bfcl_rows, subset=subset),
            partial(bfcl_instance, task=name, plain_names=plain_names),
            name=name,
            matching=matching,
            **options,
        )


class APIBankTask(CallsTask):
    """API-Bank's dialogues of levels 1 and 2: the gold call at each turn, or the gold reply.

    All problems of a dialogue are in one split.

    Args:
        sources: a folder with dialogues, or one file, for all splits or for each.
        name: of the task.
        turns: which of the assistant's turns are problems: "calls", "replies" or "all".
        search: "given" declares the APIs that a dialogue needs; "tool" gives the student only a
            ToolSearcher to find them, which takes one of `max_turns` turns.
        apis: a JSON file with tools that replace those derived from the dialogues, or None.
        matching: "strict", or "lenient", as BFCL compares arguments.
        reply_threshold: the smallest ROUGE-L of a right reply.
        max_turns: with `search=tool`, how many messages the student has.
        options: those of `CallsTask`.
    """

    def __init__(
        self,
        sources: Places,
        *,
        name: str = "api_bank",
        turns: Turns = "all",
        search: Search = "given",
        apis: str | Path | None = None,
        matching: Matching = "strict",
        reply_threshold: float = 0.5,
        max_turns: int = 4,
        **options: Unpack[CallsOptions],
    ):
        if search not in ("given", "tool"):
            raise ConfigurationError(f"search is {search!r}, expected given or tool")
        self._files = ApiBank(turns=turns, apis=apis)
        super().__init__(
            sources,
            self._files.rows,
            partial(api_bank_instance, task=name),
            name=name,
            matching=matching,
            overlap_key=_opening,
            catalog=self._all_tools if search == "tool" else tuple,
            reply_threshold=reply_threshold,
            max_turns=max_turns,
            **options,
        )

    def _all_tools(self) -> Sequence[Tool]:
        assert isinstance(self.source, RowSource)
        return self._files.tools(list(self.source.places.values()))


def _opening(text: str) -> str:
    """A key for the problems of one dialogue: the words that it begins with."""
    return " ".join(words_of(text.partition("\n")[0]))
