import pytest

from dataenvgym.interfaces import Failure
from dataenvgym.records import Message
from dataenvgym.records.tool_formats import LLAMA_FACTORY
from dataenvgym.students.predictors.generation import encode_prompts
from dataenvgym.students.trainers.student import load_tokenizer

HELLO = (Message(role="user", content="hello"),)


@pytest.fixture
def tokenizer(tiny_student):
    return load_tokenizer(str(tiny_student))


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
