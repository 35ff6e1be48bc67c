"""The base of formats, and formats that write everything as text: plain turns only.

The tools go into the system message and calls into the assistant's text. The messages of others
between two replies are one user turn, if results or named users are among them. For students
without a chat template there is `COMPLETION`: one bare text, which a reply completes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal, NamedTuple, get_args

from dataenvgym.errors import ConfigurationError, check_one_of
from dataenvgym.records.conversations import (
    Conversation,
    Message,
    Tool,
    ToolCall,
    is_one_turn,
    turns_of,
)
from dataenvgym.records.tool_formats.json_calls import Span
from dataenvgym.records.tool_formats.thoughts import blanked


class Read(NamedTuple):
    """A message with calls, and where they begin in its text."""

    start: int
    message: Message


class ToolFormat:
    """Writes tools into conversations, and parses calls.

    Attributes:
        marks: a text without any of these contains and attempts no call, so it need not be
            searched; empty if there are no such marks.
        is_bare: a call looks like a possible answer, such as JSON; `read_reply` accepts it only if
            it names a declared tool.
    """

    marks: tuple[str, ...] = ()
    is_bare: bool = False

    def flatten(self, conversation: Conversation) -> Conversation:
        """The conversation in the form for a chat template (or an API); the default is as it is.

        A conversation without tools, calls, results and names is returned unchanged.
        """
        return conversation

    def read(self, text: str, hidden: str, missing: str) -> Read | None:
        """The message with the calls in a text; None if there are none. A malformed call stays.

        It never raises, and takes linear time, because the text may come from any model.

        Args:
            hidden, missing: see `thoughts.blanked`.
        """
        return None

    def fault(self, text: str, at: int, /) -> str | None:
        """The fault of a malformed call in a text from a position on, in one sentence.

        It has at most 200 characters; None if the text attempts no call.
        """
        return None

    def parse(self, text: str) -> Message:
        """Parse a text into the assistant's message; calls in its thoughts do not count."""
        found = self.read(text, *blanked(text))
        return found.message if found else Message(role="assistant", content=text)


def _no_fault(text: str, at: int) -> str | None:
    """No fault: the format cannot recognize attempted calls."""
    return None


@dataclass(frozen=True)
class TextFormat(ToolFormat):
    """A `ToolFormat` made of four functions, and the marks of its calls.

    Attributes:
        tools: writes the text that declares tools; it follows the system message.
        calls: writes calls; they follow the assistant's text.
        results: writes consecutive results.
        spans: finds the calls in a text from a position on, in order.
        fault: see `ToolFormat`.
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

    def read(self, text: str, hidden: str, missing: str) -> Read | None:
        """See `ToolFormat`."""
        spans = list(self.spans(hidden, 0))
        return message_of(text, spans, missing, self.between) if spans else None

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


def message_of(text: str, spans: Sequence[Span], missing: str, between: str = "") -> Read:
    """The assistant's message for the text, with the calls at these positions.

    A thought that never ends gets an end, because its calls are written behind it.
    """
    pieces, at = [], 0
    for start, end, _ in spans:
        pieces.append(text[at:start])
        at = end
    first, *others = [*pieces, text[at:]]
    content = first.removesuffix(between) + "".join(piece for piece in others if piece.strip())
    calls = tuple(call for _, _, call in spans)
    return Read(spans[0][0], Message(role="assistant", content=content + missing, tool_calls=calls))


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


class CompletionFormat(ToolFormat):
    """Writes a conversation as the one text to complete; a reply has no calls.

    There are no roles in such a text. So a conversation is at most a system message, which comes
    first, and one message to answer; tools and further turns are refused.
    """

    def flatten(self, conversation: Conversation) -> Conversation:
        """The prompt as one user message.

        Raises:
            ConfigurationError: if the conversation has more turns than one, tools or names.
        """
        has_system = conversation[0].role == "system"
        system = [conversation[0].content] if has_system and conversation[0].content else []
        last, n_turns = conversation[-1], len(conversation) - has_system
        if n_turns != 1 or last.role != "user" or not is_plain(conversation):
            found = "tools or names of speakers" if n_turns == 1 else f"{n_turns} turns"
            raise ConfigurationError(
                f"student.format is 'completion', and this conversation has {found}: expected one "
                "text to complete, with a system message at most. Use student.format=chat and a "
                "student with a chat template, or a task whose problems take one reply"
            )
        return (Message(role="user", content="\n\n".join([*system, last.content])),)


COMPLETION = CompletionFormat()

StudentFormat = Literal["chat", "completion"]


def is_completion(format: StudentFormat, tool_format: str | None) -> bool:
    """Whether a predictor with these two options writes no chat template.

    Raises:
        ConfigurationError: for another format, and for a tool format that would have no effect.
    """
    check_one_of(get_args(StudentFormat), format=format)
    if format == "completion" and tool_format is not None:
        raise ConfigurationError(
            f"tool_format is {tool_format!r} and format 'completion', in which there are no tools: "
            "leave tool_format out, or set student.format=chat"
        )
    return format == "completion"
