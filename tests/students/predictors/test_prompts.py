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
