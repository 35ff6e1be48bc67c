import pytest

from dataenvgym.records import Message, Tool, ToolCall
from dataenvgym.records.tool_formats import LLAMA_FACTORY
from dataenvgym.students.trainers.chat_format import ChatFormat
from dataenvgym.students.trainers.llama_factory.slots import Slots

WITH_DEFAULT_SYSTEM = (
    "{% if messages[0]['role'] != 'system' %}<|im_start|>system\nBe kind.<|im_end|>\n{% endif %}"
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
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


def test_without_a_system_role_its_message_is_put_before_the_first_user_message(tokenizer):
    tokenizer.chat_template = WITHOUT_SYSTEM
    form = ChatFormat.parse(tokenizer)
    for chat, asked in ((CHAT[:2], "one"), ((SYSTEM, *CHAT[:2]), "Be brief.\n\none")):
        (turn,) = form.turns(chat)
        assert (*turn.prompt, *turn.response) == (f"<user>{asked}</s><assistant>", "1</s>")


def test_a_thinking_student_learns_an_empty_thought_before_a_reply_without_one(tokenizer):
    tokenizer.chat_template = THINKING
    form = ChatFormat.parse(tokenizer)
    thoughtful = Message(role="assistant", content="<think>\nhm\n</think>\n\n1")
    chat = (CHAT[0], thoughtful, *CHAT[2:])
    turns = form.turns(chat)
    assert turns[0].response == ("<think>\nhm\n</think>\n\n1<|end|>",)
    assert turns[1].response == ("<think>\n\n</think>\n\n", "2 'two'<|end|>")
    assert form.last_turn(chat).response == turns[1].response
    *_, of_llama_factory = Slots.parse(tokenizer).prompts(chat, is_last=True)
    assert "hm" not in of_llama_factory


@pytest.mark.parametrize("template", [None, WITH_DEFAULT_SYSTEM], ids=["own", "sys"])
def test_tools_and_calls_are_written_in_llama_factorys_default_format(tokenizer, template):
    """They are in datasets of other people only; an evaluation has them in the same place."""
    call = Message(role="assistant", content="I add. ", tool_calls=(ToolCall(name="add"),))
    chat = (CHAT[0], call, Message(role="tool", content="2"), CHAT[1])
    tool = Tool(name="add")
    listed = LLAMA_FACTORY.flatten((Message(role="system", content="", tools=(tool,)),))[0].content
    tokenizer.chat_template = template or tokenizer.chat_template
    form = ChatFormat.parse(tokenizer)
    for system, begins in ((SYSTEM, "Be brief."), (None, "")):
        first = (system or CHAT[0]).model_copy(update={"tools": (tool,)})
        turns = form.turns((first, *chat) if system else (first, *chat[1:]))
        (prompt,) = turns[0].prompt
        assert f"{begins}{listed}" in prompt
        assert "Be kind." not in prompt
        assert turns[0].response[0].startswith("I add. Action: add\nAction Input: {}<|")
        assert turns[1].prompt == (Slots.parse(tokenizer).user.replace("{{content}}", "2"),)
