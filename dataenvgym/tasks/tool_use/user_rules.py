"""Rules for a user that a model plays.

If the user breaks a rule, it is at fault, and the student is not judged. Checked at each message:

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

A judge may decide cases that the rules cannot (see `user_judge`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from dataenvgym.tasks.tool_use.said import says
from dataenvgym.tasks.tool_use.users import ModelUser

MOST_CHARACTERS = 8_000
MOST_REPEATS = 4
MOST_WORDS = 4
_BOTH_SIDES = re.compile(r"^[^\w\n]*(?:assistant|agent)[^\w\n]{0,3}:", re.I | re.M)
_SHOWN = 80


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

    def complaint(self, heard: str, text: str, *, stops: bool) -> str | None:
        """The rule that its answer breaks, as a sentence; None if it keeps all."""
        if not text:
            if not stops:
                return "the reply is empty, expected words"
            self._note(heard, text)
            return None if self._has_spoken else "it left before it had said anything"
        if len(text) > MOST_CHARACTERS:
            return f"it said {len(text):,} characters, expected {MOST_CHARACTERS:,} at most"
        if _BOTH_SIDES.search(text):
            return f"it spoke for the assistant: {shown(text)}"
        for words in self._user.must_not_say:
            if says(text, words):
                return f"it said {words!r}, which it must not say: {shown(text)}"
        if not stops and self._is_stuck(heard, text):
            return f"it said the same {MOST_REPEATS} times in a row: {shown(text)}"
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


def shown(text: str) -> str:
    """The text in short, for an error."""
    line = " ".join(text.split())
    return repr(line if len(line) <= _SHOWN else line[:_SHOWN] + "...")
