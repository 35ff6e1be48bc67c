"""Training records as tokens and labels, for each stage.

A label is the token itself if it should be learned, else `IGNORED`. Long examples are cut as in
LLaMA-Factory: a turn's prompt and response share the remaining room, in favor of the shorter one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any

from dataenvgym.records import (
    ChatDatum,
    Conversation,
    KTODatum,
    Message,
    PreferenceDatum,
    ScoredDatum,
    SupervisedDatum,
    TextDatum,
)
from dataenvgym.trainers.chat_format import ChatFormat, TrainingTurn

IGNORED = -100

# LLaMA-Factory processes a dataset in pieces of this size, and two things happen only within a
# piece: texts are packed, and KTO's mismatched answers are drawn.
_PIECE = 1000


@dataclass(frozen=True, slots=True)
class Example:
    """Tokens and their labels, of equal number; `n_cut` more tokens had no room."""

    tokens: list[int]
    labels: list[int]
    n_cut: int = 0


def without_labels(example: Example) -> Example:
    """The example with nothing to learn."""
    return replace(example, labels=[IGNORED] * len(example.labels))


def with_all_labels(example: Example) -> Example:
    """The example with its prompt to learn, too (LLaMA-Factory: `train_on_prompt`)."""
    return replace(example, labels=list(example.tokens))


@dataclass(frozen=True, slots=True)
class Pair:
    """The same prompt with a better and a worse answer."""

    chosen: Example
    rejected: Example


@dataclass(frozen=True, slots=True)
class Judged:
    """An answer that is desirable or not, and another record's answer to the same prompt."""

    example: Example
    mismatched: Example
    desirable: bool


@dataclass(frozen=True, slots=True)
class Scored:
    """A conversation, with the weight and the number of tokens of each assistant turn."""

    example: Example
    weights: list[float | None]
    lengths: list[int]


def supervised_examples(
    records: Sequence[SupervisedDatum | ChatDatum], tokenizer: Any, cutoff: int
) -> list[Example]:
    """Stage `sft`: every reply of every record is learned, with its ending."""
    form = ChatFormat.parse(tokenizer)
    conversations = [form.turns(record.conversation) for record in records]
    pieces = _Pieces(tokenizer, (turn for turns in conversations for turn in turns))
    return [_conversation(turns, pieces, cutoff) for turns in conversations]


def preference_examples(
    records: Sequence[PreferenceDatum], tokenizer: Any, cutoff: int
) -> list[Pair]:
    """Stage `dpo`. In segments, a turn that does not fit is left out on both sides, and all later.

    The turns that only one side has are learned too, as far as they fit.
    """
    form = ChatFormat.parse(tokenizer)
    sides = [
        tuple(_segment(form, record.prompt, answer) for answer in record.segments)
        for record in records
    ]
    pieces = _Pieces(tokenizer, (turn for both in sides for turns in both for turn in turns))
    return [_pair(chosen, rejected, pieces, cutoff) for chosen, rejected in sides]


def judged_examples(records: Sequence[KTODatum], tokenizer: Any, cutoff: int) -> list[Judged]:
    """Stage `kto`; the mismatched answer is that of the previous record."""
    form = ChatFormat.parse(tokenizer)
    turns = []
    for start in range(0, len(records), _PIECE):
        piece = records[start : start + _PIECE]
        for i, record in enumerate(piece):
            own, other = record.output, piece[i - 1].output
            turns.append(
                (
                    form.last_turn((*record.prompt, _reply(own))),
                    form.last_turn((*record.prompt, _reply(other))),
                )
            )
    pieces = _Pieces(tokenizer, (turn for both in turns for turn in both))
    return [
        Judged(
            example=_conversation([own], pieces, cutoff),
            mismatched=_conversation([other], pieces, cutoff),
            desirable=record.desirable,
        )
        for record, (own, other) in zip(records, turns, strict=True)
    ]


def scored_examples(records: Sequence[ScoredDatum], tokenizer: Any, cutoff: int) -> list[Scored]:
    """Stage `scored`: every reply is learned by its weight.

    A turn that does not fit completely is left out, with its weight and all later turns, because
    a weight is for a whole turn. So a record may keep no turns.
    """
    form = ChatFormat.parse(tokenizer)
    conversations = [form.turns(record.conversation) for record in records]
    pieces = _Pieces(tokenizer, (turn for turns in conversations for turn in turns))
    return [
        _scored(turns, record.weights, pieces, cutoff)
        for record, turns in zip(records, conversations, strict=True)
    ]


def text_examples(
    records: Sequence[TextDatum], tokenizer: Any, cutoff: int, *, packing: bool
) -> list[Example]:
    """Stage `pt`: every token is learned.

    With packing, texts fill blocks of `cutoff` tokens; an incomplete block is left out.
    """
    texts = [record.text + tokenizer.eos_token for record in records]
    begins = getattr(tokenizer, "add_bos_token", False)
    if not packing:
        if begins:
            texts = [tokenizer.bos_token + text for text in texts]
        found = _tokenize(tokenizer, texts)
        return [_all_learned(t[:cutoff], tokenizer, n_cut=len(t[cutoff:])) for t in found]
    blocks = []
    for start in range(0, len(texts), _PIECE):
        tokens = [t for text in _tokenize(tokenizer, texts[start : start + _PIECE]) for t in text]
        for begin in range(0, len(tokens) - cutoff + 1, cutoff):
            block = tokens[begin : begin + cutoff]
            if begins:
                block[0] = tokenizer.bos_token_id
            blocks.append(_all_learned(block, tokenizer))
    return blocks


