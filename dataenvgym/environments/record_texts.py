"""The texts of a training record, and their normalization for comparisons."""

from __future__ import annotations

import re
import unicodedata
from zlib import crc32

from dataenvgym.records import (
    ChatDatum,
    Conversation,
    KTODatum,
    PreferenceDatum,
    ScoredDatum,
    SupervisedDatum,
    TextDatum,
    Tool,
    TrainingDatum,
)


def record_parts(record: TrainingDatum) -> list[str]:
    """Every text of a record: prompt, earlier turns, answers."""
    match record:
        case SupervisedDatum() | KTODatum():
            return [*(m.content for m in record.prompt), record.output]
        case PreferenceDatum():
            said = (*record.prompt, *record.segments[0], *record.segments[1])
            return [*(m.content for m in said), *_calls(said)]
        case ChatDatum() | ScoredDatum():
            contents = (m.content for m in record.messages)
            return [record.system, *contents, *_calls(record.messages)]
        case TextDatum():
            return [record.text]


def _calls(messages: Conversation) -> list[str]:
    return [m.model_dump_json() for m in messages if m.tool_calls]


def record_questions(record: TrainingDatum) -> list[str]:
    """The texts of a record that may be a problem: all except the assistant's."""
    match record:
        case ChatDatum() | ScoredDatum():
            return [record.system, *(m.content for m in record.messages if m.role != "assistant")]
        case TextDatum():
            return [record.text]
        case _:
            return [m.content for m in record.prompt if m.role != "assistant"]


def record_text(record: TrainingDatum) -> str:
    """Everything that distinguishes a record, as one text.

    The tools of a chat become one number, so that shared tools do not make records similar.
    """
    more: list[str] = []
    match record:
        case KTODatum():
            more = [str(record.desirable)]
        case ScoredDatum():
            more = [" ".join(map(str, record.weights)), *_tools_number(record.tools)]
        case ChatDatum():
            more = _tools_number(record.tools)
    return "\n".join([record.kind, *more, *record_parts(record)])


def _tools_number(tools: tuple[Tool, ...]) -> list[str]:
    text = "\n".join(tool.model_dump_json() for tool in tools)
    return [str(crc32(text.encode()))] if tools else []


def normalized(text: str) -> str:
    """Keep casefolded words, numbers and mathematical signs, one space apart; no punctuation."""
    text = _folded(text)
    if text.isascii():
        return " ".join(_ASCII_WORDS.findall(text))
    return " ".join(word for word in _spaced_out(text) if word not in _STOPS)


def words_and_stops(text: str) -> list[str]:
    """Split into casefolded words, numbers, mathematical signs and ends of sentences."""
    text = _folded(text)
    return _ASCII.findall(text) if text.isascii() else _spaced_out(text)


_STOPS = ".?!:;"
_SIGNS = "+*/^<>=%~|$\\#-"
_ASCII = re.compile(rf"[a-z0-9]+|[{re.escape(_SIGNS + _STOPS)}]")
_ASCII_WORDS = re.compile(rf"[a-z0-9]+|[{re.escape(_SIGNS)}]")


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def _spaced_out(text: str) -> list[str]:
    """The words, numbers, signs and stops of any text."""
    spaced = []
    for character in text:
        category = unicodedata.category(character)[0]
        if category in "LMN":  # combining marks are vowels in many scripts: part of words
            spaced.append(character)
        else:
            is_kept = category == "S" or character in _SIGNS or character in _STOPS
            spaced.append(f" {character} " if is_kept else " ")
    return "".join(spaced).split()
