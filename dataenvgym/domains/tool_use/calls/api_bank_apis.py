"""API-Bank's own APIs, from the user's checkout: what they are, and how they judge a call.

Each of API-Bank's APIs checks calls of itself: it is called with the student's arguments, on a
database that the checkout has, and compares input, output and exception with those of the gold
call, each in its own way. `ApiBankApis` runs them in a process of its own (`api_bank_process`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import Field

from dataenvgym.domains.tool_use.calls import api_bank_process
from dataenvgym.domains.tool_use.calls.api_bank_text import described_tool
from dataenvgym.domains.tool_use.calls.checkout import Checkout
from dataenvgym.domains.tool_use.calls.search import TOOL_SEARCHER, best_tools
from dataenvgym.errors import EvaluationError
from dataenvgym.events import warn_run
from dataenvgym.records import Tool, ToolCall
from dataenvgym.records.model import Json, Model

Library = Literal["apis", "lv3_apis"]
"""The folder of a checkout with the APIs of levels 1 and 2, or of level 3."""


class CheckedCall(Model):
    """A recorded gold call, to which an API's own checker compares the student's call.

    Attributes:
        apis: the folder with the API.
        name: of the API of the gold call.
        result: the gold call's input, output and exception, as API-Bank recorded them.
    """

    apis: Library = "apis"
    name: str = Field(min_length=1)
    result: dict[str, Json]

    @property
    def found(self) -> list[str]:
        """The names of the tools that a gold search found."""
        output = self.result.get("output")
        tools = output if isinstance(output, list) else [output]
        return [str(tool["name"]) for tool in tools if isinstance(tool, dict) and "name" in tool]


class ApiBankApis:
    """The APIs in a checkout.

    Args:
        checkout: the folder `api-bank` of a clone of AlibabaResearch/DAMO-ConvAI; None judges only
            searches.
        catalog: returns the tools that a search without API-Bank's own searcher goes through.

    Raises:
        ConfigurationError: if the folder is not a checkout.
    """

    def __init__(
        self, checkout: str | Path | None, catalog: Callable[[], Sequence[Tool]] = tuple
    ) -> None:
        self._checkout = (
            None
            if checkout is None
            else Checkout(
                checkout,
                api_bank_process,
                ("apis", "lv3_apis", "init_database", "tool_manager.py"),
                "the folder api-bank of a clone of https://github.com/AlibabaResearch/DAMO-ConvAI",
            )
        )
        self._catalog = cache(lambda: tuple(catalog()))
        self._warned_of: set[str] = set()

    @property
    def are_there(self) -> bool:
        """Whether there is a checkout, so that each API judges its calls."""
        return self._checkout is not None

    def tools(self, library: Library) -> tuple[Tool, ...]:
        """The tools as API-Bank describes them, sorted by name."""
        assert self._checkout is not None
        apis = self._checkout.ask({"apis": library})["apis"]
        return tuple(sorted(map(described_tool, apis), key=lambda tool: tool.name))

    def verdict(self, calls: Sequence[ToolCall], gold: CheckedCall) -> dict[str, bool]:
        """Whether these calls are one that the gold call's API accepts, as `accepted_by_api`.

        Without a checkout, or without the package of API-Bank's searcher, it is `found_tool`:
        whether this is a search that finds the tool of the gold search by the words of names and
        descriptions (`search.best_tools`). {} if a package that another API needs is missing.

        A call that the process has not enough time or memory for is not accepted.

        Raises:
            EvaluationError: if the process does not judge the gold call either.
        """
        if len(calls) != 1:
            return {"found_tool" if self._checkout is None else "accepted_by_api": False}
        (call,) = calls
        is_search = call.name == gold.name == TOOL_SEARCHER.name
        if self._checkout is None:
            return {"found_tool": is_search and self._finds(call, gold)}
        request = {
            "apis": gold.apis,
            "name": call.name,
            "arguments": call.arguments,
            "gold_name": gold.name,
            "gold": gold.result,
        }
        try:
            answer = self._checkout.ask(request)
        except EvaluationError:
            own = {"name": gold.name, "arguments": gold.result.get("input") or {}}
            self._checkout.ask(request | own)
            answer = {"accepts": False}
        if (package := answer.get("missing")) is None:
            return {"accepted_by_api": bool(answer["accepts"])}
        if package not in self._warned_of:
            self._warned_of.add(package)
            how = "the words of names and descriptions" if is_search else "equality with the gold"
            warn_run(
                f"API-Bank's {call.name} needs the package {package!r}, which is not installed: "
                f"its calls are judged by {how} instead, so do not compare accepted_by_api with "
                f"published figures (pip install {package.replace('_', '-')})"
            )
        return {"found_tool": self._finds(call, gold)} if is_search else {}

    def _finds(self, call: ToolCall, gold: CheckedCall) -> bool:
        best = best_tools(call, self._catalog())
        return best is not None and [tool.name for tool in best[:1]] == gold.found[-1:] != []
