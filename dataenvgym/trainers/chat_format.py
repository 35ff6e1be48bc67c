"""A tokenizer's chat template, split into the text around each turn.

A trainer must know which tokens are the student's own. So the template is rendered once with
placeholders and split into slots, and every message is put into its slot separately. The rules are
those of LLaMA-Factory for a training without `template`. They apply to tools, too: datasets of
predictors have none (they are written as text there), and in other datasets they are written like
in LLaMA-Factory.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from jinja2 import TemplateError, meta

from dataenvgym.errors import ConfigurationError
from dataenvgym.records import Conversation, Message
from dataenvgym.tool_formats import LLAMA_FACTORY

BARE_TEMPLATE = "{% for message in messages %}{{ message['content'] }}{% endfor %}"
"""The chat template that stands for LLaMA-Factory's `template: empty`: texts without roles."""

_FIXED = "{# chat_template_kwargs +#}"
_OF_EACH_PROMPT = ("messages", "tools", "documents", "add_generation_prompt")

_HERE = "{{content}}"
_EMPTY_THOUGHT = "<think>\n\n</think>\n\n"
_THOUGHT = re.compile("<think>\n(.*?)\n</think>\n\n", re.DOTALL)
_THOUGHT_ENDS = "\n</think>\n\n"


@dataclass(frozen=True)
class TrainingTurn:
    """The text before a reply, and the reply, each as pieces that are tokenized separately."""

    prompt: tuple[str, ...]
    response: tuple[str, ...]


@dataclass(frozen=True)
class ChatFormat:
    """The slots of a chat template; `{{content}}` marks the place of the message.

    Attributes:
        prefix: begins every conversation (usually a bos token).
        system: slot of the system message, or None if the template has no such role.
        user: slot of a user message, up to the beginning of the assistant's reply.
        assistant: slot of a reply, with its ending.
        default_system: the system message of conversations without one.
        thought: where an empty thought stands before a reply that has none: as part of the "reply",
            or of the "prompt", and then thoughts of the replies are removed (`enable_thinking:
            false`). "" for a template without thoughts.
    """

    prefix: str
    system: str | None
    user: str
    assistant: str
    default_system: str = ""
    thought: Literal["", "reply", "prompt"] = ""

    @classmethod
    def parse(cls, tokenizer: Any) -> ChatFormat:
        """The slots of the tokenizer's chat template.

        Raises:
            ConfigurationError: if it has no template, or one that cannot be split into slots.
        """
        check_chat_template(tokenizer)
        if tokenizer.chat_template == BARE_TEMPLATE:
            return cls(prefix="", system=_HERE, user=_HERE, assistant=_HERE)
        prefix = tokenizer.decode(tokenizer.encode(""))

        def render(*messages: tuple[str, str], reply: bool = False) -> str:
            chat = [{"role": role, "content": content} for role, content in messages]
            text = tokenizer.apply_chat_template(chat, add_generation_prompt=reply, tokenize=False)
            return str(text)[len(prefix) :]

        try:
            user = render(("user", _HERE), reply=True)
            in_prompt = _EMPTY_THOUGHT if tokenizer.chat_template.startswith(_FIXED) else ""
            has_thought = bool(in_prompt) and user.endswith(in_prompt)
            user = user.removesuffix(in_prompt)
            assistant = render(("user", _HERE), ("assistant", _HERE))[len(user) :]
        except TemplateError as error:
            raise ConfigurationError(
                f"the chat template of {tokenizer.name_or_path!r} cannot render a user message "
                f"and a reply: {error}"
            ) from error
        try:
            system = render(("system", _HERE))
            with_empty_system = render(("system", ""), ("user", _HERE), reply=True)
            with_empty_system = with_empty_system.removesuffix(in_prompt)
        except TemplateError:
            system, with_empty_system = None, user
        default_system = ""
        if system is not None and len(user) > len(with_empty_system):
            default_system = _inserted(with_empty_system, user)
            user = user[len(system.replace(_HERE, default_system, 1)) :]
        thinks = "<think>" in assistant
        if thinks:
            assistant = assistant.replace("<think>", "").replace("</think>", "").lstrip("\n")
        for name, slot in (("user", user), ("assistant", assistant), ("system", system)):
            if slot is not None and _HERE not in slot:
                raise ConfigurationError(
                    f"the chat template of {tokenizer.name_or_path!r} leaves no place for the "
                    f"{name} message: found {slot!r}, expected the message in it"
                )
        thought: Literal["", "reply", "prompt"] = "reply" if thinks else ""
        thought = "prompt" if has_thought else thought
        return cls(prefix, system, user, assistant, default_system, thought)

    def turns(self, messages: Conversation) -> list[TrainingTurn]:
        """The turns of a conversation, to train all its replies (LLaMA-Factory: stage `sft`)."""
        system, messages = _split(self._flat(messages))
        return [
            self._turn(self._prompt(messages[i], i == 0, system), messages[i + 1])
            for i in range(0, len(messages), 2)
        ]

    def last_turn(self, messages: Conversation) -> TrainingTurn:
        """A conversation as one turn, to train only the last reply (stages `dpo` and `kto`)."""
        system, messages = _split(self._flat(messages))
        prompt: tuple[str, ...] = ()
        for i, message in enumerate(messages[:-1]):
            if message.role == "assistant":
                content = _without_thoughts(message.content) if self.thought else message.content
                prompt += (_fill(self.assistant, content),)
            else:
                prompt += self._prompt(message, i == 0, system)
        return self._turn(prompt, messages[-1])

    def _flat(self, messages: Conversation) -> Conversation:
        """Plain turns; tools follow the default system message if there is no other."""
        if (tools := messages[0].tools) and messages[0].role != "system" and self.default_system:
            own = Message(role="system", content=self.default_system, tools=tools)
            messages = (own, *messages)
        return LLAMA_FACTORY.flatten(messages)

    def _prompt(self, message: Message, first: bool, system: str) -> tuple[str, ...]:
        pieces = [_fill(self.user, message.content)]
        if first:
            if system := system or self.default_system:
                pieces.insert(0, self._system(system))
            pieces.insert(0, self.prefix)
        return tuple(pieces)

    def _system(self, content: str) -> str:
        if self.system is None:
            raise ConfigurationError(
                "a record has a system message or tools, and the student's chat template has no "
                "system role: put the text into the instruction"
            )
        return _fill(self.system, content)

    def _turn(self, prompt: tuple[str, ...], reply: Message) -> TrainingTurn:
        is_in_prompt = self.thought == "prompt"
        content = _without_thoughts(reply.content) if is_in_prompt else reply.content
        piece = _fill(self.assistant, content)
        if not self.thought or "<think>" in content or "</think>" in content:
            return TrainingTurn(prompt, (piece,))
        if is_in_prompt:
            return TrainingTurn((*prompt[:-1], prompt[-1] + _EMPTY_THOUGHT), (piece,))
        return TrainingTurn(prompt, (_EMPTY_THOUGHT, piece))


