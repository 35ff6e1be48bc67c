"""Formats that write everything as text: the conversation has plain turns only.

The tools go into the system message and calls into the assistant's text. The messages of others
between two replies are one user turn, if results or named users are among them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from dataenvgym.records import Conversation, Message, Tool, ToolCall, is_one_turn, turns_of
from dataenvgym.records.tool_formats.thoughts import blanked, missing_end

Span = tuple[int, int, ToolCall]
"""The beginning and end of a call in a text, and the call."""


def _no_fault(text: str, at: int) -> str | None:
    """No fault: the format cannot recognize attempted calls."""
    return None


@dataclass(frozen=True)
class TextFormat:
    """A `ToolFormat` made of four functions, and the marks of its calls.

    Attributes:
        tools: writes the text that declares tools; it follows the system message.
        calls: writes calls; they follow the assistant's text.
        results: writes consecutive results.
        spans: finds the calls in a text from a position on, in order.
        marks: a text without any of these contains and attempts no call, so it need not be
            searched; empty if there are no such marks.
        is_bare: a call looks like a possible answer, such as JSON; `read_reply` accepts it only if
            it names a declared tool.
        fault: the fault of a malformed call in a text from a position on, in one sentence of at
            most 200 characters; None if the text attempts no call.
        between: the text between words and calls.
    """

    tools: Callable[[Sequence[Tool]], str]
    calls: Callable[[Sequence[ToolCall]], str]
    results: Callable[[Sequence[str]], str]
    spans: Callable[[str, int], Iterable[Span]]
    marks: tuple[str, ...] = ()
    is_bare: bool = False
    fault: Callable[[str, int], str | None] = _no_fault
    between: str = ""

    def flatten(self, conversation: Conversation) -> Conversation:
        """The conversation in plain turns of system, user and assistant."""
        if is_plain(conversation):
            return conversation
        first = conversation[0]
        leads = first.role == "system"
        system = first.content if leads else ""
        if first.tools:
            system += self.tools(first.tools) if system else self.tools(first.tools).lstrip("\n")
        plain = [Message(role="system", content=system)] if leads or first.tools else []
        for _, turn in turns_of(conversation[leads:]):
            if is_one_turn(turn):
                plain.append(Message(role="user", content="\n".join(self._heard(turn))))
            else:
                plain += (m if _is_plain(m) else self.written(m) for m in turn)
        return tuple(plain)

    def parse(self, text: str) -> Message:
        """Parse a text into the assistant's message; calls in its thoughts do not count."""
        return message_of(text, self.spans(blanked(text), 0), self.between)

    def malformed(self, text: str) -> str | None:
        """The fault of a malformed call in the text; None if there is no such call."""
        return self.fault(blanked(text), 0)

    def written(self, message: Message) -> Message:
        """The message as text alone."""
        content = message.content
        if message.tool_calls:
            content += (self.between if content else "") + self.calls(message.tool_calls)
        return Message(role=message.role, content=content)

    def _heard(self, turn: Conversation) -> Iterator[str]:
        for is_result, run in groupby(turn, key=lambda message: message.role == "tool"):
            if is_result:
                yield self.results([message.content for message in run])
            else:
                yield from map(spoken, run)


def message_of(text: str, spans: Iterable[Span], between: str = "") -> Message:
    """The assistant's message for the text, with the calls at these positions.

    A thought that never ends gets an end, because its calls are written behind it.
    """
    calls, pieces, at = [], [], 0
    for start, end, call in spans:
        calls.append(call)
        pieces.append(text[at:start])
        at = end
    if not calls:
        return Message(role="assistant", content=text)
    first, *others = [*pieces, text[at:]]
    content = first.removesuffix(between) + "".join(piece for piece in others if piece.strip())
    return Message(role="assistant", content=content + missing_end(text), tool_calls=tuple(calls))


def spoken(message: Message) -> str:
    """The message's text, with the name of the user before it."""
    return f"{message.name}: {message.content}" if message.name else message.content


def is_plain(conversation: Conversation) -> bool:
    """Whether every format leaves it unchanged: it has no tools, calls, results or names."""
    return all(map(_is_plain, conversation))


def _is_plain(message: Message) -> bool:
    return (
        not message.tool_calls
        and not message.tools
        and message.name is None
        and message.role != "tool"
    )
