"""Conversations as the tokens that a student is given, by its own chat template."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jinja2 import TemplateError

from dataenvgym.interfaces import Failure
from dataenvgym.records import Conversation, Message


def encode_prompts(
    tokenizer: Any, conversations: Sequence[Conversation], *, context: int | None
) -> list[list[int] | Failure]:
    """The tokens of each conversation, up to where the student begins to speak.

    Args:
        context: the most tokens that the student can take in, its reply included.

    A conversation that the template cannot render, or that leaves no room for a reply, is a
    failure of that conversation alone.
    """
    texts = [_render(tokenizer, conversation) for conversation in conversations]
    rendered = [text for text in texts if isinstance(text, str)]
    encoded = iter(tokenizer(rendered, add_special_tokens=False)["input_ids"] if rendered else ())
    return [
        text if isinstance(text, Failure) else _checked(next(encoded), context) for text in texts
    ]


def to_chat(conversation: Conversation) -> list[dict[str, Any]]:
    """The conversation in the form that chat templates take, which is OpenAI's."""
    return [_to_dict(message) for message in conversation]


def _to_dict(message: Message) -> dict[str, Any]:
    chat: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        chat["tool_calls"] = [
            {"type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.tool_calls
        ]
    return chat


def _render(tokenizer: Any, conversation: Conversation) -> str | Failure:
    try:
        return str(
            tokenizer.apply_chat_template(
                to_chat(conversation), add_generation_prompt=True, tokenize=False
            )
        )
    except (TemplateError, ValueError, TypeError, IndexError) as error:
        return Failure(reason=f"the student's chat template cannot render this: {error}")


def _checked(tokens: list[int], context: int | None) -> list[int] | Failure:
    if not tokens:
        return Failure(reason="the student's chat template renders this to nothing")
    if context is not None and len(tokens) >= context:
        return Failure(
            reason=f"the prompt has {len(tokens)} tokens, and the student's context of {context} "
            "leaves no room for a reply"
        )
    return tokens
