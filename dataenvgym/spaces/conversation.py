"""The student's observations and actions: conversations and text."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from pydantic import TypeAdapter

from dataenvgym.errors import ConfigurationError
from dataenvgym.records import Conversation, Message
from dataenvgym.spaces.base import RecordSpace, is_tuple_of
from dataenvgym.spaces.samples import draw_problem, draw_text


class TextSpace(RecordSpace[str]):
    """Any Unicode text of at most `max_length` characters, also the empty one.

    A lone surrogate is not Unicode text: UTF-8, and so every file and model, cannot represent it.
    """

    adapter = TypeAdapter(str)
    parameters: ClassVar = ("max_length",)

    def __init__(
        self, max_length: int | None = None, *, seed: int | np.random.Generator | None = None
    ):
        if max_length is not None and max_length < 0:
            raise ConfigurationError(f"max_length is {max_length}, expected 0 or more, or None")
        self.max_length = max_length
        super().__init__(seed=seed)

    def contains(self, x: Any) -> bool:
        if not isinstance(x, str) or (self.max_length is not None and len(x) > self.max_length):
            return False
        return x.isascii() or not any("\ud800" <= character <= "\udfff" for character in x)

    def draw(self, rng: np.random.Generator) -> str:
        return draw_text(rng)[: self.max_length]


class ConversationSpace(RecordSpace[Conversation]):
    """Conversations: tuples of `Message`, oldest first."""

    adapter = TypeAdapter(Conversation)

    def contains(self, x: Any) -> bool:
        return is_tuple_of(x, Message)

    def draw(self, rng: np.random.Generator) -> Conversation:
        problem = draw_problem(rng)
        conversation: Conversation = (Message(role="user", content=problem.question),)
        if rng.random() < 0.5:
            conversation += (Message(role="assistant", content=problem.solution),)
        return conversation
