"""Training records as rows of a LLaMA-Factory dataset.

LLaMA-Factory trains one stage at a time, and each kind of record belongs to one stage:

    stage   kinds               row in the alpaca formatting
    sft     supervised, chat    instruction, input, output, system, history
    dpo     preference          instruction, input, chosen, rejected, system, history
    kto     kto                 instruction, input, output, kto_tag, system, history
    pt      text                text
    scored  scored              none

Stage `scored` is this package's own: LLaMA-Factory has no stage that learns from weights, and
rejects its name; our trainer for it (`trainers.llama_factory`) adds the stage. Its rows are those
of chat records, with the column `weights`.

A `chat` record has no alpaca row: it is written in the sharegpt formatting (conversations, system,
tools). Tools, calls and results, also those of a preference record, are written as text in the
student's form; so the tools column is empty, and LLaMA-Factory has nothing to format in its own
way. Every other prompted record can also be written in this formatting, with the same meaning to
LLaMA-Factory, so a file can hold both supervised and chat records.

All rows of a formatting have the same columns, used or not, because the loader takes a file's
columns from its beginning. Provenance is not a column, because LLaMA-Factory does not use it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from dataenvgym.records import (
    ChatDatum,
    Conversation,
    DatumKind,
    KTODatum,
    PreferenceDatum,
    ScoredDatum,
    SupervisedDatum,
    TrainingDatum,
)
from dataenvgym.records.tool_formats import LLAMA_FACTORY, ToolFormat
from dataenvgym.students.llama_factory.entries import Stage

Row = dict[str, Any]

KINDS: Mapping[Stage, tuple[DatumKind, ...]] = {
    "sft": ("supervised", "chat"),
    "dpo": ("preference",),
    "kto": ("kto",),
    "pt": ("text",),
    "scored": ("scored",),
}


def stage_of(record: TrainingDatum) -> Stage:
    """The stage that trains on such a record."""
    return next(stage for stage, kinds in KINDS.items() if record.kind in kinds)


def format_records_for_epo(
    records: Iterable[ScoredDatum], *, tool_format: ToolFormat = LLAMA_FACTORY
) -> Iterator[Row]:
    """Rows in the form of EPO's code, a fork of LLaMA-Factory, generated lazily.

    A turn of the assistant has its weight as `score`, a text; a turn that was not scored has 0.0.
    EPO's files are a JSON array of such rows, in the sharegpt formatting with the one column
    `messages`. `read_dataset` reads them as scored records.

    Args:
        tool_format: writes tools and calls as text.
    """
    for record in records:
        turns = _turns(tool_format.flatten(record.conversation))
        replies = (turn for turn in turns if turn["from"] == "gpt")
        for turn, weight in zip(replies, record.weights, strict=True):
            turn["score"] = str(weight or 0.0)
        yield {"conversations": turns}


def format_records_for_sdpo(
    records: Iterable[PreferenceDatum], *, tool_format: ToolFormat = LLAMA_FACTORY
) -> Iterator[Row]:
    """Rows in the form of SDPO's code, a fork of LLaMA-Factory: two for each pair, the worse first.

    SDPO's files are a JSON array of such dialogues. `read_sdpo_pairs` reads them.

    Args:
        tool_format: writes tools and calls as text.
    """
    for record in records:
        for answer in reversed(record.segments):
            yield {"conversations": _turns(tool_format.flatten((*record.prompt, *answer)))}


# --- rows -----------------------------------------------------------------------------------------


def _prompted_row(record: SupervisedDatum | KTODatum | PreferenceDatum, **answer: Any) -> Row:
    """An alpaca row; the columns of the answer are between those of the prompt."""
    return {
        "instruction": record.instruction,
        "input": record.input,
        **answer,
        "system": record.system,
        "history": [list(turn) for turn in record.history],
    }


def _preference_row(record: PreferenceDatum, tool_format: ToolFormat) -> Row:
    flat = (tool_format.flatten(answer) for answer in record.segments)
    # a segment becomes turns, which only our trainers learn
    chosen, rejected = (one[0].content if len(one) == 1 else _turns(one) for one in flat)
    row = _prompted_row(record, chosen=chosen, rejected=rejected)
    return row | _plain_prompt(record.prompt, tool_format) if record.messages else row


def as_segment(answer: str | list[dict[str, str]]) -> list[dict[str, str]]:
    """An answer of a row in the form of one with several turns."""
    return [{"from": "gpt", "value": answer}] if isinstance(answer, str) else answer


def _turns(messages: Conversation) -> list[dict[str, str]]:
    names = {"assistant": "gpt", "system": "system"}
    return [{"from": names.get(m.role, "human"), "value": m.content} for m in messages]


def _plain_prompt(prompt: Conversation, tool_format: ToolFormat) -> Row:
    """The columns of a conversation whose plain turns fit alpaca's history."""
    messages = tool_format.flatten(prompt)
    leads = messages[0].role == "system"
    *earlier, last = (message.content for message in messages[leads:])
    return {
        "instruction": last,
        "system": messages[0].content if leads else "",
        "history": [list(turn) for turn in zip(earlier[::2], earlier[1::2], strict=True)],
    }


def _chat_row(record: ChatDatum | ScoredDatum, tool_format: ToolFormat) -> Row:
    messages = tool_format.flatten(record.conversation)
    leads = messages[0].role == "system"
    system = messages[0].content if leads else ""
    row: Row = {"conversations": _turns(messages[leads:]), "system": system, "tools": ""}
    return row | {"weights": list(record.weights)} if isinstance(record, ScoredDatum) else row


def as_sharegpt(row: Row) -> Row:
    """The row of the sharegpt formatting with the same meaning as the alpaca row."""
    turns = []
    for question, reply in row["history"]:
        turns.append({"from": "human", "value": question})
        turns.append({"from": "gpt", "value": reply})
    instruction, more = row["instruction"], row["input"]
    turns.append({"from": "human", "value": f"{instruction}\n{more}" if more else instruction})
    if "output" in row:
        turns.append({"from": "gpt", "value": row["output"]})
    new: Row = {"conversations": turns, "system": row["system"], "tools": ""}
    for side in ("chosen", "rejected"):
        if side in row:
            answer = row[side]
            new[side] = {"from": "gpt", "value": answer} if isinstance(answer, str) else answer
    if "kto_tag" in row:
        new["kto_tag"] = row["kto_tag"]
    return new


_ROW_OF: Mapping[str, Callable[..., Row]] = {
    "supervised": lambda record, tool_format: _prompted_row(record, output=record.output),
    "chat": _chat_row,
    "scored": _chat_row,
    "preference": _preference_row,
    "kto": lambda record, tool_format: _prompted_row(
        record, output=record.output, kto_tag=record.desirable
    ),
    "text": lambda record, tool_format: {"text": record.text},
}


def row_of(record: TrainingDatum, tool_format: ToolFormat) -> Row:
    """The row of a record: sharegpt for conversations, alpaca otherwise."""
    return _ROW_OF[record.kind](record, tool_format=tool_format)
