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


def _no_fault(text: str, at: int) -> str | None:
    """Nothing is known of texts that try a call."""
    return None


@dataclass(frozen=True)
class TextFormat:
    """A `ToolFormat` made of four functions, and the marks of its calls.

    Attributes:
        tools: the text that declares tools; it follows on the system message.
        calls: the text of calls; it follows on the assistant's text.
        results: the text of results in a row.
        spans: the calls in a text from a place on, in their order.
        marks: a text without any of these neither has nor tries a call, so that nothing need be
            looked for; empty if there is nothing of the kind.
        is_bare: a call looks like what an answer may be, such as JSON: `read_reply` takes it for
            a call only if it names a declared tool.
        fault: what is wrong with a call that cannot be read, in a text from a place on, in one
            sentence of 200 characters at most; None for a text that tries no call.
    """

    tools: Callable[[Sequence[Tool]], str]
    calls: Callable[[Sequence[ToolCall]], str]
    results: Callable[[Sequence[str]], str]
    spans: Callable[[str, int], Iterable[Span]]
    marks: tuple[str, ...] = ()
    is_bare: bool = False
    fault: Callable[[str, int], str | None] = _no_fault

    def flatten(self, conversation: Conversation) -> Conversation:
        """The conversation in plain turns of system, user and assistant."""
        if is_plain(conversation):
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
        return message_of(text, self.spans(text, end_of_thought(text)))

    def malformed(self, text: str) -> str | None:
        """The fault of a malformed call in the text; None if there is no such call."""
        return self.fault(text, end_of_thought(text))

    def _written(self, message: Message) -> Message:
        calls = self.calls(message.tool_calls) if message.tool_calls else ""
        return Message(role=message.role, content=message.content + calls)

    def _heard(self, turn: Conversation) -> Iterator[str]:
        for is_result, run in groupby(turn, key=lambda message: message.role == "tool"):
            if is_result:
                yield self.results([message.content for message in run])
            else:
                yield from map(spoken, run)


def message_of(text: str, spans: Iterable[Span]) -> Message:
    """The assistant's message that the text is, with the calls in these places."""
    calls, pieces, at = [], [], 0
    for start, end, call in spans:
        calls.append(call)
        pieces.append(text[at:start])
        at = end
    if not calls:
        return Message(role="assistant", content=text)
    first, *others = [*pieces, text[at:]]
    content = first + "".join(piece for piece in others if piece.strip())
    return Message(role="assistant", content=content, tool_calls=tuple(calls))


def spoken(message: Message) -> str:
    """The message's text, after the name of the user who says it."""
    return f"{message.name}: {message.content}" if message.name else message.content


def end_of_thought(text: str) -> int:
    """Where a thought at the beginning of a reply ends; 0 if there is none."""
    if not text.lstrip().startswith("<think>"):
        return 0
    end = text.find("</think>")
    return end if end >= 0 else len(text)


def is_plain(conversation: Conversation) -> bool:
    """Whether every format leaves it as it is: no tools, calls, results and names are in it."""
    return all(map(_is_plain, conversation))


def _is_plain(message: Message) -> bool:
    return (
        not message.tool_calls
        and not message.tools
        and message.name is None
        and message.role != "tool"
    )
