"""API-Bank's own notation: descriptions of APIs, calls and dialogues as text.

    {"name": "AddAlarm", "description", "input_parameters": {"time": {"type": "str", ...}}}
    User: Wake me at ten.
    API-Request: [AddAlarm(time='10:00')]->success
    AI: Done.

The rows of its training files have these in "instruction" (after "API descriptions:") and "input",
and the expected turn in "output". `derived_tools` describes APIs by the calls that they got.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from dataenvgym.domains.tool_use.calls.search import spaced
from dataenvgym.domains.tool_use.matching import kind_of
from dataenvgym.records import Message, Tool, ToolCall
from dataenvgym.records.model import Json
from dataenvgym.tasks.scoring.code.syntax import parse_expression

_TYPES = {
    "str": "string", "string": "string", "int": "integer", "integer": "integer",
    "float": "number", "number": "number", "bool": "boolean", "boolean": "boolean",
    "list": "array", "array": "array", "dict": "object", "object": "object",
}  # fmt: skip
_DESCRIPTIONS = "API descriptions:"
_TURN = re.compile(r"^(User|AI|API-Request|Generate [A-Za-z ]+): ?", re.MULTILINE)
_CALL = re.compile(r"\[(\w+)\(")


def described_tool(api: Mapping[str, Any]) -> Tool:
    """The tool that API-Bank describes.

    Raises:
        AttributeError, ValueError: if it has no name, or its parameters are not an object.
    """
    name: Any = api.get("name") or api.get("apiCode")
    declared = api.get("input_parameters", api.get("parameters")) or {}
    properties: dict[str, Any] = {}
    for parameter, about in declared.items():
        about = about if isinstance(about, dict) else {"description": str(about)}
        kind = _TYPES.get(str(about.get("type", "")).lower().partition("(")[0])
        said = str(about.get("description") or about.get("desc") or "")
        properties[parameter] = ({"type": kind} if kind else {}) | {"description": said}
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    return Tool(name=name, description=str(api.get("description") or ""), parameters=schema)


def tools_in(instruction: str) -> tuple[Tool, ...]:
    """The tools described in a prompt of API-Bank, one JSON object a line.

    Raises:
        AttributeError, ValueError: for a line in another form.
    """
    _, _, listed = instruction.partition(_DESCRIPTIONS)
    apis = [json.loads(line) for line in listed.splitlines() if line.strip()]
    return tuple({tool.name: tool for tool in map(described_tool, apis)}.values())


def call_in(text: str) -> ToolCall:
    """The call in a text such as "[AddAlarm(time='10:00')]"; the values are Python's literals.

    Raises:
        ValueError: if there is none, or its arguments are not literals with names.
    """
    try:
        if (named := _CALL.search(text)) is None or (end := text.rfind(")]")) < named.end():
            raise ValueError("expected [Name(argument='value')]")
        parsed = parse_expression(f"_({text[named.end() : end]})").body
        assert isinstance(parsed, ast.Call)
        if parsed.args or any(word.arg is None for word in parsed.keywords):
            raise ValueError("an argument has no name")
        values = {word.arg: ast.literal_eval(word.value) for word in parsed.keywords}
        return ToolCall(name=named[1], arguments=json.loads(json.dumps(values)))
    except (SyntaxError, AssertionError, TypeError, ValueError, RecursionError, MemoryError) as e:
        raise ValueError(f"{text[:200]!r} is not a call with literal arguments: {e}") from None


def messages_in(dialogue: str) -> tuple[Message, ...]:
    """The turns of a dialogue; words of the AI and the call that follows are one message.

    Raises:
        ValueError: if a call cannot be parsed, or the text begins with something else.
    """
    marks = list(_TURN.finditer(dialogue))
    if not marks or dialogue[: marks[0].start()].strip():
        raise ValueError(f"the dialogue begins with {dialogue[:60]!r}, expected 'User: ...'")
    messages: list[Message] = []
    ends = [*(mark.start() for mark in marks[1:]), len(dialogue)]
    for mark, end in zip(marks, ends, strict=True):
        text = dialogue[mark.end() : end].strip()
        if mark[1] == "User":
            messages.append(Message(role="user", content=text))
        elif mark[1] == "AI":
            messages.append(Message(role="assistant", content=text))
        elif mark[1] == "API-Request":
            request, arrow, result = text.partition(")]->")
            call = call_in(f"{request})]" if arrow else text)
            said = ""
            if messages and messages[-1].role == "assistant" and not messages[-1].tool_calls:
                said = messages.pop().content
            messages.append(Message(role="assistant", content=said, tool_calls=(call,)))
            if arrow:
                messages.append(Message(role="tool", content=result))
    return tuple(messages)


# --- descriptions derived from calls --------------------------------------------------------------


_FORMS = {
    "YYYY-MM-DD HH:MM:SS": re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"),
    "YYYY-MM-DD": re.compile(r"\d{4}-\d\d-\d\d"),
    "MM-DD": re.compile(r"\d\d-\d\d"),
}


def derived_tools(calls: Mapping[str, Sequence[Mapping[str, Any]]]) -> tuple[Tool, ...]:
    """A tool for each name, with the arguments of its calls.

    An argument that all calls have is required. If its values have a common type, that is its type;
    if all are dates of one format, that is its description.

    Args:
        calls: the arguments of each call, by the tool's name.
    """
    tools = []
    for name in sorted(calls):
        names = list(dict.fromkeys(argument for call in calls[name] for argument in call))
        values = {n: [call[n] for call in calls[name] if n in call] for n in names}
        parameters: Any = {
            "type": "object",
            "properties": {n: _schema(values[n]) for n in names},
            "required": [n for n in names if len(values[n]) == len(calls[name])],
        }
        first, *others = spaced(name).split()
        described = " ".join([first.capitalize(), *(word.lower() for word in others)])
        tools.append(Tool(name=name, description=f"{described}.", parameters=parameters))
    return tuple(tools)


def _schema(values: Sequence[Any]) -> dict[str, Json]:
    schema: dict[str, Json] = {}
    types = {kind_of(value) for value in values}
    if types == {"integer", "number"}:
        types = {"number"}
    if len(types) == 1 and (only := types.pop()) not in (None, "null"):
        schema["type"] = only
        items = [item for value in values if isinstance(value, list) for item in value]
        if only == "array" and items:
            schema["items"] = _schema(items)
        if only == "object":
            fields = dict.fromkeys(name for value in values for name in value)
            schema["properties"] = {
                name: _schema([value[name] for value in values if name in value]) for name in fields
            }
    texts = all(isinstance(value, str) for value in values)
    for form, pattern in _FORMS.items():
        if texts and all(pattern.fullmatch(value) for value in values):
            schema["description"] = f"In the form {form}."
    return schema
