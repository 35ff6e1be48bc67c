"""What of a reply is said, and what is only thought."""

import random

import pytest

from dataenvgym.records import Message, Tool, ToolCall
from dataenvgym.records.tool_formats import (
    TOOL_FORMATS,
    as_reply,
    malformed_call,
    read_reply,
    said_in,
)
from dataenvgym.records.tool_formats.thoughts import blanked

TOOLS = (Message(role="user", content="?", tools=(Tool(name="go"), Tool(name="stay"))),)
STAY, GO = ToolCall(name="stay", arguments={"a": [1]}), ToolCall(name="go", arguments={"b": "x y"})
SAID = {
    "<think>a</think> b": " b",
    "<think>\na\n</think>\n\nb\n": "b\n",
    "<reasoning>a</reasoning>b": "b",
    "a</think>b": "b",  # the prompt ended with <think>
    "a\n</think>\n\nb": "b",
    "a </think> b": " b",
    "<think>a": "",
    "<think>a</thinking>b": "",
    "b <think>a": "b ",
    "<think>a</think>b<think>a</think>c": "b\nc",
    "<think>a</think> a </think>b": "b",
    "<thi<think>a</think>nk>b": "<thi\nnk>b",
    'a 5" pipe, or 6" </think>b': "b",
    "So it is 'a'</think>b": "b",
    '"<think>It may be 5.</think> No."': '"\n No."',
    "```\na\n```</think>```\nb\n```": "```\nb\n```",
    "</think>\n    return 1\n": "    return 1\n",
    # In a block of code tags are quoted, unless it is a thought's.
    "<think>\n```\na\n</think>\n```\nb  # <think>\n```": "```\nb  # <think>\n```",
    "a</think>```\nb  # <think>\n```": "```\nb  # <think>\n```",
    "```\na  # <think>\n```\n</think>b": "b",
    "```\na\n</think>\n```\nb\n```": "```\nb\n```",
    "```py\na </think>\n```py\nb\n```": "```py\nb\n```",
    "```\n<think>\na\n</think>\nb\n```": "```\n\n\nb\n```",
    "```\nb\n```\n<think>```\na": "```\nb\n```\n",
    "```py\nb  # <think>a": "```py\nb  # ",  # it does not close
    **{
        text: text
        for text in (
            *("b", "", "I <thought about> it", "Write `<think>` and `</think>` around it."),
            '{"b": "c </think> \\" <think>"}',
            "re.sub(r'<think>.*?</think>', '', text)",
            're.sub("<think>.*?</think>", "", text)',
            "```python\n# <think> begins a thought\nx = 1\n```",
            "So:\n~~~\nx = 1  # until </think>\n~~~\nDone.",
            "```\nx = 'ab<think>c'\n```\nOr:\n```\nx = 2  # <think>a</think>\n```",
            'Yes:\n  ```py\n  """Tags.\n\n  <think>\n  a\n  </think> b -> b\n  """\n  ```\n',
        )
    },
}


@pytest.mark.parametrize("text", SAID)
def test_a_thought_is_not_said(text):
    assert said_in(text) == SAID[text]


def test_any_mixture_of_thoughts_and_words_says_the_words():
    rng = random.Random(3)
    space = ("", " ", "\n", "\n\n", "\n```\n1\n```\n", " it's ", ' \\" ', " 5' ")
    for _ in range(3000):
        n_open, words, text = rng.randrange(4), [], ""
        if rng.random() < 0.3:
            text = f"drop {rng.choice(space)}</think>"
        for i in range(n_open):
            tag = rng.choice(("think", "thought"))
            words.append(f"keep{i}")
            text += rng.choice(space) + words[-1] + rng.choice((" ", "\n"))
            text += f'<{tag}>{rng.choice(space)}drop "{rng.choice(space)}</{tag}>'
        words.append("end")
        text += f"{rng.choice(space)}end{rng.choice(space)}"
        if rng.random() < 0.3:
            text += "\n<think>drop"
        said = said_in(text)
        assert [word for word in said.split() if word in words] == words, text
        assert "drop" not in said
        assert said_in(said) == said
        assert len(blanked(text)[0]) == len(text)


def test_any_mixture_of_tags_and_quotes_is_read_once():
    rng = random.Random(5)
    pieces = ("<think>", "</think>", "</thought>", "<thought>", '"', "'", "`", "\\", "\n", " ", "a")
    pieces += ("\n```\n", "```", "\n```python\n")
    for _ in range(30_000):
        text = "".join(rng.choices(pieces, k=rng.randrange(12)))
        said = said_in(text)
        assert said_in(said) == said, text
        assert len(blanked(text)[0]) == len(text)


@pytest.mark.parametrize("name", [name for name in TOOL_FORMATS if name != "native"])
def test_a_draft_of_a_call_in_a_thought_is_not_run(name):
    def written(*calls: ToolCall) -> str:
        message = Message(role="assistant", content="", tool_calls=calls)
        return TOOL_FORMATS[name].flatten((message,))[0].content

    for before, behind in (
        (f"<think>\n{written(STAY)}\n</think>\n\n", ""),
        (f"<think>{written(STAY)}</think>", ""),
        (f"{written(STAY)}\n</think>\n\n", ""),
        (f"Or {written(STAY)}</think>\n", ""),
        ("", f"\n<think>\n{written(STAY)}\n</think>"),
        ("", f"\n<think>\n{written(STAY)}"),
    ):
        text = before + written(GO) + behind
        message = read_reply(TOOLS, text).message
        assert message.tool_calls == (GO,), text
        assert said_in(message.content).strip() == ""
        assert read_reply(TOOLS, as_reply(message)).message == message
        thought = read_reply(TOOLS, before or f"<think>\n{written(STAY)}").message
        assert (thought.tool_calls, malformed_call(thought.content)) == ((), None)
