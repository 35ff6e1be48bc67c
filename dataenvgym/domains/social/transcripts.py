"""Scenes as teachers read and write them, turn by turn.

    Scene: [Person 2] says: I pay 3 euros.
    You: I say 6 euros.
    Scene: [Person 2] leaves: Deal.

"You" is the student; "Scene" is what it notices before its next message, in the words of `prompts`.
Further lines of a message are indented. In a record, each message is a turn of its own: a scene in
one reply would teach the student to write the other side's words, too (`is_transcript`).
"""

from __future__ import annotations

import re
from typing import Literal

from dataenvgym.domains.social.prompts import EVENT, Lines

HOW_TO_WRITE = """In a record, a message of the student begins with "You: ", and what it notices \
before its next message begins with "Scene: ", each on a new line. Further lines of a message \
begin with four spaces. What others do is written as one of:
Scene: [NAME] says: WORDS
Scene: [NAME] shows without words: WHAT
Scene: [NAME] does: WHAT
Scene: [NAME] leaves: WORDS
Scene: (Nothing else happens.)"""

_Writer = Literal["assistant", "user"]
_ROLES: dict[str, _Writer] = {"You": "assistant", "Scene": "user"}
_MARK = re.compile(r"(You|Scene):[ \t]*(.*)", re.DOTALL)
_NOTE = re.compile(r"\(.*\)")
_SAYS = re.compile(r" (?:says?|said|asks|replies|answers|does|leaves|shows without words)$")
_PART = re.compile(r"person \d+|scene|student|partner|assistant|user|buyer|seller|other", re.I)
_NAME = re.compile(r"(?:(?<=\[)|(?<=[\w,] ))[^\W\da-z_][\w'-]+")  # also in the middle of a sentence


def shown_scene(lines: Lines) -> str:
    """The lines as a teacher reads them."""
    marks = {role: mark for mark, role in _ROLES.items()}
    turns = (f"{marks[role]}: {text}".split("\n") for role, text in lines)
    return "\n".join("\n    ".join(turn) for turn in turns)


def read_scene(text: str) -> Lines | None:
    """The lines that a teacher wrote, in turns; None if it is not a scene in this form.

    Neighboring lines of the scene become one. Two messages of the student without a line of the
    scene between them are not a scene: the environment would have answered the first one.
    """
    turns: list[tuple[_Writer, list[str]]] = []
    for line in text.split("\n"):
        role, said = None, line.removeprefix("    ")
        if found := _MARK.fullmatch(line):
            role, said = _ROLES[found[1]], found[2]
        if role == "assistant" and turns and turns[-1][0] == "assistant":
            return None
        if role is not None and (not turns or turns[-1][0] != role):
            turns.append((role, [said]))
        elif turns:
            turns[-1][1].append(said)
        elif said.strip():
            return None
    lines: Lines = [(role, "\n".join(said).rstrip()) for role, said in turns]
    are_events = all(
        EVENT.fullmatch(line) or _NOTE.fullmatch(line) or (number and line.startswith("    "))
        for role, said in lines
        if role == "user"
        for number, line in enumerate(said.split("\n"))
    )
    return lines if are_events and any(role == "assistant" for role, _ in lines) else None


def is_transcript(said: str, prompt: str) -> bool:
    """Whether a message of the student also has the words of others, as lines of a scene.

    It has if it begins like a line of `shown_scene`, if a line is an event of a scene, or if a line
    after the first begins with the name of a speaker: a role ("Buyer:"), or a name in the prompt.
    """
    names = set(_NAME.findall(prompt))
    for number, line in enumerate(said.split("\n")):
        plain = line.strip(" \t>*_#-")
        if EVENT.fullmatch(plain) or plain.startswith("Scene:"):
            return True
        head, colon, _ = plain.partition(":")
        name = _SAYS.sub("", head.strip(" *_[]")).strip(" *_[]")
        if not colon or not name or len(name) > 60:
            continue
        if number == 0 and name == "You":
            return True
        if number and (_PART.fullmatch(name) or name.split()[0] in names):
            return True
    return False
