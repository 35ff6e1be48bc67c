"""Converts a turn of a sharegpt conversation into a message.

A turn is {"from": role, "value": text}. Other datasets may name keys and roles differently, as
their `tags` say. They may also have turns of the role `function_call`, with calls as JSON: one
object, or a list of several. Text of the same turn comes before the calls, and LLaMA-Factory finds
the calls by `<tool_call>...</tool_call>` around them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from dataenvgym.errors import DatasetFormatError, shorten

TAGS: Mapping[str, str] = {
    "role_tag": "from",
    "content_tag": "value",
    "user_tag": "human",
    "assistant_tag": "gpt",
    "observation_tag": "observation",
    "function_tag": "function_call",
    "system_tag": "system",
}
_ROLES = {
    "user_tag": "user",
    "assistant_tag": "assistant",
    "observation_tag": "tool",
    "function_tag": "assistant",
    "system_tag": "system",
}
_CALLS = re.compile("<tool_call>(.*?)</tool_call>", re.DOTALL), "</tool_call>"
_THOUGHT = re.compile(r"<think>\n.*?\n</think>\n\n", re.DOTALL), "\n</think>\n\n"
"""Patterns and the texts at their ends. Beyond the last end, a search would take quadratic time."""


def parse_turn(turn: Any, tags: Mapping[str, str], where: str) -> dict[str, Any]:
    """The message of a turn, as a mapping for `Message`.

    Raises:
        DatasetFormatError: with `where` and the key, the value found and the one expected.
    """
    if not isinstance(turn, Mapping):
        raise DatasetFormatError(f"{where} is {shorten(repr(turn))}, expected an object")
    tag_of = {tags[tag]: tag for tag in _ROLES if tag in tags}
    role_key, content_key = tags.get("role_tag", ""), tags.get("content_tag", "")
    role, content = turn.get(role_key), turn.get(content_key)
    if not isinstance(role, str) or role not in tag_of:
        raise DatasetFormatError(
            f"{where}, key {role_key!r} is {shorten(repr(role))}, expected one of {sorted(tag_of)}"
        )
    if not isinstance(content, str):
        raise DatasetFormatError(
            f"{where}, key {content_key!r} is {shorten(repr(content))}, expected a string"
        )
    if tag_of[role] == "function_tag":
        return {"role": "assistant", **_parse_calls(content, where)}
    return {"role": _ROLES[tag_of[role]], "content": content}


def _parse_calls(value: str, where: str) -> dict[str, Any]:
    """Text and tool calls of a function_call turn, separated as in LLaMA-Factory."""
    if marked := _search(_CALLS, value):
        text, source = value.replace(marked.group(0), ""), marked.group(1)
    elif thought := _search(_THOUGHT, value):
        text, source = thought.group(0), value.replace(thought.group(0), "")
    else:
        text, source = "", value
    calls = from_json(source, f"{where}, the function call")
    calls = calls if isinstance(calls, list) else [calls]
    for call in calls:
        if not isinstance(call, Mapping) or not {"name", "arguments"} <= call.keys():
            raise DatasetFormatError(
                f"{where}, the function call is {shorten(repr(call))}, expected an object with "
                "'name' "
                "and 'arguments'"
            )
    tool_calls = [{"name": call["name"], "arguments": call["arguments"]} for call in calls]
    return {"content": text, "tool_calls": tool_calls}


def _search(what: tuple[re.Pattern[str], str], text: str) -> re.Match[str] | None:
    pattern, last = what
    return pattern.search(text, 0, text.rfind(last) + len(last))


def from_json(text: str, where: str) -> Any:
    """Parse JSON text.

    Raises:
        DatasetFormatError: with `where`, the text found and why it is not JSON.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:  # ValueError: also numbers of too many digits
        why = str(error).partition("; ")[0]
        raise DatasetFormatError(
            f"{where} is {shorten(repr(text))}, expected JSON ({why})"
        ) from None
