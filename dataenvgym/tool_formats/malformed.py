"""Explains a malformed tool call."""

from __future__ import annotations

from functools import partial

from dataenvgym.tool_formats.formats import begin_of_calls, formats_in, is_bare
from dataenvgym.tool_formats.text import TextFormat


def malformed_call(text: str) -> str | None:
    """One sentence about a malformed call in the text.

    None for an ordinary text, and for one whose calls can all be parsed. The sentence has at most
    200 characters. It takes linear time, and never raises.
    """
    if not (formats := formats_in(text)):
        return None
    text = text.encode(errors="replace").decode()  # lone surrogates are in no message
    read = [(known, known.parse(text)) for known in formats]
    found = [m for known, m in read if m.tool_calls and not (is_bare(known) and m.content.strip())]
    if found:
        text = min(found, key=partial(begin_of_calls, text)).content
    text_formats = (known for known in formats if isinstance(known, TextFormat))
    return next(filter(None, (known.malformed(text) for known in text_formats)), None)
