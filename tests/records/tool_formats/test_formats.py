"""Tools, calls and results as text, and calls read from text."""

import json
import random
from typing import Any

import pytest

from dataenvgym.errors import ConfigurationError
from dataenvgym.records import Message, Tool, ToolCall
from dataenvgym.records.tool_formats import (
    HERMES,
    LLAMA3,
    LLAMA_FACTORY,
    MISTRAL,
    NATIVE,
    TOOL_FORMATS,
    as_reply,
    read_reply,
    tool_format,
    training_format,
)

TEXT_FORMATS = tuple(name for name in TOOL_FORMATS if name != "native")
ADD = Tool(
    name="add",
    description="Adds.",
    parameters={
        "type": "object",
        "properties": {
            "a": {"type": "integer", "description": "first"},
            "how": {"type": "string", "description": "", "enum": ["fast", 2]},
            "more": {"type": "array", "description": "x", "items": {"type": "integer"}},
        },
        "required": ["a"],
    },
)


def system(content: str = "Be brief.", **more: Any) -> Message:
    return Message(role="system", content=content, **more)


def user(content: str, name: str | None = None) -> Message:
    return Message(role="user", content=content, name=name)


def result(content: str) -> Message:
    return Message(role="tool", content=content)


def said(content: str, *calls: ToolCall) -> Message:
    return Message(role="assistant", content=content, tool_calls=calls)


ONE = ToolCall(name="add", arguments={"a": 1, "how": "schön"})
TWO = ToolCall(name="b.c-d")
CHAT = (
    system(tools=(ADD,)),
    user("1+1?"),
    said("I add. ", ONE, TWO),
    result("2"),
    result("3\n"),
    said("2"),
)


FUNCTION = {"type": "function", "function": ADD.model_dump()}
WRITTEN = [  # the tools, the calls and the results of CHAT in each format
    (
        LLAMA_FACTORY,
        "You have access to the following tools:\n"
        "> Tool Name: add\n"
        "Tool Description: Adds.\n"
        "Tool Args:\n"
        "  - a (integer, required): first\n"
        "  - how (string): , should be one of [fast, 2]\n"
        "  - more (array): x, where each item should be integer\n"
        "\n"
        "Use the following format if using a tool:\n"
        "```\n"
        "Action: tool name (one of [add])\n"
        "Action Input: the input to the tool, in a JSON format representing the kwargs "
        '(e.g. ```{"input": "hello world", "num_beams": 5}```)\n'
        "```\n",
        'Action: add\nAction Input: {"a": 1, "how": "schön"}\nAction: b.c-d\nAction Input: {}',
        "2\n</tool_response>\n<tool_response>\n3\n",
    ),
    (
        LLAMA3,
        "You have access to the following functions. To call a function, please respond "
        'with JSON for a function call. Respond in the format {"name": function name, '
        '"parameters": dictionary of argument name and its value}. Do not use variables.\n\n'
        f"{json.dumps(FUNCTION, indent=4)}\n\n",
        '[{"name": "add", "parameters": {"a": 1, "how": "schön"}}, '
        '{"name": "b.c-d", "parameters": {}}]',
        "2\n</tool_response>\n<tool_response>\n3\n",
    ),
    (
        MISTRAL,
        f"[AVAILABLE_TOOLS] {json.dumps([FUNCTION])}[/AVAILABLE_TOOLS]",
        '[TOOL_CALLS][{"name": "add", "arguments": {"a": 1, "how": "schön"}}, '
        '{"name": "b.c-d", "arguments": {}}]',
        '[TOOL_RESULTS]{"content": 2\n</tool_response>\n<tool_response>\n3\n}[/TOOL_RESULTS]',
    ),
]


@pytest.mark.parametrize(("form", "tools", "calls", "results"), WRITTEN)
def test_tools_calls_and_results_are_written_as_the_templates_of_the_models_have_them(
    form, tools, calls, results
):
    """Hermes is compared with Qwen's template itself (`test_other_readers`)."""
    assert form.flatten(CHAT) == (
        *(system(f"Be brief.{tools}"), CHAT[1], said(f"I add. {calls}"), user(results), CHAT[-1]),
    )
    if form is LLAMA3:
        assert form.flatten((said("", TWO),)) == (said('{"name": "b.c-d", "parameters": {}}'),)