# --- the pieces of a turn -------------------------------------------------------------------------


class _Pieces:
    """The tokens of every piece of many turns, made in one call of the tokenizer."""

    def __init__(self, tokenizer: Any, turns: Iterable[TrainingTurn]) -> None:
        texts = dict.fromkeys(text for turn in turns for text in (*turn.prompt, *turn.response))
        self._tokens = dict(zip(texts, _tokenize(tokenizer, list(texts)), strict=True))

    def of(self, texts: tuple[str, ...]) -> list[int]:
        return [token for text in texts for token in self._tokens[text]]


def _tokenize(tokenizer: Any, texts: list[str]) -> list[list[int]]:
    tokens: list[list[int]] = tokenizer(texts, add_special_tokens=False)["input_ids"]
    return tokens


def _conversation(turns: Sequence[TrainingTurn], pieces: _Pieces, cutoff: int) -> Example:
    tokens: list[int] = []
    labels: list[int] = []
    for turn in turns:
        if (room := cutoff - len(tokens)) <= 0:
            break
        prompt, response = pieces.of(turn.prompt), pieces.of(turn.response)
        n_prompt, n_response = shared_room(len(prompt), len(response), room)
        tokens += prompt[:n_prompt] + response[:n_response]
        labels += [IGNORED] * n_prompt + response[:n_response]
    return _counting_cut(Example(tokens, labels), turns, pieces)


def _scored(
    turns: Sequence[TrainingTurn], weights: Sequence[float | None], pieces: _Pieces, cutoff: int
) -> Scored:
    scored = Scored(Example([], []), [], [])
    tokens, labels = scored.example.tokens, scored.example.labels
    for turn, weight in zip(turns, weights, strict=True):
        prompt, response = pieces.of(turn.prompt), pieces.of(turn.response)
        if len(tokens) + len(prompt) + len(response) > cutoff:
            break
        tokens += prompt + response
        labels += [IGNORED] * len(prompt) + response
        scored.weights.append(weight)
        scored.lengths.append(len(response))
    return scored


def _segment(form: ChatFormat, prompt: Conversation, answer: Conversation) -> list[TrainingTurn]:
    """The turns of an answer; the first one has the whole prompt."""
    first = form.last_turn((*prompt, answer[0]))
    n_more = sum(message.role == "assistant" for message in answer[1:])
    return [first, *form.turns((*prompt, *answer))[-n_more:]] if n_more else [first]


def _pair(
    chosen: Sequence[TrainingTurn], rejected: Sequence[TrainingTurn], pieces: _Pieces, cutoff: int
) -> Pair:
    prompt = pieces.of(chosen[0].prompt)
    better, worse = pieces.of(chosen[0].response), pieces.of(rejected[0].response)
    n_prompt, n_response = shared_room(len(prompt), max(len(better), len(worse)), cutoff)
    pair = Pair(
        *(
            Example(
                prompt[:n_prompt] + response[:n_response],
                [IGNORED] * n_prompt + response[:n_response],
            )
            for response in (better, worse)
        )
    )
    for both in zip_longest(chosen[1:], rejected[1:]):
        sides = [
            (side, pieces.of(turn.prompt), pieces.of(turn.response))
            for side, turn in zip((pair.chosen, pair.rejected), both, strict=True)
            if turn is not None
        ]
        if any(len(side.tokens) + len(p) + len(r) > cutoff for side, p, r in sides):
            break
        for side, heard, said in sides:
            side.tokens.extend(heard + said)
            side.labels.extend([IGNORED] * len(heard) + said)
    return Pair(
        _counting_cut(pair.chosen, chosen, pieces), _counting_cut(pair.rejected, rejected, pieces)
    )


def _counting_cut(example: Example, turns: Sequence[TrainingTurn], pieces: _Pieces) -> Example:
    n_tokens = sum(len(pieces.of((*turn.prompt, *turn.response))) for turn in turns)
    return replace(example, n_cut=n_tokens - len(example.tokens))


def shared_room(n_prompt: int, n_response: int, room: int) -> tuple[int, int]:
    """How many tokens of a prompt and of its response are kept if there is room for `room`.

    A response that takes less than half of the room is kept whole and the prompt is cut, or the
    other way round; otherwise both are cut in proportion.
    """
    if 2 * n_response < room:
        limit = room
    elif 2 * n_prompt < room:
        limit = room - n_prompt
    else:
        limit = int(room * (n_response / (n_prompt + n_response)))
    n_response = min(n_response, limit)
    return min(n_prompt, max(room - n_response, 0)), n_response


def padding_token(tokenizer: Any) -> int:
    """The token for padding a batch."""
    token = tokenizer.pad_token_id
    return int(tokenizer.eos_token_id if token is None else token)


def _all_learned(tokens: list[int], tokenizer: Any, n_cut: int = 0) -> Example:
    # this stage recognizes padding by its token, so a text's own tokens like it are not learned
    pad = padding_token(tokenizer)
    return Example(tokens, [IGNORED if token == pad else token for token in tokens], n_cut)


def _reply(text: str) -> Message:
    return Message(role="assistant", content=text)
