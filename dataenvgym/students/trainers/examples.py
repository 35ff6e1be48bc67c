"""Training records as tokens and labels, for each stage.

A label is the token itself if it should be learned, else `IGNORED`. Long examples are cut as in
LLaMA-Factory: a turn's prompt and response share the remaining room, in favor of the shorter one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
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
from dataenvgym.students.trainers.chat_format import ChatFormat, TrainingTurn

IGNORED = -100

# LLaMA-Factory processes a dataset in pieces of this size, and two things happen only within a
# piece: texts are packed, and KTO's mismatched answers are drawn.
_PIECE = 1000


@dataclass(frozen=True, slots=True)
class Example:
    """Tokens and their labels, of equal number; `n_cut` more tokens had no room.

    Attributes:
        before: earlier replies of the record, each after the prompt that it had, if the template
            writes that prompt differently later (Qwen3 leaves out the thoughts of earlier turns).
    """

    tokens: list[int]
    labels: list[int]
    n_cut: int = 0
    before: tuple[Example, ...] = ()

    @property
    def rows(self) -> tuple[Example, ...]:
        """The sequences that the model computes for it."""
        return (*self.before, self) if self.before else (self,)


def without_labels(example: Example) -> Example:
    """The example with nothing to learn."""
    return replace(example, labels=[IGNORED] * len(example.labels), before=())


def with_all_labels(example: Example) -> Example:
    """The example with its prompt to learn, too (LLaMA-Factory: `train_on_prompt`)."""
    before = tuple(map(with_all_labels, example.before))
    return replace(example, labels=list(example.tokens), before=before)


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
    pieces = _Pieces(tokenizer, conversations)
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
    pieces = _Pieces(tokenizer, (turns for both in sides for turns in both))
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
    pieces = _Pieces(tokenizer, ([turn] for both in turns for turn in both))
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
    pieces = _Pieces(tokenizer, conversations)
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
    """The tokens of the prompts and replies of many conversations, made in one call.

    A prompt is tokenized as a whole, as an evaluation does.
    """

    def __init__(self, tokenizer: Any, conversations: Iterable[Sequence[TrainingTurn]]) -> None:
        known: dict[str, None] = {}
        for turns in conversations:
            for prompt, response in _whole(turns):
                known |= dict.fromkeys((prompt, *response))
        self._tokens = dict(zip(known, _tokenize(tokenizer, list(known)), strict=True))

    def of(self, turns: Sequence[TrainingTurn]) -> Iterator[tuple[list[int], list[int]]]:
        """The tokens of each prompt, from the beginning of the conversation, and of its reply."""
        for prompt, response in _whole(turns):
            yield self._tokens[prompt], [token for text in response for token in self._tokens[text]]


def _whole(turns: Sequence[TrainingTurn]) -> Iterator[tuple[str, tuple[str, ...]]]:
    said = ""
    for turn in turns:
        said = ("" if turn.begins else said) + "".join(turn.prompt)
        yield said, turn.response
        said += "".join(turn.response)


def _tokenize(tokenizer: Any, texts: list[str]) -> list[list[int]]:
    tokens: list[list[int]] = tokenizer(texts, add_special_tokens=False)["input_ids"]
    return tokens


class _Rows:
    """The sequences of an example, filled turn by turn."""

    def __init__(self) -> None:
        self._done: tuple[Example, ...] = ()
        self.tokens: list[int] = []
        self.labels: list[int] = []

    def heard(self, prompt: list[int]) -> list[int]:
        """The tokens of a whole prompt that are not there; a new sequence if others are."""
        if prompt[: len(self.tokens)] != self.tokens:
            self._done += (Example(self.tokens, self.labels),)
            self.tokens, self.labels = [], []
        return prompt[len(self.tokens) :]

    def add(self, heard: list[int], said: list[int]) -> None:
        self.tokens += heard + said
        self.labels += [IGNORED] * len(heard) + said

    def example(self, turns: Sequence[TrainingTurn], pieces: _Pieces) -> Example:
        *_, (prompt, response) = pieces.of(turns)
        n_cut = len(prompt) + len(response) - len(self.tokens)
        return Example(self.tokens, self.labels, n_cut, self._done)


def _conversation(turns: Sequence[TrainingTurn], pieces: _Pieces, cutoff: int) -> Example:
    rows = _Rows()
    for prompt, response in pieces.of(turns):
        if len(rows.tokens) >= cutoff:
            break
        heard = rows.heard(prompt)
        n_heard, n_said = shared_room(len(heard), len(response), cutoff - len(rows.tokens))
        rows.add(heard[:n_heard], response[:n_said])
    return rows.example(turns, pieces)


def _scored(
    turns: Sequence[TrainingTurn], weights: Sequence[float | None], pieces: _Pieces, cutoff: int
) -> Scored:
    rows, lengths = _Rows(), []
    for prompt, response in pieces.of(turns):
        if len(prompt) + len(response) > cutoff:
            break
        rows.add(rows.heard(prompt), response)
        lengths.append(len(response))
    return Scored(
        replace(rows.example(turns, pieces), n_cut=0), [*weights[: len(lengths)]], lengths
    )


def _segment(form: ChatFormat, prompt: Conversation, answer: Conversation) -> list[TrainingTurn]:
    """The turns of an answer; the first one has the whole prompt."""
    first = form.last_turn((*prompt, answer[0]))
    n_more = sum(message.role == "assistant" for message in answer[1:])
    return [first, *form.turns((*prompt, *answer))[-n_more:]] if n_more else [first]


def _pair(
    chosen: Sequence[TrainingTurn], rejected: Sequence[TrainingTurn], pieces: _Pieces, cutoff: int
) -> Pair:
    (prompt, better), *more = pieces.of(chosen)
    (_, worse), *others = pieces.of(rejected)
    n_prompt, n_response = shared_room(len(prompt), max(len(better), len(worse)), cutoff)
    sides = _Rows(), _Rows()
    for side, response in zip(sides, (better, worse), strict=True):
        side.add(prompt[:n_prompt], response[:n_response])
    is_cut = n_prompt < len(prompt) or n_response < max(len(better), len(worse))
    for both in zip_longest(more, others) if not is_cut else ():
        there = [(s, *turn) for s, turn in zip(sides, both, strict=True) if turn is not None]
        if any(len(heard) + len(said) > cutoff for _, heard, said in there):
            break
        for side, heard, said in there:
            side.add(side.heard(heard), said)
    better_side, worse_side = sides
    return Pair(better_side.example(chosen, pieces), worse_side.example(rejected, pieces))


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
