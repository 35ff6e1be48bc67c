"""Texts that end a reply while it is generated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class StopTexts:
    """Looks for texts in the last tokens of replies.

    That only saves the steps behind a text: which text ends a reply, and where, is up to
    `SamplingParameters.until_stop` and the whole reply.

    Attributes:
        window: how many last tokens are looked at. Each has one byte of a text at least; some more
            are for what decoding does to the first ones.
    """

    def __init__(self, tokenizer: Any, texts: Sequence[str]) -> None:
        self._tokenizer = tokenizer
        # half of a character is decoded to U+FFFD, which is gone with the next token
        self._texts = [text for text in texts if "\ufffd" not in text]
        self.window = max(len(text.encode()) for text in texts) + 4

    def are_in(self, replies: Sequence[Sequence[int]]) -> list[bool]:
        """Whether one of the texts is in the last tokens of each reply."""
        found = self._tokenizer.batch_decode(replies, skip_special_tokens=True)
        return [any(text in reply for text in self._texts) for reply in found]
