"""Formats whose calls are JSON, with the words of LLaMA-Factory's templates of the same models.

`HERMES`, in Qwen's chat template and others: between tags. A list of such objects, as SmolLM2
writes it, is several calls, and a call without arguments may leave them out. At the end of a text,
or before the next call, the closing tag may be missing.

    <tool_call>
    {"name": "search", "arguments": {"query": "x"}}
    </tool_call>

`MISTRAL`: a list behind a mark. Newer models write each call by itself, as a name and arguments
behind which no text follows. The tokenizers have special tokens for the marks. A server or
tokenizer may remove those from a reply; a remaining list is then a bare call.

    [TOOL_CALLS][{"name": "search", "arguments": {"query": "x"}}]
    [TOOL_CALLS]search[ARGS]{"query": "x"}

`LLAMA3`: bare, so `json_calls` decides which text may be one. The prompt does not name the day,
because the model's own chat template does.

    {"name": "search", "parameters": {"query": "x"}}

`NATIVE`, for a server that gets the tools and calls of a conversation separately: the conversation
stays as it is. Calls in a reply are written as text in the form of `HERMES`, because a reply is
text. An answer in the form of OpenAI's message, `{"tool_calls": [...]}`, is parsed as well.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from dataenvgym.records.conversations import Conversation, Tool, ToolCall
from dataenvgym.records.tool_formats.json_calls import (
    Span,
    bare_fault,
    calls_of,
    fault_at,
    last_spans,
    listed_calls,
    read_value,
    shown,
    spans_of,
    to_json,
)
from dataenvgym.records.tool_formats.llama_factory import join_results
from dataenvgym.records.tool_formats.text import Read, TextFormat, ToolFormat, message_of, spoken


def as_function(tool: Tool) -> dict[str, Any]:
    """The tool in OpenAI's form."""
    return {"type": "function", "function": tool.model_dump()}


# --- hermes ---------------------------------------------------------------------------------------

_TAG = "<tool_call>"
_TAG_OPENS = re.compile(r"<tool_call>\s*+")
_TAG_CLOSES = re.compile(r"\s*+(?:</tool_call>|\Z|(?=<tool_call>))")
_HERMES_TOOLS = """\


# Tools

You may call one or more functions to assist with the user query.

You are provided with function signatures within <tools></tools> XML tags:
<tools>{tools}
</tools>

For each function call, return a json object with function name and arguments within \
<tool_call></tool_call> XML tags:
<tool_call>
{{"name": <function-name>, "arguments": <args-json-object>}}
</tool_call>"""


def calls_text(calls: Iterable[tuple[str, Any]]) -> str:
    """Calls as text of `HERMES`.

    Args:
        calls: the name and the arguments of each. Arguments that are not an object, because the
            model's JSON was malformed, are written too; no parser accepts them as a call.
    """
    return "\n".join(
        f"<tool_call>\n{to_json({'name': name, 'arguments': arguments})}\n</tool_call>"
        for name, arguments in calls
    )


def _tagged(text: str, at: int) -> Iterator[Span]:
    while opening := _TAG_OPENS.search(text, at):
        at = opening.end()
        found = read_value(text, at)
        closing = _TAG_CLOSES.match(text, found[1]) if found else None
        if found and closing and (calls := calls_of(found[0], is_marked=True)):
            at = closing.end()
            yield from spans_of(opening.start(), at, calls)


def _tag_fault(text: str, at: int) -> str | None:
    if not (opening := _TAG_OPENS.search(text, at)):
        return None
    return fault_at(text, opening.end(), _TAG, closing="</tool_call>", several=True)


HERMES = TextFormat(
    tools=lambda tools: _HERMES_TOOLS.format(
        tools="".join(f"\n{to_json(as_function(tool))}" for tool in tools)
    ),
    calls=lambda calls: calls_text((call.name, call.arguments) for call in calls),
    results=lambda results: "\n".join(
        f"<tool_response>\n{result}\n</tool_response>" for result in results
    ),
    spans=_tagged,
    marks=(_TAG,),
    fault=_tag_fault,
    between="\n",
)


# --- mistral --------------------------------------------------------------------------------------

