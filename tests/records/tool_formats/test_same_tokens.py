"""A student is asked in the tokens that it was trained on."""

from typing import Any

import pytest

from dataenvgym.records import ChatDatum, Message, PreferenceDatum, ScoredDatum, Tool, ToolCall
from dataenvgym.records.tool_formats import TOOL_FORMATS
from dataenvgym.students.llama_factory import read_dataset, write_dataset
from dataenvgym.students.predictors.generation import encode_prompts
from dataenvgym.students.trainers.examples import (
    IGNORED,
    preference_examples,
    scored_examples,
    supervised_examples,
)
from dataenvgym.students.trainers.student import load_tokenizer

TURN = "<|{{ m['role'] }}|>{{ m['content'] }}<|end|>"
TURNS = f"{{% for m in messages %}}{TURN}{{% endfor %}}"
SPEAK = "{% if add_generation_prompt %}<|assistant|>{% endif %}"
TEMPLATES = {
    "own": None,
    "default system": "{% if messages[0]['role'] != 'system' %}<|system|>Be kind.<|end|>{% endif %}"
    f"{TURNS}{SPEAK}",
}
ADD = Tool(name="add", description="Adds.", parameters={"properties": {"a": {"type": "integer"}}})
CALL = ToolCall(name="add", arguments={"a": 1, "é": ["</tool_call>", {"x": None}]})
MESSAGES = (
    Message(role="user", content="1+1? "),
    Message(role="assistant", content="I add. ", tool_calls=(CALL,)),
    Message(role="tool", content=" 2\n"),
    Message(role="assistant", content="", tool_calls=(CALL, CALL)),
    Message(role="tool", content="2"),
    Message(role="tool", content="3"),
    Message(role="user", content="Well?", name="Ann"),
    Message(role="assistant", content="2, 3."),
)
RECORDS = {
    "tools": ChatDatum(messages=MESSAGES, tools=(ADD,)),
    "tools and system": ChatDatum(messages=MESSAGES, system="Help.", tools=(ADD,)),
    "no tools": ChatDatum(messages=(MESSAGES[0], MESSAGES[-1]), system="Help."),
}


@pytest.fixture(params=TEMPLATES)
def tokenizer(request, tiny_student):
    tokenizer = load_tokenizer(str(tiny_student))
    if (template := TEMPLATES[request.param]) is not None:
        tokenizer.chat_template = template
    return tokenizer


@pytest.mark.parametrize("name", [name for name in TOOL_FORMATS if name != "native"])
@pytest.mark.parametrize("case", RECORDS)
def test_every_prompt_equals_the_trained_prompt(tokenizer, tmp_path, case, name):
    record, form = RECORDS[case], TOOL_FORMATS[name]
    written = write_dataset(tmp_path, [record], tool_format=form)
    records: Any = list(read_dataset(tmp_path, written.name))
    ((tokens, labels),) = [
        (e.tokens, e.labels) for e in supervised_examples(records, tokenizer, cutoff=100_000)
    ]
    conversation = record.conversation
    said = [i for i, message in enumerate(conversation) if message.role == "assistant"]
    prompts = encode_prompts(tokenizer, [conversation[:i] for i in said], form, context=None)
    for i, prompt in zip(said, prompts, strict=True):
        assert isinstance(prompt, list)
        assert tokens[: len(prompt)] == prompt
        (reply,) = form.flatten((conversation[i],))
        learned = tokenizer(f"{reply.content}<|end|>", add_special_tokens=False)["input_ids"]
        at = slice(len(prompt), len(prompt) + len(learned))
        assert tokens[at] == labels[at] == learned
        assert form.parse(reply.content) == conversation[i]
    n_learned = len(labels) - labels.count(IGNORED)
    assert n_learned == sum(
        len(tokenizer(m.content, add_special_tokens=False)["input_ids"]) + 1
        for m in form.flatten(conversation)
        if m.role == "assistant"
    )


@pytest.mark.parametrize("name", [name for name in TOOL_FORMATS if name != "native"])
@pytest.mark.parametrize("n_turns", [1, 3, 7])
@pytest.mark.parametrize("system", ["", "Help."])
def test_both_answers_of_a_preference_follow_on_the_prompt_that_the_student_is_given(
    tokenizer, tmp_path, name, n_turns, system
):
    right, wrong = MESSAGES[1], Message(role="assistant", content="", tool_calls=(CALL, CALL))
    pair = PreferenceDatum(
        messages=MESSAGES[:n_turns], tools=(ADD,), system=system, chosen=(right,), rejected=(wrong,)
    )
    form = TOOL_FORMATS[name]
    written = write_dataset(tmp_path, [pair], tool_format=form)
    records: Any = list(read_dataset(tmp_path, written.name))
    (examples,) = preference_examples(records, tokenizer, cutoff=100_000)
    (prompt,) = encode_prompts(tokenizer, [pair.prompt], form, context=None)
    assert isinstance(prompt, list)
    for example, answer in ((examples.chosen, right), (examples.rejected, wrong)):
        (reply,) = form.flatten((answer,))
        learned = tokenizer(f"{reply.content}<|end|>", add_special_tokens=False)["input_ids"]
        assert example.tokens[: len(prompt) + len(learned)] == prompt + learned
        assert example.labels[: len(prompt)] == [IGNORED] * len(prompt)
        assert example.labels[len(prompt) : len(prompt) + len(learned)] == learned


def test_a_preference_may_answer_an_empty_result_of_a_tool(tmp_path):
    turns = (*MESSAGES[:2], Message(role="tool", content=""))
    pair = PreferenceDatum(messages=turns, tools=(ADD,), chosen="Done.", rejected="What?")
    written = write_dataset(tmp_path, [pair])
    (read,) = read_dataset(tmp_path, written.name)
    assert isinstance(read, PreferenceDatum)
    assert read.prompt == TOOL_FORMATS["llama_factory"].flatten(pair.prompt)


@pytest.mark.parametrize("name", [name for name in TOOL_FORMATS if name != "native"])
@pytest.mark.parametrize("case", RECORDS)
def test_a_scored_conversation_has_the_tokens_of_the_same_chat(tokenizer, tmp_path, case, name):
    chat, form = RECORDS[case], TOOL_FORMATS[name]
    turns = [m for m in chat.messages if m.role == "assistant"]
    values = chat.model_dump(exclude={"kind"}) | {"weights": [0.5] * len(turns)}
    read: Any = []
    for i, record in enumerate((chat, ScoredDatum(**values))):
        written = write_dataset(tmp_path / str(i), [record], tool_format=form)
        read += read_dataset(tmp_path / str(i), written.name)
    assert [record.kind for record in read] == ["chat", "scored"]
    (expected,) = supervised_examples(read[:1], tokenizer, cutoff=100_000)
    (scored,) = scored_examples(read[1:], tokenizer, cutoff=100_000)
    assert scored.example == expected
    assert sum(scored.lengths) == len(expected.labels) - expected.labels.count(IGNORED)
