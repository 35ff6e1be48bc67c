"""Our formats beside vLLM's parsers and the models' own chat templates, on generated cases.

Both are described here by the facts of their sources: the tool parsers `hermes` and `mistral` of
vLLM 0.32 (`tests/students/external/test_tools_on_vllm.py` compares the descriptions with vLLM
itself), and the templates of Qwen3 and Llama 3.1.
"""

import json
import random
from typing import Any

import pytest

from dataenvgym.records import Message, Tool, ToolCall
from dataenvgym.records.tool_formats import HERMES, malformed_call, read_reply

TOOLS = (Tool(name="f"), Tool(name="g.h-i_1", description="ö", parameters={"type": "object"}))
DECLARED = (Message(role="user", content="?", tools=TOOLS),)
NAMES = ("f", "g.h-i_1", "unknown")
VALUES: tuple[Any, ...] = (
    *("", "x", "ö🎉", '"', "\n", "{}", "[ARGS]", "<tool_call>", "Action: f\nAction Input: {}"),
    *(0, -1.5, True, None, [], [1, ["</think>"]], {"a": {"b": "`<think>`"}}, {"name": "f"}),
)
WORDS = ("", "Let me see.", "I call it.\n", "\n", "é: ", "<think>\nHm.\n</think>\n\n")


def any_arguments(rng: random.Random) -> dict[str, Any]:
    return {rng.choice("abc"): rng.choice(VALUES) for _ in range(rng.randrange(3))}


def hermes_in_vllm(text: str) -> list[tuple[str, Any]] | None:
    """Each call lasts from its tag to the closing one or the end; one fault, and there are none."""
    found, at = [], 0
    while (start := text.find("<tool_call>", at)) >= 0:
        end = text.find("</tool_call>", start)
        at = len(text) if end < 0 else end + len("</tool_call>")
        try:
            value = json.loads(text[start + len("<tool_call>") : end if end >= 0 else None])
            found.append((value["name"], value["arguments"]))
        except (ValueError, KeyError, TypeError):
            return None
    return found or None


def mistral_in_vllm(text: str, *, is_new: bool) -> list[tuple[str, Any]] | None:
    """Newer tokenizers: a name, [ARGS], then all text is its arguments. Older ones: one list."""
    parts = text.split("[TOOL_CALLS]")[1:]
    try:
        if is_new:
            named = [part.partition("{") for part in parts if "{" in part]
            return [(n.replace("[ARGS]", ""), json.loads(f"{{{rest}")) for n, _, rest in named]
        (listed,) = parts
        value, _ = json.JSONDecoder().raw_decode(listed.strip())
        return [(call["name"], call.get("arguments", {})) for call in value]
    except (ValueError, KeyError, TypeError):
        return None


def calls_of(text: str) -> list[tuple[str, Any]]:
    return [(call.name, call.arguments) for call in read_reply(DECLARED, text).message.tool_calls]


def any_hermes(rng: random.Random) -> str:
    text, n = rng.choice(WORDS), rng.randint(1, 3)
    for i in range(n):
        value: Any = {"name": rng.choice(NAMES), "arguments": any_arguments(rng)}
        if rng.random() < 0.2:
            value |= {"id": 3}
        body = json.dumps(value, ensure_ascii=False, indent=rng.choice((None, 2)))
        body = rng.choice((body, body, body, body[:-1], f"{body} Well."))
        text += f"<tool_call>{rng.choice(('', chr(10)))}{body}{rng.choice(('', chr(10), ' '))}"
        text += "</tool_call>" if i < n - 1 or rng.random() < 0.5 else ""
        text += rng.choice(("", "\n")) if i < n - 1 else ""
    return text


def any_mistral(rng: random.Random, *, is_new: bool) -> str:
    calls = [(rng.choice(NAMES), any_arguments(rng)) for _ in range(rng.randint(1, 3))]
    if not is_new:
        listed = [{"name": n, "arguments": a, "id": "abc123456"} for n, a in calls]
        text = f"[TOOL_CALLS]{rng.choice(('', ' '))}{json.dumps(listed)}"
        return rng.choice(WORDS) + text + rng.choice(("", " Well."))
    args = rng.choice(("", "[ARGS]"))
    named = (f"[TOOL_CALLS]{n}{args}{json.dumps(a)}{rng.choice(('', chr(10)))}" for n, a in calls)
    return rng.choice(WORDS) + "".join(named)


