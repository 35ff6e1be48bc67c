"""Conversations in a tokenizer's chat template: the same text in evaluation and in training.

`render` writes the student's prompt, for predictors and trainers alike. A trainer must also know
which tokens are the student's own: what it learns after a prompt is the reply, and the text that
the template writes behind one (`ChatFormat`). Tools and calls are text by then (`tool_formats`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from jinja2 import TemplateError, meta

from dataenvgym.errors import ConfigurationError
from dataenvgym.records import Conversation, Message
from dataenvgym.records.tool_formats import LLAMA_FACTORY

BARE_TEMPLATE = "{% for message in messages %}{{ message['content'] }}{% endfor %}"
"""The chat template that stands for LLaMA-Factory's `template: empty`: texts without roles."""

_OF_EACH_PROMPT = ("messages", "tools", "documents", "add_generation_prompt")

_DAY = datetime(2024, 7, 26)  # what Llama 3.2's template writes without a clock
_CLOCK = re.compile(r"""strftime_now\(\s*+(['"])([^'"]*+)\1\s*+\)""")
_ASKED, _SAID = "{{question}}", "{{reply}}"
EMPTY_THOUGHT = "<think>\n\n</think>\n\n"
_THOUGHT = re.compile("<think>\n(.*?)\n</think>\n\n", re.DOTALL)
_THOUGHT_ENDS = "\n</think>\n\n"


def render(
    tokenizer: Any, conversation: Conversation, *, asks: bool = True, merges: bool = True
) -> str:
    """The text of a conversation of plain turns.

    If the template has no place for a system message, that is put before the first user message.

    Args:
        asks: end with the beginning of the student's reply.
        merges: False renders as a server does, also without the system message.

    Raises:
        TemplateError: if the template cannot render it.
    """

    def apply(*messages: Message) -> str:
        chat = [{"role": message.role, "content": message.content} for message in messages]
        options = {"add_generation_prompt": asks, "tokenize": False}
        try:
            return str(tokenizer.apply_chat_template(chat, **options))
        except Exception as error:  # a template is a program, whose errors may be any
            raise TemplateError(f"{type(error).__name__}: {error}") from error

    if not merges or [message.role for message in conversation[:2]] != ["system", "user"]:
        return apply(*conversation)
    system, user, *others = conversation
    with suppress(TemplateError):
        if system.content.strip() in (text := apply(*conversation)):
            return text
    merged = f"{system.content}\n\n{user.content}"
    return apply(user.model_copy(update={"content": merged}), *others)


@dataclass(frozen=True)
class TrainingTurn:
    """The text before a reply, since the reply before it, and the reply.

    Attributes:
        prompt, response: pieces that are tokenized separately.
        begins: the prompt is the whole conversation so far, because the template now writes its
            earlier turns in another way.
    """

    prompt: tuple[str, ...]
    response: tuple[str, ...]
    begins: bool = False