def fix_template(tokenizer: Any, values: Mapping[str, Any]) -> None:
    """Give variables of the tokenizer's chat template these values in every later rendering."""
    fixed = "".join(f"{{% set {name} = {value!r} +%}}" for name, value in values.items())
    tokenizer.chat_template = _FIXED + fixed + tokenizer.chat_template


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


def is_as_in_llama_factory(tokenizer: Any, fixed: Any, thinks: bool) -> bool:
    """Whether LLaMA-Factory's `enable_thinking` gives the prompts of a template with it fixed.

    LLaMA-Factory renders the chat template without any value. If it finds a thought in the
    template's replies, it puts an empty one into the prompt itself for `enable_thinking: false`.

    Args:
        thinks: the value of `enable_thinking`.
    """
    plain = ChatFormat.parse(tokenizer)
    theirs = plain if thinks else replace(plain, thought="prompt")
    return plain.thought == "reply" and ChatFormat.parse(fixed) == theirs


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


def _fill(slot: str, content: str) -> str:
    return slot.replace(_HERE, content, 1)


def _without_thoughts(text: str) -> str:
    end = text.rfind(_THOUGHT_ENDS) + len(_THOUGHT_ENDS)  # beyond it, the search would be quadratic
    return (_THOUGHT.sub("", text[:end]) + text[end:]).lstrip("\n")


def _split(messages: Conversation) -> tuple[str, Conversation]:
    """The system message, or "", and the others."""
    if messages[0].role == "system":
        return messages[0].content, messages[1:]
    return "", messages


def _inserted(shorter: str, longer: str) -> str:
    """The text that `longer` has in addition to `shorter`."""
    inserted, i = "", 0
    for character in longer:
        if i == len(shorter):
            break
        if character == shorter[i]:
            i += 1
        else:
            inserted += character
    return inserted