def test_calls_between_tags_are_those_that_vllm_reads():
    rng, n_read = random.Random(1), 0
    for _ in range(4000):
        text = any_hermes(rng)
        if (expected := hermes_in_vllm(text)) is not None:
            n_read += 1
            assert calls_of(text) == expected, text
            content = read_reply(DECLARED, text).message.content
            assert content == text[: text.index("<tool_call>")].removesuffix("\n")
            assert malformed_call(content) is None
        else:  # vLLM reads nothing; our calls that can be read run, and the fault is told
            assert malformed_call(read_reply(DECLARED, text).message.content), text
    assert 1000 < n_read < 3500


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ('<tool_call>{"name": "f", "arguments": {}}\n<tool_call>{"name": "f", "arguments": {}}',
         [("f", {})] * 2),
        ('<tool_call>{"name": "f", "parameters": {"a": 1}}</tool_call>', [("f", {"a": 1})]),
        ('<tool_call>{"name": "f", "arguments": {"a": "</tool_call>"}}</tool_call>',
         [("f", {"a": "</tool_call>"})]),
    ],
)  # fmt: skip
def test_calls_between_tags_that_only_we_read(text, calls):
    assert hermes_in_vllm(text) is None
    assert calls_of(text) == calls


def test_arguments_between_tags_may_be_json_text():
    text = json.dumps({"name": "f", "arguments": json.dumps({"a": "ö"})})
    for written in (f"<tool_call>{text}</tool_call>", f"[TOOL_CALLS][{text}]"):
        assert calls_of(written) == [("f", {"a": "ö"})]


@pytest.mark.parametrize("is_new", [False, True])
def test_calls_of_mistral_are_those_that_vllm_reads(is_new):
    rng = random.Random(2)
    for _ in range(2000):
        text = any_mistral(rng, is_new=is_new)
        assert calls_of(text) == mistral_in_vllm(text, is_new=is_new), text
        assert read_reply(DECLARED, text).message.content.startswith(
            text.partition("[TOOL_CALLS]")[0]
        )


@pytest.mark.parametrize("joined", ["[ARGS]", "[CALL_ID]abc123456[ARGS]", "[ARGS]\n"])
def test_a_call_by_name_is_read_without_the_first_mark(joined):
    for text in (f'f{joined}{{"a": 1}}', f'Well. f{joined}{{"a": 1}}g.h-i_1[ARGS]{{}}\n'):
        assert calls_of(text)[0] == ("f", {"a": 1})
        assert calls_of(f"[TOOL_CALLS]{text.removeprefix('Well. ')}") == calls_of(text)
    broken = f'f{joined}{{"a": 1}} Well.'
    assert calls_of(broken) == []
    assert malformed_call(broken) == "text follows the arguments of f, which must come last"


def qwen3(conversation: tuple[Message, ...]) -> str:
    """Qwen3's template, for conversations with tools and without thoughts."""
    first, *others = conversation
    text = "<|im_start|>system\n" + (f"{first.content}\n\n" if first.role == "system" else "")
    text += HERMES.tools(TOOLS).lstrip("\n") + "<|im_end|>\n"
    others = others if first.role == "system" else [first, *others]
    for i, message in enumerate(others):
        is_result = message.role == "tool"
        if not is_result or others[i - 1].role != "tool":
            text += f"<|im_start|>{'user' if is_result else message.role}"
        if is_result:
            text += f"\n<tool_response>\n{message.content}\n</tool_response>"
        else:
            text += f"\n{message.content}"
        for number, call in enumerate(message.tool_calls):
            text += "\n" if number or message.content else ""
            written = json.dumps(call.arguments, ensure_ascii=False)
            text += f'<tool_call>\n{{"name": "{call.name}", "arguments": {written}}}\n</tool_call>'
        if not is_result or i + 1 == len(others) or others[i + 1].role != "tool":
            text += "<|im_end|>\n"
    return text


def test_hermes_writes_the_text_of_qwen3s_template():
    rng = random.Random(3)
    for _ in range(500):
        calls = [ToolCall(name="f", arguments=any_arguments(rng)) for _ in range(rng.randint(1, 3))]
        words = rng.choice(("", "Let me see.", "I call it.\n", "é: "))
        conversation = [
            Message(role="user", content="Well?"),
            Message(role="assistant", content=words, tool_calls=tuple(calls)),
            *(Message(role="tool", content=rng.choice(("3", "", "a\n"))) for _ in calls),
            Message(role="assistant", content="Done."),
        ]
        if rng.random() < 0.5:
            conversation = [Message(role="system", content="Be brief."), *conversation]
        declared = conversation[0].model_copy(update={"tools": TOOLS})
        flat = HERMES.flatten((declared, *conversation[1:]))
        chat = "".join(f"<|im_start|>{m.role}\n{m.content}<|im_end|>\n" for m in flat)
        assert chat == qwen3(tuple(conversation))
        emitted = next(m.content for m in flat if "<tool_call>" in m.content and m.role != "system")
        assert read_reply(DECLARED, emitted).message == conversation[-2 - len(calls)]
