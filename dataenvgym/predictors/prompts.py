"""Converts conversations into input tokens of a student, by its own chat template."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jinja2 import TemplateError

from dataenvgym.interfaces import Failure
from dataenvgym.records import Conversation
from dataenvgym.tool_formats import ToolFormat


def encode_prompts(
    tokenizer: Any,
    conversations: Sequence[Conversation],
    tool_format: ToolFormat,
    *,
    context: int | None,
) -> list[list[int] | Failure]:
    """The tokens of each conversation, up to the beginning of the student's reply.

    Args:
        tool_format: writes tools, calls and results as text.
        context: the student's context length in tokens, its reply included.

    If the template cannot render a conversation, or there is no room left for a reply, only that
    conversation is a failure.
    """
    texts = [_render(tokenizer, tool_format.flatten(c)) for c in conversations]
    rendered = [text for text in texts if isinstance(text, str)]
    encoded = iter(tokenizer(rendered, add_special_tokens=False)["input_ids"] if rendered else ())
    return [
        text if isinstance(text, Failure) else _checked(next(encoded), context) for text in texts
    ]


def _render(tokenizer: Any, conversation: Conversation) -> str | Failure:
    chat = [{"role": message.role, "content": message.content} for message in conversation]
    try:
        return str(tokenizer.apply_chat_template(chat, add_generation_prompt=True, tokenize=False))
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
