"""Finds tools by keywords, like API-Bank's ToolSearcher."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from dataenvgym.domains.tool_use.matching import GoldCall
from dataenvgym.records import Conversation, Message, Tool, ToolCall
from dataenvgym.records.tool_formats import as_function, to_json
from dataenvgym.tasks.words import words_of

TOOL_SEARCHER = Tool(
    name="ToolSearcher",
    description="Find the tools that fit some keywords best. The result describes them; they can "
    "be called then.",
    parameters={
        "type": "object",
        "properties": {
            "keywords": {"type": "string", "description": "What the tool should do."},
        },
        "required": ["keywords"],
    },
)
"""The tool of a student that must search for its tools."""
MOST_FOUND = 3
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def found(call: ToolCall, tools: Sequence[Tool]) -> str:
    """The result of a call of `TOOL_SEARCHER`: tools as JSON, or why there are none.

    The tools whose names and descriptions match most keywords come first.
    """
    if (best := best_tools(call, tools)) is None:
        return 'Error: give "keywords", a text, and nothing else.'
    if not best:
        return "No tool fits these keywords. Try other ones."
    return to_json([as_function(tool)["function"] for tool in best])


def best_tools(call: ToolCall, tools: Sequence[Tool]) -> list[Tool] | None:
    """The tools that a search finds, best first, at most `MOST_FOUND`; None without keywords."""
    keywords = call.arguments.get("keywords")
    if not isinstance(keywords, str) or not keywords.strip():
        return None
    wanted = set(words_of(spaced(keywords)))
    ranked = []
    for i, tool in enumerate(tools):
        name, described = set(words_of(spaced(tool.name))), set(words_of(tool.description))
        fit = 2 * len(name & wanted) + len((described - name) & wanted)  # its name counts twice
        ranked.append((-fit, tool.name, i))
    return [tools[i] for fit, _, i in sorted(ranked)[:MOST_FOUND] if fit]


def are_searches(calls: Sequence[ToolCall | GoldCall]) -> bool:
    """Whether there are calls, and all of them search for tools."""
    return bool(calls) and all(call.name == TOOL_SEARCHER.name for call in calls)


def was_found(call: ToolCall, messages: Conversation) -> bool:
    """Whether a search in the conversation found the tool of a call."""
    named = re.compile(rf"\"name\": ?\"{re.escape(call.name)}\"")
    return any(
        are_searches(before.tool_calls) and named.search(result.content) is not None
        for before, result in pairwise(messages)
    )


def searching(calls: Sequence[ToolCall], tools: Sequence[Tool]) -> Conversation:
    """A search for the tools of these calls, by the words of their names, and its results."""
    searches = [
        ToolCall(name=TOOL_SEARCHER.name, arguments={"keywords": spaced(name)})
        for name in dict.fromkeys(call.name for call in calls)
    ]
    results = (Message(role="tool", content=found(search, tools)) for search in searches)
    return (Message(role="assistant", content="", tool_calls=tuple(searches)), *results)


def spaced(name: str) -> str:
    """The name with its words apart: "GetToday" becomes "Get Today"."""
    return _HUMP.sub(" ", name)