def test_a_conversation_without_tools_and_names_stays_as_it_is_and_native_leaves_both():
    for plain in ((), (system(), user("a"), said("b"), user("c"), user("d"))):
        assert all(known.flatten(plain) is plain for known in TOOL_FORMATS.values())
    assert NATIVE.flatten(CHAT) is CHAT
    assert NATIVE.parse(as_reply(CHAT[2])) == CHAT[2]


@pytest.mark.parametrize("name", TEXT_FORMATS)
def test_tools_without_a_system_message_get_one_and_calls_without_tools_declare_none(name):
    first = user("1+1?").model_copy(update={"tools": (ADD,)})
    flat = TOOL_FORMATS[name].flatten((first, said("2")))
    with_empty = TOOL_FORMATS[name].flatten((system("", tools=(ADD,)), user("1+1?"), said("2")))
    assert flat == with_empty
    assert [m.role for m in flat] == ["system", "user", "assistant"]
    flat = TOOL_FORMATS[name].flatten((system(), *CHAT[1:]))
    assert flat == (system(), *TOOL_FORMATS[name].flatten(CHAT)[1:])


def test_messages_of_several_speakers_between_two_replies_are_one_turn_with_names():
    scene = (user("Hi.", "Ann"), user("Hello.", "Bo"), said("Yes?"), result("r"), user("So?"))
    for name in TEXT_FORMATS:
        first, _, second = TOOL_FORMATS[name].flatten(scene)
        assert first == user("Ann: Hi.\nBo: Hello.")
        assert second.content.endswith("\nSo?")
    assert NATIVE.flatten(scene)[:2] == (user("Ann: Hi."), user("Bo: Hello."))


# --- reading ---

DECLARED = (user("?").model_copy(update={"tools": (ADD,)}),)

NASTY = (
    *("é 世界 🎉", '"', "'", "\\", "\n", "\r\t\x00\u2028", "```", "{", "}]", "", " x "),
    *("</tool_call>", "<tool_call>", '<tool_call>\n{"name": "x", "arguments": {}}\n</tool_call>'),
    *("Action: a\nAction Input: {}", "Action Input: {}", "Action:", "</tool_response>", "NaN"),
    *("[TOOL_CALLS]", '[TOOL_CALLS][{"name": "x", "arguments": {}}]', '"tool_calls"', '"name"'),
    *('{"name": "f", "parameters": {}}', '{"tool_calls": [{"name": "f", "arguments": {}}]}'),
    *("Action: f Action Input: {}", "##f a 1", "\n##f\n", "[TOOL_CALLS]f{}", "f[ARGS]{}"),
    *("<think>", "</think>", "a <think>\nb\n</think> c"),
)
NAMES = ("f", "get weather", "größe.b-c_1", '"q"', "{x}", "a/b:c")


def any_value(rng: random.Random, depth: int = 3) -> Any:
    plain = [*NASTY, None, True, -1.5e-9, 2**63 - 1, -(2**70), 0]
    kind = rng.randrange(4) if depth else 0
    if kind == 1:
        return [any_value(rng, depth - 1) for _ in range(rng.randrange(4))]
    if kind == 2:
        return any_arguments(rng, depth - 1)
    return rng.choice(plain) if kind == 0 else "".join(rng.choices(NASTY, k=3))


def any_arguments(rng: random.Random, depth: int = 3) -> dict[str, Any]:
    return {rng.choice(NASTY): any_value(rng, depth) for _ in range(rng.randrange(4))}


def any_message(rng: random.Random) -> Message:
    calls = [
        ToolCall(name=rng.choice(NAMES), arguments=any_arguments(rng))
        for _ in range(rng.randint(1, 3))
    ]
    beside = ("", "I look.", "A {b} ", "\n", "<think>\nhm\n</think>\n\n", "<tool_call>", "Action: ")
    return said(rng.choice(beside), *calls)


