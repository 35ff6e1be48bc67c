"""Converts scored records into records for LLaMA-Factory's stages, which ignore weights.

    sft   whole dialogues whose mean weight is high enough (filtered SFT)
    kto   each turn, desirable or not by the sign of its weight
    dpo   pairs of replies to the same beginning, the one with the higher weight as chosen

All three lose the sizes of the weights; stage `scored` of our trainers does not.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
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
from dataenvgym.records.tool_formats import LLAMA_FACTORY, ToolFormat

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


@dataclass(frozen=True)
class _Tail:
    """A reply with the turns after it that are compared, and its weight in each such dialogue.

    Attributes:
        reply: identifies the reply; tails of the same reply do not differ at this turn.
        turns: the reply and the following ones, each with the messages before it.
    """

    record: ScoredDatum
    at: int
    reply: str
    turns: Sequence[Conversation]
    weights: list[float] = field(default_factory=list)

    @property
    def weight(self) -> float:
        return fmean(self.weights)


def _pairs(records: Iterable[ScoredDatum], segment: Segment) -> Iterator[PreferenceDatum]:
    """Pairs of different replies to the same beginning, the one with the higher weight as chosen.

    The best tail is paired with the worst, and so on inwards, so each is in at most one pair. Tails
    have the weights of their own dialogues: of dialogues with the same reply, one may end well and
    another badly.
    """
    beginnings: dict[str, dict[str, _Tail]] = {}
    for record in records:
        keys = _beginnings(record)
        for i, weight in _turns(record.messages, record.weights):
            if weight is None or not _says_something(record.messages[i]):
                continue
            turns = _turns_from(record.messages, i)[: None if segment == "tail" else segment]
            tail = _Tail(record, i, keys[i + 1], turns)
            end = i + sum(map(len, turns))
            beginnings.setdefault(keys[i], {}).setdefault(keys[end], tail).weights.append(weight)
    for tails in beginnings.values():
        left = sorted(tails.values(), key=lambda tail: tail.weight, reverse=True)
        while left:
            better = left.pop(0)
            differ = (t for t in reversed(left) if t.reply != better.reply)
            worse = next(differ, better)
            if worse.weight >= better.weight:
                continue
            left.remove(worse)
            n = min(len(better.turns), len(worse.turns))
            chosen, rejected = (
                tuple(message for turn in tail.turns[:n] for message in turn)
                for tail in (better, worse)
            )
            yield PreferenceDatum(
                messages=better.record.messages[: better.at],
                system=better.record.system,
                tools=better.record.tools,
                chosen=chosen,
                rejected=rejected,
                provenance=better.record.provenance,
            )


def _turns_from(messages: Conversation, at: int) -> list[Conversation]:
    """The assistant's turns from a position up to an empty one, with the messages before each."""
    turns: list[Conversation] = []
    start = at
    for end, message in enumerate(messages[at:], start=at + 1):
        if message.role != "assistant":
            continue
        if not _says_something(message):
            break
        turns.append(messages[start:end])
        start = end
    return turns


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
