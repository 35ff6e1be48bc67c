"""BFCL and API-Bank as tasks: problems from files, by split."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

from annotated_types import Gt, Le
from pydantic import PositiveInt

from dataenvgym.domains.tool_use.calls.api_bank import ApiBank, Turns, api_bank_instance
from dataenvgym.domains.tool_use.calls.api_bank_apis import ApiBankApis
from dataenvgym.domains.tool_use.calls.bfcl import Subset, bfcl_instance, bfcl_rows
from dataenvgym.domains.tool_use.calls.domain import CallsDomain
from dataenvgym.domains.tool_use.calls.environment import CallOptions
from dataenvgym.options import takes
from dataenvgym.records import Tool
from dataenvgym.tasks.base import Task, training_problems
from dataenvgym.tasks.domain import gold_errors
from dataenvgym.tasks.options import FileOptions, TaskOptions
from dataenvgym.tasks.row_source import RowSource
from dataenvgym.tasks.words import words_of


@dataclass(frozen=True, kw_only=True)
class BFCLOptions(TaskOptions, FileOptions, CallOptions):
    """Options of `BFCLTask`.

    Attributes:
        sources: a folder with the data set's files, or one file, for all splits or for each.
        subset: one file by its name: [live_]{simple, multiple, parallel, parallel_multiple,
            irrelevance} or live_relevance; "all" takes all files that are there.
        plain_names: write dots in tool names as underscores, for APIs that reject dots.
    """

    name: str = "bfcl"
    subset: Subset = "all"
    plain_names: bool = False


@dataclass(frozen=True, kw_only=True)
class APIBankOptions(TaskOptions, FileOptions, CallOptions):
    """Options of `APIBankTask`.

    Attributes:
        sources: a folder with the data set's files, or one file, for all splits or for each.
        turns: which of the assistant's turns are problems: "calls", "replies" or "all".
        search: "given" declares the APIs that a dialogue needs; "tool" gives the student only a
            ToolSearcher to find them, which takes one of `max_turns` turns.
        apis: a JSON file with tools that replace those derived from the dialogues, or None.
        checkout: the folder `api-bank` of a clone of AlibabaResearch/DAMO-ConvAI, or None. Its APIs
            then describe the tools, and each judges its own calls: `accepted_by_api` is API-Bank's
            verdict.
        reply_threshold: the smallest ROUGE-L of a right reply.
        max_turns: with `search=tool`, how many messages the student has.
    """

    name: str = "api_bank"
    turns: Turns = "all"
    search: Literal["given", "tool"] = "given"
    apis: str | Path | None = None
    checkout: str | Path | None = None
    matching: Literal["strict", "lenient"] = "strict"
    reply_threshold: Annotated[float, Gt(0), Le(1)] = 0.5
    max_turns: PositiveInt = 4


class BFCLTask(Task):
    """The single-turn files of the Berkeley Function Calling Leaderboard for Python.

    BFCLTask("bfcl", subset="parallel")
    """

    @takes(BFCLOptions)
    def __init__(self, options: BFCLOptions) -> None:
        domain = CallsDomain(partial(training_problems, self), options)
        self.set_up_rows(
            domain,
            options,
            partial(bfcl_instance, task=options.name, plain_names=options.plain_names),
            rows=partial(bfcl_rows, subset=options.subset),
            text_of=domain.text_of,
            gold_errors=partial(gold_errors, domain),
        )


class APIBankTask(Task):
    """API-Bank's dialogues: the gold call at each turn, or the gold reply.

    All problems of a dialogue are in one split.
    """

    @takes(APIBankOptions)
    def __init__(self, options: APIBankOptions) -> None:
        own = ApiBankApis(options.checkout, self._all_tools)
        self._files = ApiBank(options.turns, options.apis, own)
        domain = CallsDomain(
            partial(training_problems, self),
            options,
            catalog=self._all_tools if options.search == "tool" else tuple,
            reply_threshold=options.reply_threshold,
            verdict=own.verdict,
            max_turns=options.max_turns,
        )
        self.set_up_rows(
            domain,
            options,
            partial(api_bank_instance, task=options.name),
            # the words that a dialogue begins with are the key of all its problems
            overlap_key=lambda text: " ".join(words_of(text.partition("\n")[0])),
            rows=self._files.rows,
            text_of=domain.text_of,
            gold_errors=partial(gold_errors, domain),
        )

    def _all_tools(self) -> Sequence[Tool]:
        assert isinstance(self.source, RowSource)
        return self._files.tools(list(self.source.places.values()))