@dataclass(frozen=True)
class ChatFormat:
    """The text that a student learns to write after a prompt.

    Attributes:
        opening: what the template itself writes before a reply, such as an empty thought.
        ending: what it writes behind one.
        thought: the beginning of a thought with which prompts end: open ("<think>\\n") or closed;
            "" without one.
    """

    tokenizer: Any
    opening: str
    ending: str
    thought: str

    @classmethod
    def parse(cls, tokenizer: Any) -> ChatFormat:
        """The format of the tokenizer's chat template.

        Raises:
            ConfigurationError: if it has no template, or one that cannot render a reply.
        """
        check_chat_template(tokenizer)
        asked, said = Message(role="user", content=_ASKED), Message(role="assistant", content=_SAID)
        what = f"the chat template of {tokenizer.name_or_path!r}"
        try:
            prompt = render(tokenizer, (asked,))
            before, is_there, ending = render(tokenizer, (asked, said), asks=False).rpartition(
                _SAID
            )
        except TemplateError as error:
            raise ConfigurationError(
                f"{what} cannot render a user message and a reply: {error}"
            ) from error
        for name, text in (("user", _ASKED in prompt), ("assistant", is_there)):
            if not text:
                raise ConfigurationError(
                    f"{what} leaves no place for the {name} message: put another one into the "
                    "student's folder as chat_template.jinja"
                )
        if not ending.strip() and tokenizer.chat_template != BARE_TEMPLATE:
            ending += tokenizer.eos_token  # else a reply would never end
        _, begins_thought, thought = prompt.rpartition(_ASKED)[2].rpartition("<think>")
        opening = before[len(prompt) :] if before.startswith(prompt) else ""
        return cls(tokenizer, opening, ending, begins_thought + thought if begins_thought else "")

    def turns(self, messages: Conversation) -> list[TrainingTurn]:
        """The turns of a conversation, to train all its replies."""
        flat = LLAMA_FACTORY.flatten(messages)
        found, before = [], ""
        for i, message in enumerate(flat):
            if message.role == "assistant":
                prompt, response = self._prompt(flat[:i]), self._response(message.content)
                begins = not prompt.startswith(before)
                new = prompt if begins else prompt[len(before) :]
                found.append(TrainingTurn((new,), response, begins))
                before = prompt + "".join(response)
        return found

    def last_turn(self, messages: Conversation) -> TrainingTurn:
        """A conversation as one turn, to train only the last reply."""
        *before, last = LLAMA_FACTORY.flatten(messages)
        return TrainingTurn((self._prompt(tuple(before)),), self._response(last.content))

    def _prompt(self, conversation: Conversation) -> str:
        try:
            return render(self.tokenizer, conversation)
        except TemplateError as error:
            raise ConfigurationError(
                f"the student's chat template cannot render the prompt of a record: {error}"
            ) from error

    def _response(self, content: str) -> tuple[str, ...]:
        thinks = "<think>" in content or "</think>" in content
        opening = self.opening
        if "</think>" in self.thought:
            content = without_thoughts(content)
        elif self.thought:
            content = content if thinks else EMPTY_THOUGHT + content
            content = content.removeprefix(self.thought).removeprefix(self.thought.rstrip())
        elif thinks and "<think>" in opening:
            opening = ""
        content += self.ending
        return (opening, content) if opening.strip() else (opening + content,)


def fix_template(tokenizer: Any, values: Mapping[str, Any]) -> None:
    """Give variables of the tokenizer's chat template these values in every later rendering."""
    fixed = "".join(f"{{% set {name} = {value!r} +%}}" for name, value in values.items())
    tokenizer.chat_template = fixed + tokenizer.chat_template


def without_clock(template: str) -> str:
    """The template with the same day in every rendering, so that prompts can be repeated."""
    return _CLOCK.sub(lambda found: repr(_DAY.strftime(found[2])), template)


def check_variables(tokenizer: Any, values: Mapping[str, Any]) -> None:
    """Raise ConfigurationError for a value that the tokenizer's chat template does not read."""
    from transformers.utils import chat_template_utils

    check_chat_template(tokenizer)
    environment = chat_template_utils._compile_jinja_template(tokenizer.chat_template).environment
    read = meta.find_undeclared_variables(environment.parse(tokenizer.chat_template))
    own = {name for name in read if name not in _OF_EACH_PROMPT and not name.endswith("_token")}
    if unread := [name for name in values if name not in own]:
        raise ConfigurationError(
            f"chat_template_kwargs has {', '.join(map(repr, unread))}, which the chat template of "
            f"{tokenizer.name_or_path!r} does not read; expected "
            f"{' or '.join(sorted(own)) or 'none: leave it out'}"
        )


def check_chat_template(tokenizer: Any) -> None:
    """Raise ConfigurationError if the tokenizer cannot render conversations."""
    if not isinstance(tokenizer.chat_template, str):
        raise no_chat_template(tokenizer.name_or_path)


def no_chat_template(student: str) -> ConfigurationError:
    """The error for a student that must have a chat template."""
    return ConfigurationError(
        f"the tokenizer of {student!r} has no chat template, expected one: set "
        "student.format=completion to train and ask it without one, add a chat_template.jinja to "
        "its folder, or take an instruction-tuned student"
    )


def without_thoughts(text: str) -> str:
    """The text without thoughts that have ended."""
    end = text.rfind(_THOUGHT_ENDS) + len(_THOUGHT_ENDS)  # beyond it, the search would be quadratic
    return (_THOUGHT.sub("", text[:end]) + text[end:]).lstrip("\n")
