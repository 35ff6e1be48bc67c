"""Records as prompts and completions, for students without a chat template.

Each record becomes one text to complete, and its completion. LLaMA-Factory's template "empty" adds
no text at all, so both are written into the dataset as they are trained: the prompt begins with the
token that the tokenizer puts before any text, if there is one, and the completion ends with the
token that ends a text. Plain texts stay as they are, because stage `pt` adds these tokens.
"""

from __future__ import annotations

from collections.abc import Sequence

from dataenvgym.errors import ConfigurationError
from dataenvgym.records import (
    ChatDatum,
    Conversation,
    Message,
    PreferenceDatum,
    ScoredDatum,
    TextDatum,
    TrainingDatum,
)
from dataenvgym.records.tool_formats import COMPLETION, is_plain


def as_completions(records: Sequence[TrainingDatum], student: str) -> list[TrainingDatum]:
    """The records in this form for that student; the loss is on the completion.

    Raises:
        ConfigurationError: for a record with tools or more than one turn.
    """
    from dataenvgym.students.trainers.student import load_tokenizer

    tokenizer = load_tokenizer(student)
    begin, end = tokenizer.decode(tokenizer.encode("")), tokenizer.eos_token
    return [_completion(record, begin, end) for record in records]


def _completion(record: TrainingDatum, begin: str, end: str) -> TrainingDatum:
    if isinstance(record, TextDatum):
        return record
    (prompt,) = COMPLETION.flatten(record.prompt)
    asked = begin + prompt.content
    if isinstance(record, ChatDatum | ScoredDatum):
        reply = _text(record.messages[-1:]) + end
        messages = (
            Message(role="user", content=asked),
            Message(role="assistant", content=reply),
        )
        return record.model_copy(update={"messages": messages, "system": "", "tools": ()})
    alone = {"instruction": asked, "input": "", "system": "", "history": ()}
    if isinstance(record, PreferenceDatum):
        chosen, rejected = (_text(segment) + end for segment in record.segments)
        answers = {"chosen": chosen, "rejected": rejected, "messages": (), "tools": ()}
        return record.model_copy(update={**alone, **answers})
    return record.model_copy(update={**alone, "output": record.output + end})


def _text(answer: Conversation) -> str:
    if len(answer) != 1 or not is_plain(answer):
        raise ConfigurationError(
            "student.format is 'completion', and this answer calls tools or has several turns: "
            "expected one text. Use student.format=chat, or an engine that writes single replies"
        )
    return answer[0].content
