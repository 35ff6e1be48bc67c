"""A format that writes everything as text: the conversation has plain turns only.

The tools go into the system message, calls into the assistant's text, and what others say between
two replies is one user turn, if results or named users are among it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from dataenvgym.records import Conversation, Message, Tool, ToolCall, is_one_turn, turns_of

Span = tuple[int, int, ToolCall]
"""Where a call begins and ends in a text, and the call."""


@dataclass(frozen=True)
class TextFormat:
    """A `ToolFormat` made of four functions.

    Attributes:
        tools: the text that declares tools; it follows on the system message.
        calls: the text of calls; it follows on the assistant's text.
        results: the text of results in a row.
        spans: the calls in a text from a place on, in their order.
    """

    tools: Callable[[Sequence[Tool]], str]
    calls: Callable[[Sequence[ToolCall]], str]
    results: Callable[[Sequence[str]], str]
    spans: Callable[[str, int], Iterable[Span]]

    def flatten(self, conversation: Conversation) -> Conversation:
        """The conversation in plain turns of system, user and assistant."""
        if all(map(_is_plain, conversation)):
            return conversation
        first = conversation[0]
        leads = first.role == "system"
        system = first.content if leads else ""
        if first.tools:
            system += self.tools(first.tools)
        plain = [Message(role="system", content=system)] if leads or first.tools else []
        for _, turn in turns_of(conversation[leads:]):
            if is_one_turn(turn):
                plain.append(Message(role="user", content="\n".join(self._heard(turn))))
            else:
                plain += (m if _is_plain(m) else self._written(m) for m in turn)
        return tuple(plain)

    def parse(self, text: str) -> Message:
        """The assistant's message that the text is; a thought at its beginning calls nothing."""
        calls, pieces, at = [], [], 0
        for start, end, call in self.spans(text, _end_of_thought(text)):
            calls.append(call)
            pieces.append(text[at:start])
            at = end
        if not calls:
            return Message(role="assistant", content=text)
        first, *others = [*pieces, text[at:]]
        content = first + "".join(piece for piece in others if piece.strip())
        return Message(role="assistant", content=content, tool_calls=tuple(calls))

    def _written(self, message: Message) -> Message:
        calls = self.calls(message.tool_calls) if message.tool_calls else ""
        return Message(role=message.role, content=message.content + calls)

    def _heard(self, turn: Conversation) -> Iterator[str]:
        for is_result, run in groupby(turn, key=lambda message: message.role == "tool"):
            if is_result:
                yield self.results([message.content for message in run])
            else:
                yield from map(spoken, run)


def spoken(message: Message) -> str:
    """The message's text, after the name of the user who says it."""
    return f"{message.name}: {message.content}" if message.name else message.content


def _end_of_thought(text: str) -> int:
    if not text.lstrip().startswith("<think>"):
        return 0
    end = text.find("</think>")
    return end if end >= 0 else len(text)


def _is_plain(message: Message) -> bool:
    return (
        not message.tool_calls
        and not message.tools
        and message.name is None
        and message.role != "tool"
    )
