from typing import Any

import pytest

from dataenvgym.errors import ConfigurationError
from dataenvgym.records import Message, Tool, ToolCall
from dataenvgym.records.tool_formats import LLAMA_FACTORY
from dataenvgym.students.trainers.chat_format import ChatFormat
from dataenvgym.students.trainers.llama_factory.slots import Slots

CHATML = (
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
WITH_DEFAULT_SYSTEM = (
    "{% if messages[0]['role'] != 'system' %}<|im_start|>system\nBe kind.<|im_end|>\n{% endif %}"
    + CHATML
)
WITHOUT_SYSTEM = (
    "{% for m in messages %}"
    "{% if m['role'] == 'system' %}{{ raise_exception('no system role') }}{% endif %}"
    "<{{ m['role'] }}>{{ m['content'] }}</s>{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)
THINKING = (
    "{% for m in messages %}{{ '<|' + m['role'] + '|>' }}"
    "{% if m['role'] == 'assistant' %}{{ '<think>\n\n</think>\n\n' }}{% endif %}"
    "{{ m['content'] + '<|end|>' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
)
CHAT = (
    Message(role="user", content="one"),
    Message(role="assistant", content="1"),
    Message(role="user", content="it's {{content}}"),
    Message(role="assistant", content="2 'two'"),
)
SYSTEM = Message(role="system", content="Be brief.")


def with_template(tokenizer: Any, template: str | None) -> Any:
    tokenizer.chat_template = template
    return tokenizer


def text(form: ChatFormat, messages: tuple[Message, ...]) -> str:
    return "".join("".join((*turn.prompt, *turn.response)) for turn in form.turns(messages))


@pytest.mark.parametrize("template", [None, CHATML, WITH_DEFAULT_SYSTEM], ids=["own", "ml", "sys"])
@pytest.mark.parametrize("system", [(), (SYSTEM,)], ids=["no_system", "system"])
def test_the_joined_turns_equal_the_rendered_template(tokenizer, template, system):
    if template is not None:
        with_template(tokenizer, template)
    chat = [{"role": m.role, "content": m.content} for m in (*system, *CHAT)]
    rendered = tokenizer.apply_chat_template(chat, tokenize=False)
    assert text(ChatFormat.parse(tokenizer), (*system, *CHAT)) == rendered


def test_a_reply_has_the_students_text_and_its_end_token(tokenizer):
    first, second = ChatFormat.parse(with_template(tokenizer, CHATML)).turns(CHAT)
    assert first.response == ("1<|im_end|>\n",)
    assert second.prompt == (
        "<|im_start|>user\nit's {{content}}<|im_end|>\n<|im_start|>assistant\n",
    )


def test_the_templates_own_system_message_replaces_a_missing_one(tokenizer):
    form = ChatFormat.parse(with_template(tokenizer, WITH_DEFAULT_SYSTEM))
    assert "Be kind." in text(form, CHAT)
    assert "Be kind." not in text(form, (SYSTEM, *CHAT))


def test_without_a_system_role_its_message_is_put_before_the_first_user_message(tokenizer):
    form = ChatFormat.parse(with_template(tokenizer, WITHOUT_SYSTEM))
    assert text(form, CHAT[:2]) == "<user>one</s><assistant>1</s>"
    assert text(form, (SYSTEM, *CHAT[:2])) == "<user>Be brief.\n\none</s><assistant>1</s>"


def test_a_thinking_student_learns_an_empty_thought_before_a_reply_without_one(tokenizer):
    form = ChatFormat.parse(with_template(tokenizer, THINKING))
    thoughtful = Message(role="assistant", content="<think>\nhm\n</think>\n\n1")
    chat = (CHAT[0], thoughtful, *CHAT[2:])
    turns = form.turns(chat)
    assert turns[0].response == ("<think>\nhm\n</think>\n\n1<|end|>",)
    assert turns[1].response == ("<think>\n\n</think>\n\n", "2 'two'<|end|>")
    assert form.last_turn(chat).response == turns[1].response
    *_, of_llama_factory = Slots.parse(tokenizer).prompts(chat, is_last=True)
    assert "hm" not in of_llama_factory


def test_the_last_turn_has_all_earlier_ones_in_its_prompt(tokenizer):
    form = ChatFormat.parse(tokenizer)
    turn, turns = form.last_turn((SYSTEM, *CHAT)), form.turns((SYSTEM, *CHAT))
    assert "".join(turn.prompt) == "".join((*turns[0].prompt, *turns[0].response, *turns[1].prompt))
    assert turn.response == turns[1].response


@pytest.mark.parametrize("template", [None, WITH_DEFAULT_SYSTEM], ids=["own", "sys"])
def test_tools_and_calls_are_written_in_llama_factorys_default_format(tokenizer, template):
    """They are in datasets of other people only; an evaluation has them in the same place."""
    call = Message(role="assistant", content="I add. ", tool_calls=(ToolCall(name="add"),))
    chat = (CHAT[0], call, Message(role="tool", content="2"), CHAT[1])
    tool = Tool(name="add")
    listed = LLAMA_FACTORY.flatten((Message(role="system", content="", tools=(tool,)),))[0].content
    form = ChatFormat.parse(with_template(tokenizer, template or tokenizer.chat_template))
    for system, begins in ((SYSTEM, "Be brief."), (None, "")):
        first = (system or CHAT[0]).model_copy(update={"tools": (tool,)})
        turns = form.turns((first, *chat) if system else (first, *chat[1:]))
        (prompt,) = turns[0].prompt
        assert f"{begins}{listed}" in prompt
        assert "Be kind." not in prompt
        assert turns[0].response[0].startswith("I add. Action: add\nAction Input: {}<|")
        assert turns[1].prompt == (Slots.parse(tokenizer).user.replace("{{content}}", "2"),)


def test_a_tokenizer_without_a_chat_template_is_refused_by_name(tokenizer):
    with pytest.raises(ConfigurationError, match="no chat template"):
        ChatFormat.parse(with_template(tokenizer, None))


def test_a_template_that_drops_messages_is_refused(tokenizer):
    with pytest.raises(ConfigurationError, match="no place for the user"):
        ChatFormat.parse(with_template(tokenizer, "{% for m in messages %}x{% endfor %}"))