_CALLS, _ARGS = "[TOOL_CALLS]", "[ARGS]"
_NAMED = r"([\w.:/-]++)(?:\[CALL_ID\]\w*+)?+"
_MARK_OPENS = re.compile(
    rf"(?:\[TOOL_CALLS\]\s*+(?:{_NAMED}(?:\[ARGS\])?+\s*+(?=\{{))?+"
    rf"|(?<![\w.:/-]){_NAMED}\[ARGS\]\s*+(?=\{{))"
)
_NEXT = re.compile(rf"\s*+(?:\Z|\[TOOL_CALLS\]|{_NAMED}\[ARGS\])")


def _mistral_tools(tools: Sequence[Tool]) -> str:
    return f"[AVAILABLE_TOOLS] {to_json([as_function(tool) for tool in tools])}[/AVAILABLE_TOOLS]"


def _mistral_calls(calls: Sequence[ToolCall]) -> str:
    return _CALLS + to_json([{"name": call.name, "arguments": call.arguments} for call in calls])


def _marked(text: str, at: int) -> Iterator[Span]:
    while opening := _MARK_OPENS.search(text, at):
        at, name = opening.end(), opening[1] or opening[2]
        found = read_value(text, at)
        if found is None or (name and not _NEXT.match(text, found[1])):
            continue
        value = {"name": name, "arguments": found[0]} if name else found[0]
        if calls := calls_of(value, is_marked=True):
            at = found[1]
            yield from spans_of(opening.start(), at, calls)


def _mark_fault(text: str, at: int) -> str | None:
    if not (opening := _MARK_OPENS.search(text, at)):
        return None
    if not (name := opening[1] or opening[2]):
        return fault_at(text, opening.end(), _CALLS, several=True)
    fault = fault_at(text, opening.end(), _ARGS, arguments=True)
    return fault or f"text follows the arguments of {shown(name)}, which must come last"


MISTRAL = TextFormat(
    tools=_mistral_tools,
    calls=_mistral_calls,
    results=lambda results: f'[TOOL_RESULTS]{{"content": {join_results(results)}}}[/TOOL_RESULTS]',
    spans=_marked,
    marks=(_CALLS, _ARGS),
    fault=_mark_fault,
)

# --- llama 3 --------------------------------------------------------------------------------------

_LLAMA3_TOOLS = """\
You have access to the following functions. To call a function, please respond with JSON for a \
function call. Respond in the format {"name": function name, "parameters": dictionary of argument \
name and its value}. Do not use variables.

"""
_indented = json.JSONEncoder(ensure_ascii=False, indent=4).encode


def _llama3_calls(calls: Sequence[ToolCall]) -> str:
    written = [{"name": call.name, "parameters": call.arguments} for call in calls]
    return to_json(written[0] if len(written) == 1 else written)


LLAMA3 = TextFormat(
    tools=lambda tools: (
        _LLAMA3_TOOLS + "".join(f"{_indented(as_function(tool))}\n\n" for tool in tools)
    ),
    calls=_llama3_calls,
    results=join_results,
    spans=lambda text, at: last_spans(text, at, calls_of),
    marks=('"name"',),
    is_bare=True,
    fault=bare_fault,
)

# --- native ---------------------------------------------------------------------------------------


class NativeFormat(ToolFormat):
    """Leaves conversations unchanged, except for names, for which servers have no common form."""

    marks = (*HERMES.marks, '"tool_calls"')

    def flatten(self, conversation: Conversation) -> Conversation:
        """The conversation with the names of users in their text."""
        if all(message.name is None for message in conversation):
            return conversation
        return tuple(
            m.model_copy(update={"content": spoken(m), "name": None}) if m.role == "user" else m
            for m in conversation
        )

    def read(self, text: str, hidden: str, missing: str) -> Read | None:
        """The calls between tags, or else those in a message of OpenAI's, and its content."""
        if found := HERMES.read(text, hidden, missing):
            return found
        if not (spans := last_spans(hidden, 0, listed_calls)):
            return None
        start, message = message_of(text, spans, missing)
        values = [read_value(hidden, hidden.index("{", a)) for a, b, _ in spans if b > a]
        said = [value[0].get("content") for value in values if value]
        content = "".join([message.content, *(one for one in said if isinstance(one, str))])
        return Read(start, message.model_copy(update={"content": content}))


NATIVE = NativeFormat()
