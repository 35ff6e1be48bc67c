import pytest

from dataenvgym.interfaces import Failure
from dataenvgym.records import Message, Tool, ToolCall
from dataenvgym.records.tool_formats import HERMES, LLAMA_FACTORY
from dataenvgym.students.predictors.generation import encode_prompts
from dataenvgym.students.trainers.student import load_tokenizer

HELLO = (Message(role="user", content="hello"),)


@pytest.fixture
def tokenizer(tiny_student):
    return load_tokenizer(str(tiny_student))


def test_prompts_are_the_tokens_that_trainers_see(tokenizer):
    from dataenvgym.students.trainers.chat_format import ChatFormat

    chat = (Message(role="system", content="Be brief."), *HELLO)
    (turn,) = ChatFormat.parse(tokenizer).turns((*chat, Message(role="assistant", content="hi")))
    pieces = tokenizer(list(turn.prompt), add_special_tokens=False)["input_ids"]
    assert encode_prompts(tokenizer, [chat], LLAMA_FACTORY, context=None) == [
        [t for p in pieces for t in p]
    ]


@pytest.mark.parametrize("form", [HERMES, LLAMA_FACTORY], ids=["hermes", "llama_factory"])
def test_a_prompt_has_tools_calls_and_results_as_text(tokenizer, form):
    call = Message(role="assistant", content="", tool_calls=(ToolCall(name="add"),))
    system = Message(role="system", content="s", tools=(Tool(name="add"),))
    chat = (system, *HELLO, call, Message(role="tool", content="2"))
    (prompt,) = encode_prompts(tokenizer, [chat], form, context=None)
    turns = "".join(f"<|{m.role}|>{m.content}<|end|>" for m in form.flatten(chat))
    assert tokenizer.decode(prompt) == f"{turns}<|assistant|>"


def test_a_prompt_that_leaves_no_room_fails_alone_and_names_the_lengths(tokenizer):
    long = (Message(role="user", content="x" * 17),)  # and 3 special tokens
    short = (Message(role="user", content="x" * 16),)
    first, second = encode_prompts(tokenizer, [long, short], LLAMA_FACTORY, context=20)
    assert isinstance(first, Failure)
    assert "20 tokens" in first.reason
    assert "context of 20" in first.reason
    assert isinstance(second, list)


def test_a_conversation_that_the_template_cannot_render_fails_alone(tokenizer):
    tokenizer.chat_template = (
        "{% for m in messages %}{% if m['role'] == 'assistant' %}{{ raise_exception('no turns') }}"
        "{% endif %}{{ m['content'] }}{% endfor %}"
    )
    several = (*HELLO, Message(role="assistant", content="s"), *HELLO)
    empty = (Message(role="user", content=""),)
    first, second, third, fourth = encode_prompts(
        tokenizer, [several, HELLO, empty, ()], LLAMA_FACTORY, context=None
    )
    assert isinstance(fourth, Failure)
    assert isinstance(first, Failure)
    assert "no turns" in first.reason
    assert isinstance(second, list)
    assert isinstance(third, Failure)
