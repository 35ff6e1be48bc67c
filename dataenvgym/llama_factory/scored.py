"""Converts scored records into records for LLaMA-Factory's stages, which ignore weights.

    sft   whole dialogues whose mean weight is high enough (filtered SFT)
    kto   each turn, desirable or not by the sign of its weight
    dpo   pairs of replies to the same beginning, the one with the higher weight as chosen

All three lose the sizes of the weights; the in-process trainer's stage `scored` does not.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from statistics import fmean
from typing import Literal

from dataenvgym.records import (
    ChatDatum,
    Conversation,
    KTODatum,
    Message,
    PreferenceDatum,
    ScoredDatum,
    TrainingDatum,
)
from dataenvgym.tool_formats import LLAMA_FACTORY, ToolFormat

ScoredAs = Literal["sft", "kto", "dpo"]
Segment = int | Literal["tail"]
"""The turns of a pair from the first that differs: a number, or as many as both have."""


def without_weights(
    records: Iterable[TrainingDatum],
    scored_as: ScoredAs,
    *,
    threshold: float = 0.5,
    segment: Segment = 1,
    tool_format: ToolFormat = LLAMA_FACTORY,
) -> list[TrainingDatum]:
    """Convert the scored records into records of that stage; other records are kept and come first.

    Turns that were not scored, and empty replies, are left out. A scored record may give several
    records, or none.

    Args:
        threshold: the smallest mean weight of a dialogue that is used (`sft`).
        segment: how many assistant turns are compared, from the first that differs on (`dpo`).
            LLaMA-Factory supports only pairs of one turn.
        tool_format: writes tools and calls as text (`kto`).
    """
    records = list(records)
    scored = [record for record in records if isinstance(record, ScoredDatum)]
    others = [record for record in records if not isinstance(record, ScoredDatum)]
    match scored_as:
        case "sft":
            return [*others, *_good_dialogues(scored, threshold)]
        case "kto":
            return [*others, *_judged_turns(scored, tool_format)]
        case "dpo":
            return [*others, *_pairs(scored, segment)]


def _good_dialogues(records: Iterable[ScoredDatum], threshold: float) -> Iterator[ChatDatum]:
    for record in records:
        given = [weight for weight in record.weights if weight is not None]
        if given and fmean(given) >= threshold:
            yield ChatDatum(
                messages=record.messages,
                system=record.system,
                tools=record.tools,
                provenance=record.provenance,
            )


def _judged_turns(records: Iterable[ScoredDatum], tool_format: ToolFormat) -> Iterator[KTODatum]:
    from dataenvgym.tasks.prompt_template import prompt_fields

    for record in records:
        plain = tool_format.flatten(record.conversation)
        for i, weight in _turns(plain, record.weights):
            fields = prompt_fields(plain[:i])
            if weight and fields and fields["instruction"] and plain[i].content:
                yield KTODatum(
                    **fields,
                    output=plain[i].content,
                    desirable=weight > 0,
                    provenance=record.provenance,
                )


def _turns(
    messages: Conversation, weights: Sequence[float | None]
) -> Iterator[tuple[int, float | None]]:
    """The position and weight of each assistant turn."""
    places = (i for i, message in enumerate(messages) if message.role == "assistant")
    return zip(places, weights, strict=True)


# --- pairs ----------------------------------------------------------------------------------------


class _Reply:
    """One reply to the same beginning, with its weight in each dialogue that has it."""

    def __init__(self, record: ScoredDatum, at: int) -> None:
        self.record = record
        self.at = at
        self.weights: list[float] = []

    @property
    def segment(self) -> list[Conversation]:
        """The turns from this reply on, each with the messages before it."""
        turns: list[Conversation] = []
        start = self.at
        for end, message in enumerate(self.record.messages[self.at :], start=self.at + 1):
            if message.role != "assistant":
                continue
            if not _says_something(message):
                break
            turns.append(self.record.messages[start:end])
            start = end
        return turns

    @property
    def weight(self) -> float:
        return fmean(self.weights)


def _pairs(records: Iterable[ScoredDatum], segment: Segment) -> Iterator[PreferenceDatum]:
    """Pairs of different replies to the same beginning.

    The best is paired with the worst, and so on inwards, so each reply is in at most one pair.
    """
    beginnings: dict[str, dict[str, _Reply]] = {}
    for record in records:
        keys = _beginnings(record)
        for i, weight in _turns(record.messages, record.weights):
            if weight is None or not _says_something(record.messages[i]):
                continue
            replies = beginnings.setdefault(keys[i], {})
            replies.setdefault(keys[i + 1], _Reply(record, i)).weights.append(weight)
    for replies in beginnings.values():
        ordered = sorted(replies.values(), key=lambda reply: reply.weight, reverse=True)
        both = zip(ordered, reversed(ordered), strict=True)
        for better, worse in takewhile(lambda pair: pair[0].weight > pair[1].weight, both):
            turns = better.segment, worse.segment
            n = min(map(len, turns)) if segment == "tail" else min(segment, *map(len, turns))
            chosen, rejected = (tuple(m for turn in side[:n] for m in turn) for side in turns)
            yield PreferenceDatum(
                messages=better.record.messages[: better.at],
                system=better.record.system,
                tools=better.record.tools,
                chosen=chosen,
                rejected=rejected,
                provenance=better.record.provenance,
            )


def _says_something(message: Message) -> bool:
    return bool(message.content or message.tool_calls)


def _beginnings(record: ScoredDatum) -> list[str]:
    """For each number of messages, from 0 on, a hash of the conversation up to there."""
    opening = record.model_dump_json(include={"system", "tools"})
    hashes = [hashlib.sha256(opening.encode()).hexdigest()]
    for message in record.messages:
        text = hashes[-1] + message.model_dump_json()
        hashes.append(hashlib.sha256(text.encode()).hexdigest())
    return hashes
