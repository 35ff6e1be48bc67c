"""The user in one conversation: a script, or a model with a view of its own.

A model in the user's seat sees its instructions and the conversation with exchanged roles: the
student's messages are "user" there. It sees neither the policy nor the student's calls. If the
world has tools for the user's seat, it may call them: the calls run in the world, and it sees their
results before it speaks.

If such a user breaks a rule, it is at fault, and the student is not judged. Checked at each
message:

    empty        it says nothing, and does not leave either
    first        it leaves before it has said anything
    long         it says more than `MOST_CHARACTERS`
    both sides   a line of its message begins with "Assistant:": it speaks for the assistant
    forbidden    it says one of `must_not_say`
    calls        it calls a tool of the assistant, or calls tools without end
    repeats      it says the same `MOST_REPEATS` times in a row, to different messages of the
                 student

Checked at the end of a conversation that is not solved:

    withheld     the student asked for one of its `facts`, and it answered without ever telling it
                 (not if the student's failed calls ended the conversation)
    lingers      all components hold, but it has not left, although the student has spoken to it
                 `MOST_WORDS` times without further calls (scripted users, too)

A judge may decide cases that the rules cannot (see `components`).
"""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from typing import Any, NamedTuple

from dataenvgym.domains.tool_use.fact_matching import says
from dataenvgym.domains.tool_use.users import ModelUser, ScriptedUser
from dataenvgym.errors import SpeakerError, shorten
from dataenvgym.interfaces import Ask, Reply, SamplingParameters
from dataenvgym.records import Message
from dataenvgym.records.tool_formats import malformed_call, read_reply
from dataenvgym.tasks.worlds.world import World

MOST_CHARACTERS = 8_000
MOST_REPEATS = 4
MOST_WORDS = 4
MOST_CALLING = 10
"""Largest number of replies with calls that such a user may give before it speaks."""
_BOTH_SIDES = re.compile(r"^[^\w\n]*(?:assistant|agent)[^\w\n]{0,3}:", re.I | re.M)
_SHOWN = 80
_GREETING = "Hi! How can I help you today?"  # chat templates want a first turn of the other side
_PLAY = """\
You are a user who speaks to an assistant. Say only what this user would say, in one short \
message; never speak for the assistant. When your request is fulfilled, or the assistant cannot \
help you, say {stop}

{instructions}"""
_FACTS = "What you know, and tell only when you are asked for it:"


class Spoken(NamedTuple):
    """The user's words, and whether it leaves with them."""

    text: str
    stops: bool


class ScriptSeat:
    """A scripted user in one conversation.

    Attributes:
        memory: the state of its script; None before its first answer.
    """

    def __init__(self, script: ScriptedUser, world: World[Any]) -> None:
        self._script, self._world = script, world
        self.memory: str | None = None

    def answer(self, heard: str) -> Generator[Ask, Reply, Spoken]:
        """Its answer to these words; "" asks for its first message."""
        yield from ()  # no model is asked
        line, state = self._script.line(self.memory, heard)
        for call in line.calls:
            result = self._world.call(call, "user")
            if result.error is not None:
                return Spoken(result.content, stops=False)
        self.memory = state
        return Spoken(line.say, line.stop)