@pytest.mark.parametrize("name", TEXT_FORMATS)
def test_any_calls_are_read_as_they_were_written(name):
    rng = random.Random(7)
    form = TOOL_FORMATS[name]
    declared = (user("q").model_copy(update={"tools": tuple(Tool(name=n) for n in NAMES)}),)
    for _ in range(300):
        message = any_message(rng)
        (flat,) = form.flatten((message,))
        assert not flat.tool_calls
        assert form.parse(flat.content) == message
        if (name, message.content) != ("llama3", "<tool_call>"):  # together a call without its end
            assert read_reply(declared, flat.content).message == message
        assert read_reply(declared, as_reply(message)).message == message
    for undeclared in ((), (system(), user("q"))):
        assert read_reply(undeclared, flat.content).message == said(flat.content)


@pytest.mark.parametrize(
    ("text", "content", "calls"),
    [
        ('A <tool_call>{"name":"f","arguments":{}}</tool_call>\n B', "A \n B", 1),
        ('<tool_call> {"arguments": {}, "name": "f", "id": 1}\n\n</tool_call>  \n', "", 1),
        ('<tool_call>\n{"name": "f", "arguments": {"x": "a\nb"}}\n</tool_call>', "", 1),
        ('<tool_call>{"name": "f"</tool_call><tool_call>{"name": "f", "arguments": {}}</tool_call>',
         '<tool_call>{"name": "f"</tool_call>', 1),
        ("Action: f\nAction Input: {}\nObservation: 3", "\nObservation: 3", 1),
        ("Thought: go\nAction: f Action Input: ```json\n{}\n```\n", "Thought: go\n", 1),
        ("\n<think>Action: f\nAction Input: {}</think>Action: f\nAction Input: {}",
         "\n<think>Action: f\nAction Input: {}</think>", 1),
        ('Action: f\nAction Input: {"a": 1}\nAction: g\nAction Input: {}', "", 2),
    ],
)  # fmt: skip
def test_text_around_calls_does_not_hide_them(text, content, calls):
    message = read_reply((system(tools=(ADD,)),), text).message
    assert message.content == content
    assert len(message.tool_calls) == calls


# --- names of formats ---


def test_an_unknown_format_is_refused_with_a_hint_and_native_is_not_for_training():
    assert tool_format("hermes") is HERMES
    assert training_format("llama_factory") is LLAMA_FACTORY
    with pytest.raises(ConfigurationError, match="hermes"):
        tool_format("hermse")
    with pytest.raises(ConfigurationError, match="hermes"):
        training_format("native")


@pytest.mark.parametrize("format", ["hermes", "mistral"])
def test_marked_calls_are_read_one_by_one_and_in_lists_with_or_without_arguments(format):
    """Lists between tags are how SmolLM2 writes calls."""
    rng = random.Random(0)
    marks = {"hermes": ("<tool_call>", "</tool_call>"), "mistral": ("[TOOL_CALLS]", "")}
    before, behind = marks[format]
    spare = ({"name": "now"}, {"name": "now", "arguments": "null"},
             {"name": "now", "arguments": None}, {"name": "now", "arguments": ""},
             {"name": "now", "arguments": {}}, {"name": "now", "arguments": "{}"})  # fmt: skip
    add = ({"name": "add", "arguments": {"a": 2}}, {"name": "add", "parameters": {"a": 2}},
           {"name": "add", "arguments": '{"a": 2}', "id": "c1"},
           {"type": "function", "function": {"name": "add", "arguments": {"a": 2}}})  # fmt: skip
    for _ in range(300):
        names = rng.choices(["now", "add"], k=rng.randint(1, 4))
        calls = [rng.choice(spare if name == "now" else add) for name in names]
        value = calls if len(calls) > 1 or rng.random() < 0.5 else calls[0]
        text = json.dumps(value, indent=rng.choice([None, 2]))
        text = f"{before}{rng.choice(['', chr(10)])}{text}{behind}"
        message = read_reply(DECLARED, f"Go.\n{text}").message
        expected = [(name, {"a": 2} if name == "add" else {}) for name in names]
        assert [(call.name, call.arguments) for call in message.tool_calls] == expected, text
    broken = f'{before}[{json.dumps(add[0])}, {{"arguments": {{}}}}]{behind}'
    assert not read_reply(DECLARED, broken).message.tool_calls
