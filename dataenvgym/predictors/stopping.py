"""Texts that end a reply while it is generated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class StopTexts:
    """Finds stop texts in the last tokens of replies.

    This only saves computing the steps behind a text. `SamplingParameters.until_stop` decides on
    the whole reply which text ends it, and where.

    Attributes:
        window: number of last tokens to search. Each token has at least one byte of a text; some
            more are needed because decoding may change the first ones.
    """

    def __init__(self, tokenizer: Any, texts: Sequence[str]) -> None:
        self._tokenizer = tokenizer
        # half of a character is decoded to U+FFFD, which disappears with the next token
        self._texts = [text for text in texts if "\ufffd" not in text]
        self.window = max(len(text.encode()) for text in texts) + 4

    def are_in(self, replies: Sequence[Sequence[int]]) -> list[bool]:
        """Whether one of the texts is in the last tokens of each reply."""
        found = self._tokenizer.batch_decode(replies, skip_special_tokens=True)
        return [any(text in reply for text in self._texts) for reply in found]
