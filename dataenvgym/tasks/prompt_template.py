"""From an instruction to the prompt that the student reads, and back.

    instruction --PromptTemplate--> system message, earlier turns, user message

A task's environment begins a conversation with its template. Engines put the instructions of
training records into the same template (`Domain.prompt_template`), so the student is trained and
evaluated on the same prompts. Checks that compare problems remove the template (`unframe`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from dataenvgym.errors import ConfigurationError
from dataenvgym.interfaces import can
from dataenvgym.records import (
    Conversation,
    KTODatum,
    Message,
    PreferenceDatum,
    SupervisedDatum,
    TaskInstance,
    TrainingDatum,
)

_log = logging.getLogger(__name__)
INSTRUCTION = "{instruction}"
PromptedT = TypeVar("PromptedT", bound=SupervisedDatum | PreferenceDatum | KTODatum)


@dataclass(frozen=True)
class PromptTemplate:
    """The text around an instruction; by default, none.

    Attributes:
        system: a system message before it, or "" for none.
        template: the user message, in which `{instruction}` stands for the instruction; other
            braces are left alone, so LaTeX needs no escaping.
        history: (user, assistant) turns between the two, oldest first.

    Raises:
        ConfigurationError: if the template does not contain `{instruction}`.
    """

    system: str = ""
    template: str = INSTRUCTION
    history: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        if INSTRUCTION not in self.template:
            raise ConfigurationError(
                f"template is {self.template!r}, expected a text with {INSTRUCTION} in it"
            )

    @property
    def options(self) -> dict[str, Any]:
        """Its texts as options of a task environment."""
        return {"system_prompt": self.system, "template": self.template}

    def text(self, instruction: str) -> str:
        """The user message."""
        return self.template.replace(INSTRUCTION, instruction)

    def conversation(self, instruction: str) -> Conversation:
        """The prompt: the messages that the student sees first."""
        messages = [Message(role="system", content=self.system)] if self.system else []
        for question, reply in self.history:
            messages.append(Message(role="user", content=question))
            messages.append(Message(role="assistant", content=reply))
        return (*messages, Message(role="user", content=self.text(instruction)))

    def instruction_in(self, text: str) -> str:
        """The instruction in a user message; a text that does not match the template, unchanged."""
        before, *others = self.template.split(INSTRUCTION)
        around = len(before) + sum(map(len, others))
        length, rest = divmod(len(text) - around, len(others))
        instruction = text[len(before) : len(before) + max(length, 0)]
        fits = length > 0 and not rest and self.text(instruction) == text
        return instruction if fits else text

    def frame(self, record: PromptedT) -> PromptedT:
        """Put this prompt around the record's instruction, unless it is there already.

        A record that has a system message, earlier turns, or a conversation as its prompt is left
        unchanged.
        """
        if self == PLAIN or record.system or record.history or not record.instruction:
            return record
        instruction = self.instruction_in(record.prompt[-1].content)
        changes = {"system": self.system, "history": self.history, "input": ""}
        changes["instruction"] = self.text(instruction)
        return cast(PromptedT, record.model_copy(update=changes))

    def unframe(self, record: TrainingDatum) -> TrainingDatum:
        """The record without the parts that all prompts of the task share, for comparisons."""
        if self == PLAIN:
            return record
        shared = {"system": self.system, "history": self.history}
        own = {n: type(v)() for n, v in shared.items() if getattr(record, n, None) == v}
        return record.with_questions(self.instruction_in).model_copy(update=own)


PLAIN = PromptTemplate()


def prompt_fields(conversation: Conversation) -> dict[str, Any] | None:
    """The record fields for that prompt; None if it does not consist of a user's turns.

    A record holds a system message, turns of user and assistant, and a last user message.
    """
    system = conversation[0].content if conversation and conversation[0].role == "system" else ""
    turns = conversation[1:] if system else conversation
    roles = [message.role for message in turns]
    if roles != ["user", "assistant"] * (len(turns) // 2) + ["user"]:
        return None
    if any(m.tool_calls or m.tools or m.name for m in conversation):
        return None
    texts = [message.content for message in turns]
    history = tuple(zip(texts[0:-1:2], texts[1::2], strict=True))
    return {"system": system, "history": history, "instruction": texts[-1]}


def template_read_off(
    make_environment: Callable[[], Any], instances: Sequence[TaskInstance]
) -> PromptTemplate:
    """Find the template that an environment puts around instances; PLAIN if there is none.

    There is none if a prompt is not the instruction with a fixed text around it, or if the
    prompts cannot be made here.
    """
    if not instances:
        return PLAIN
    try:
        environment = make_environment()
        with closing(environment) if can(environment, "close") else nullcontext():
            options = [{"instance": instance} for instance in instances]
            shown = [environment.reset(seed=0, options=one)[0] for one in options]
    except Exception as error:  # noqa: BLE001  a user's environment; an evaluation will report the error
        _log.warning("the prompts of %s could not be looked at: %r", make_environment, error)
        return PLAIN
    fields = prompt_fields(shown[0])
    if fields is None or not (instruction := instances[0].instruction):
        return PLAIN
    pairs = list(zip(instances, shown, strict=True))
    for text in _templates_of(fields["instruction"], instruction):
        found = PromptTemplate(fields["system"], text, fields["history"])
        if all(found.conversation(i.instruction) == c for i, c in pairs):
            return found
    return PLAIN


def _templates_of(text: str, instruction: str) -> Iterator[str]:
    """The text with the place of the instruction marked: all its occurrences, or one of them."""
    if instruction in text:
        yield text.replace(instruction, INSTRUCTION)
    at = text.rfind(instruction)
    while at >= 0:
        yield text[:at] + INSTRUCTION + text[at + len(instruction) :]
        at = text.rfind(instruction, 0, at + len(instruction) - 1)
