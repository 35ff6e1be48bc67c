"""The prompts that LLaMA-Factory writes in a training without `template`.

It renders the tokenizer's chat template with placeholders, splits it into a slot for each role, and
puts every message into its slot. For many templates that gives the prompts of an evaluation, which
renders whole conversations; for others it does not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from jinja2 import TemplateError

from dataenvgym.records import Conversation
from dataenvgym.students.trainers.chat_format import EMPTY_THOUGHT, without_thoughts

_HERE = "{{content}}"


@dataclass(frozen=True)
class Slots:
    """The slots of a chat template; `{{content}}` marks the place of the message.

    Attributes:
        prefix: begins every conversation (usually a bos token).
        user: slot of a user message, up to the beginning of the assistant's reply.
        assistant: slot of a reply, with its ending.
        default_system: the system message of conversations without one.
        thinks: whether the template puts a thought before a reply.
    """

    prefix: str
    system: str
    user: str
    assistant: str
    default_system: str
    thinks: bool

    @classmethod
    def parse(cls, tokenizer: Any) -> Slots:
        """The slots of the tokenizer's chat template.

        Raises:
            TemplateError: if it cannot be split, or would lose messages.
        """
        prefix = tokenizer.decode(tokenizer.encode(""))

        def render(*messages: tuple[str, str], reply: bool = True) -> str:
            chat = [{"role": role, "content": content} for role, content in messages]
            text = tokenizer.apply_chat_template(chat, add_generation_prompt=reply, tokenize=False)
            return str(text)[len(prefix) :]

        system, user = render(("system", _HERE), reply=False), render(("user", _HERE))
        assistant = render(("user", _HERE), ("assistant", _HERE), reply=False)[len(user) :]
        if _HERE not in user or _HERE not in assistant:
            raise TemplateError("it leaves no place for a message")
        thinks = "<think>" in assistant
        assistant = assistant.replace("<think>", "").replace("</think>", "").lstrip("\n")
        shorter, default_system, i = render(("system", ""), ("user", _HERE)), "", 0
        if len(user) > len(shorter):
            for character in user:
                is_same = i < len(shorter) and character == shorter[i]
                default_system += "" if is_same or i == len(shorter) else character
                i += is_same
            user = user[len(_fill(system, default_system)) :]
        return cls(prefix, system, user, assistant, default_system, thinks)

    def prompts(
        self, conversation: Conversation, thinks: bool = True, *, is_last: bool = False
    ) -> Iterator[str]:
        """The prompt of each reply, from the beginning of a conversation of plain turns.

        Args:
            thinks: LLaMA-Factory's option `enable_thinking`.
            is_last: only the last reply is learned (stages `dpo` and `kto`).
        """
        system = conversation[0].content if conversation[0].role == "system" else ""
        system = system or self.default_system
        text = self.prefix + (_fill(self.system, system) if system else "")
        for message in conversation:
            content = message.content
            if message.role == "user":
                text += _fill(self.user, content)
            elif message.role == "assistant":
                if self.thinks and (is_last or not thinks):
                    content = without_thoughts(content)
                lacks = self.thinks and "<think>" not in content and "</think>" not in content
                thought = EMPTY_THOUGHT if lacks else ""
                yield text + ("" if thinks else thought)
                text += ("" if is_last else thought) + _fill(self.assistant, content)


def _fill(slot: str, content: str) -> str:
    return slot.replace(_HERE, content, 1)
