"""Explains a malformed tool call."""

from __future__ import annotations

from dataenvgym.tool_formats.formats import formats_in, is_bare
from dataenvgym.tool_formats.text import TextFormat


def malformed_call(text: str) -> str | None:
    """One sentence about a malformed call in the text.

    None for an ordinary text, and for one whose calls can all be parsed. The sentence has at most
    200 characters. It takes linear time, and never raises.
    """
    if not (formats := formats_in(text)):
        return None
    text = text.encode(errors="replace").decode()  # lone surrogates are in no message
    for known in formats:
        message = known.parse(text)
        if message.tool_calls and not (is_bare(known) and message.content.strip()):
            text = message.content
            break
    text_formats = (known for known in formats if isinstance(known, TextFormat))
    return next(filter(None, (known.malformed(text) for known in text_formats)), None)