class ModelSeat:
    """A user played by the speaker "user" in one conversation.

    Args:
        opening: its first message; "" if it speaks first.
        sampling: how its replies are drawn.
        before: the messages before the conversation, from its view.

    Attributes:
        memory: the conversation from its view.
    """

    def __init__(
        self,
        user: ModelUser,
        world: World[Any],
        opening: str,
        sampling: SamplingParameters,
        before: Sequence[Message] = (),
    ) -> None:
        self.conduct = Conduct(user, opening)
        self._world, self._sampling = world, sampling
        self._tools = world.tools("user")
        own = {tool.name for tool in self._tools}
        self._assistants = tuple(tool for tool in world.tools() if tool.name not in own)
        system = Message(role="system", content=_prompt(user), tools=self._tools)
        declared = (*self._tools, *self._assistants)
        self._declares = (system.model_copy(update={"tools": declared}),)
        self._stop = re.compile("|".join(map(re.escape, user.stops)))
        self.memory: tuple[Message, ...] = (system,)
        if not before or before[0].role != "user":
            self.memory += (Message(role="user", content=_GREETING),)
        self.memory += tuple(before)
        if opening:
            self.memory += (Message(role="assistant", content=opening),)

    def answer(self, heard: str) -> Generator[Ask, Reply, Spoken]:
        """Its answer to these words; "" asks for its first message.

        Raises:
            SpeakerError: if it breaks a rule (see above).
        """
        if self.memory[-1].role != "user":
            self.memory += (Message(role="user", content=heard or "(no words)"),)
        words: list[str] = []
        for _ in range(MOST_CALLING + 1):
            said = (yield Ask("user", self.memory, self._sampling)).text
            stop = self._stop.search(said)
            message = self._read(said[: stop.start()] if stop else said)
            words.append(message.content)
            if self._ran(message) and not stop:
                continue
            said = "\n".join(part for each in words if (part := each.strip()))
            broken_rule = self.conduct.broken_rule(heard, said, stops=bool(stop))
            if broken_rule is not None:
                raise SpeakerError(f"user: {broken_rule}")
            if not message.tool_calls:
                self.memory += (Message(role="assistant", content=message.content.strip()),)
            return Spoken(said, bool(stop))
        raise SpeakerError(f"user: it called tools in {MOST_CALLING} replies and did not speak")

    def _read(self, text: str) -> Message:
        """Its message, with calls if it has tools."""
        plain = Message(role="assistant", content=text)
        if len(text) > MOST_CHARACTERS:
            return plain
        message = read_reply(self._declares, text).message
        names = {tool.name for tool in self._assistants}
        for call in message.tool_calls:
            if call.name in names:
                reason = f"it called {call.name}, a tool of the assistant: {_shown(text)}"
                raise SpeakerError(f"user: {reason}")
        return message if self._tools else plain

    def _ran(self, message: Message) -> bool:
        """Run its calls and add their results to its view; False if it made none."""
        malformed = malformed_call(message.content) if self._tools else None
        if not message.tool_calls and malformed is None:
            return False
        results = [self._world.call(call, "user").content for call in message.tool_calls]
        results += [] if malformed is None else [f"Error: {malformed}"]
        self.memory += (message, *(Message(role="tool", content=each) for each in results))
        return True


def _prompt(user: ModelUser) -> str:
    if user.guidelines:
        text = f"{user.guidelines}\n\n{user.instructions}"
    else:
        text = _PLAY.format(stop=user.stops[0], instructions=user.instructions)
    if not user.facts:
        return text
    facts = (f"- {fact.asked[0]}: {fact.tell}" for fact in user.facts)
    return "\n".join((text, "", _FACTS, *facts))


UserSeat = ScriptSeat | ModelSeat


class Conduct:
    """Checks the behavior of a user, played by a model, in one conversation.

    Args:
        opening: its first message, if that was given.
    """

    def __init__(self, user: ModelUser, opening: str) -> None:
        self._user = user
        self._asked: set[int] = set()
        self._told = {i for i, fact in enumerate(user.facts) if says(opening, fact.tell)}
        self._has_spoken = bool(opening)
        self._same: list[str] = []  # the words that it heard before each of its equal messages
        self._last = ""

    def broken_rule(self, heard: str, text: str, *, stops: bool) -> str | None:
        """The rule that its answer breaks, as a sentence; None if it keeps all."""
        if not text:
            if not stops:
                return "the reply is empty, expected words"
            self._note(heard, text)
            return None if self._has_spoken else "it left before it had said anything"
        if len(text) > MOST_CHARACTERS:
            return f"it said {len(text):,} characters, expected {MOST_CHARACTERS:,} at most"
        if _BOTH_SIDES.search(text):
            return f"it spoke for the assistant: {_shown(text)}"
        for words in self._user.must_not_say:
            if says(text, words):
                return f"it said {words!r}, which it must not say: {_shown(text)}"
        if not stops and self._is_stuck(heard, text):
            return f"it said the same {MOST_REPEATS} times in a row: {_shown(text)}"
        self._has_spoken = True
        self._note(heard, text)
        return None

    def withheld(self) -> Sequence[str]:
        """The facts that the student asked for and the user did not tell."""
        return [self._user.facts[i].tell for i in sorted(self._asked - self._told)]

    def _is_stuck(self, heard: str, text: str) -> bool:
        alike = " ".join(text.casefold().split())
        if alike != self._last or heard in self._same:
            self._same = []
        self._last = alike
        self._same.append(heard)
        return len(self._same) >= MOST_REPEATS

    def _note(self, heard: str, text: str) -> None:
        heard = heard.casefold()
        for i, fact in enumerate(self._user.facts):
            if any(words.casefold() in heard for words in fact.asked):
                self._asked.add(i)
            if i not in self._told and says(text, fact.tell):
                self._told.add(i)


def _shown(text: str) -> str:
    return repr(shorten(" ".join(text.split()), _SHOWN))
