"""From an instruction to a prompt and back."""

import pytest

from dataenvgym.errors import ConfigurationError
from dataenvgym.records import (
    ChatDatum,
    Message,
    PreferenceDatum,
    SupervisedDatum,
    TaskInstance,
)
from dataenvgym.tasks import Outcome, Task, TaskEnvironment
from dataenvgym.tasks.adapted_task import task_of
from dataenvgym.tasks.prompt_template import PLAIN, PromptTemplate, prompt_fields

FRAMED = PromptTemplate("Be brief.", "Solve: {instruction}\nUse \\frac{a}{b}.")
TWICE = PromptTemplate(template="{instruction}\nAgain: {instruction}!")
FEW_SHOT = PromptTemplate(history=(("1 + 1?", "2"),))


@pytest.mark.parametrize("template", [PLAIN, FRAMED, TWICE, FEW_SHOT])
@pytest.mark.parametrize("instruction", ["What is 2?", "x", "{instruction}", "Solve: a\nb", " a "])
def test_the_instruction_is_found_again_in_its_prompt(template, instruction):
    conversation = template.conversation(instruction)
    assert template.instruction_in(conversation[-1].content) == instruction


@pytest.mark.parametrize("text", ["", "Solve: x", "Use \\frac{a}{b}."])
def test_a_text_that_is_not_in_the_template_stays_as_it_is(text):
    assert FRAMED.instruction_in(text) == TWICE.instruction_in(text) == text
    with pytest.raises(ConfigurationError, match="text with"):
        PromptTemplate(template=text)


@pytest.mark.parametrize("template", [PLAIN, FRAMED, TWICE, FEW_SHOT])
def test_a_record_is_framed_once_and_unframed_as_it_was(template):
    for record in (
        SupervisedDatum(instruction="What is 2?", output="#### 2"),
        PreferenceDatum(instruction="What is 2?", chosen="#### 2", rejected="#### 3"),
    ):
        framed = template.frame(record)
        assert framed.prompt == template.conversation("What is 2?")
        assert template.frame(framed) == framed
        assert template.unframe(framed) == record
        assert template.unframe(record) == record


def test_a_preference_for_a_turn_of_a_conversation_is_never_framed_and_unframed_as_a_chat():
    asked = (Message(role="user", content=FRAMED.text("a")),)
    pair = PreferenceDatum(messages=asked, system=FRAMED.system, chosen="b", rejected="c")
    assert FRAMED.frame(pair) == pair
    plain = FRAMED.unframe(pair)
    assert (plain.system, [m.content for m in plain.messages]) == ("", ["a"])


def test_other_kinds_of_records_are_unframed_too():
    chat = ChatDatum(
        system=FRAMED.system,
        messages=(
            Message(role="user", content=FRAMED.text("a")),
            Message(role="assistant", content=FRAMED.text("b")),
        ),
    )
    plain = FRAMED.unframe(chat)
    assert (plain.system, plain.messages[0].content) == ("", "a")
    assert plain.messages[1] == chat.messages[1]


def test_only_a_chain_of_turns_is_a_records_prompt():
    fields = prompt_fields(FEW_SHOT.conversation("3 + 3?"))
    assert fields == {"system": "", "history": (("1 + 1?", "2"),), "instruction": "3 + 3?"}
    assistant = Message(role="assistant", content="Hello")
    for conversation in ((), (assistant,), (*FRAMED.conversation("a"), assistant)):
        assert prompt_fields(conversation) is None


class Own(Task):
    """Its environment puts problems as `shown` says."""

    name = "own"

    def __init__(self, shown):
        super().__init__()
        self.shown = shown

    def load(self, split):
        return [TaskInstance(id=w, task="own", instruction=w) for w in ("one", "two")]

    def make_environment(self):
        environment = OwnEnvironment(self.instances)
        environment.shown = self.shown
        return environment


class OwnEnvironment(TaskEnvironment):
    def begin(self, instance):
        return self.shown(instance)

    def respond(self, instance, conversation):
        return Outcome()


AMBIGUOUS = ("Only one of one: {instruction}", "{instruction}: one or none?")


@pytest.mark.parametrize(
    "template",
    [PLAIN, FRAMED, TWICE, FEW_SHOT, *(PromptTemplate(template=text) for text in AMBIGUOUS)],
)
def test_the_template_of_your_own_task_is_read_from_its_environment(template):
    task = Own(lambda instance: template.conversation(instance.instruction))
    assert task.domain.prompt_template == template


def test_prompts_that_have_no_template_are_none():
    def persona(instance):
        return PromptTemplate(f"You are {instance.id}.").conversation(instance.instruction)

    for shown in (persona, lambda i: (Message(role="user", content="Guess."),), lambda i: 1 / 0):
        assert Own(shown).domain.prompt_template == PLAIN
    assert task_of(object()).domain.prompt_template == PLAIN
