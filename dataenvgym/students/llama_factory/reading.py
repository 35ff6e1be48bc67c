"""LLaMA-Factory dataset folders, read as streams of training records; and files of SDPO's code.

The kind of a row's record follows from its dataset's entry, which also names the columns, so
datasets from other sources can be read, too:

    ranking: true          preference
    a kto_tag column       KTO
    a weights column       scored; or a `score` in a turn of the assistant (EPO's files)
    sharegpt, openai       chat
    no response column     text
    otherwise              supervised (chat, if an alpaca row has tools)
"""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

from annotated_types import MinLen
from pydantic import TypeAdapter, ValidationError

from dataenvgym.errors import (
    DatasetFormatError,
    InvalidRecordError,
    did_you_mean,
    first_fault,
    shorten,
)
from dataenvgym.records import (
    ChatDatum,
    PreferenceDatum,
    ScoredDatum,
    Tool,
    TrainingDatum,
    parse_training_datum,
)
from dataenvgym.students.llama_factory.entries import (
    DATASET_INFO,
    DatasetEntry,
    loads,
    parse_turn,
    read_info,
)


def read_dataset(folder: Path, names: str) -> Iterator[TrainingDatum]:
    """The records of one dataset, or of several with commas between their names (option `dataset`).

    Files are JSON objects, read as a stream, or a JSON array, which is read whole. Columns may have
    any name that `dataset_info.json` explains. In the formatting "openai", turns have OpenAI's
    names unless `tags` give others; text beside `tool_calls` is kept, which LLaMA-Factory drops,
    and its "detailed thinking off" is not added to the system message.

    Raises:
        DatasetFormatError: naming file and line, the value found and the one expected.
    """
    info = read_info(folder)
    for name in (part.strip() for part in names.split(",")):
        if name not in info:
            raise DatasetFormatError(
                f"{folder / DATASET_INFO}: no dataset {name!r} there, expected one of "
                f"{sorted(info)}.{did_you_mean(name, info)}"
            )
        with _placed(f"{folder / DATASET_INFO}, {name!r}"):
            entry = DatasetEntry.model_validate(info[name])
        for path in _files(folder / entry.file_name):
            for where, row in _read_rows(path):
                with _placed(f"{path}, {where}"):
                    record = parse_row(row, entry)
                yield record


def read_sdpo_pairs(path: Path) -> Iterator[PreferenceDatum]:
    """The pairs in a file of SDPO's code, in which each better dialogue follows the worse one.

    The prompt of a pair is what both dialogues have in common; the rest of each is its answer.

    Raises:
        DatasetFormatError: naming file and row, the value found and the one expected.
    """
    rows = list(_read_rows(path))
    if len(rows) % 2:
        raise DatasetFormatError(
            f"{path}: found {len(rows)} dialogues, expected an even number: a worse one, and the "
            "better one after it"
        )
    for (where, worse), (_, better) in zip(rows[::2], rows[1::2], strict=True):
        with _placed(f"{path}, {where}"):
            pair = _pair_of(*(parse_row(row, _DIALOGUE) for row in (worse, better)))
        yield pair


@contextmanager
def _placed(where: str) -> Iterator[None]:
    """Say where a fault is."""
    try:
        yield
    except (DatasetFormatError, InvalidRecordError, ValidationError) as error:
        why = first_fault(error) if isinstance(error, ValidationError) else error
        raise DatasetFormatError(f"{where}: {why}") from None


_DIALOGUE = DatasetEntry.model_validate(
    {"file_name": "-", "formatting": "sharegpt", "columns": {"messages": "conversations"}}
)


def _pair_of(worse: TrainingDatum, better: TrainingDatum) -> PreferenceDatum:
    """The pair of two whole dialogues."""
    assert isinstance(worse, ChatDatum | ScoredDatum)
    assert isinstance(better, ChatDatum | ScoredDatum)
    both = list(zip(worse.messages, better.messages, strict=False))
    at = next((i for i, (one, other) in enumerate(both) if one != other), len(both))
    if at == len(both) or both[at][0].role != "assistant" or worse.system != better.system:
        raise DatasetFormatError(
            f"the dialogue and the next one have {at} equal turns, expected that they first differ "
            "in a turn of the assistant"
        )
    record = parse_training_datum(
        {
            "kind": "preference",
            "system": worse.system,
            "messages": worse.messages[:at],
            "chosen": better.messages[at:],
            "rejected": worse.messages[at:],
        }
    )
    assert isinstance(record, PreferenceDatum)
    return record


def _files(path: Path) -> list[Path]:
    """The files of a dataset, whose `file_name` may be a folder."""
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    for file in files:
        if file.suffix not in (".json", ".jsonl") or not file.is_file():
            raise DatasetFormatError(f"{file}: expected a .json or .jsonl file")
    return files


def _read_rows(path: Path) -> Iterator[tuple[str, Any]]:
    """Each row of the file, and its place."""
    with path.open("rb") as stream:
        beginning = stream.read(1024)
        stream.seek(len(BOM_UTF8) if beginning.startswith(BOM_UTF8) else 0)
        if beginning.removeprefix(BOM_UTF8).lstrip().startswith(b"["):
            rows = loads(stream.read(), f"{path}")
            yield from ((f"item {i}", row) for i, row in enumerate(rows, start=1))
            return
        lines = enumerate(stream, start=1)
        for number, line in lines:
            if line.rstrip() == b"{":  # an object in several lines
                parts = [line]
                while not parts[-1].startswith(b"}") and (more := next(lines, None)):
                    parts.append(more[1])
                line = b"".join(parts)
            if line.strip():
                yield f"line {number}", loads(line, f"{path}, line {number}")


# --- the record in a row ---


def parse_row(row: Any, entry: DatasetEntry) -> TrainingDatum:
    """The training record in a row.

    Raises:
        DatasetFormatError: naming the column, the value found and the one expected.
        InvalidRecordError: if the row is well formed, but not a valid record.
    """
    reader = _Row(_OBJECT.validate_python(row), entry)
    values = reader.alpaca() if entry.formatting == "alpaca" else reader.turns()
    return parse_training_datum(values)


_OBJECT = TypeAdapter(dict[str, Any])
_TEXT, _TEXT_OR_NONE = TypeAdapter(str), TypeAdapter(str | None)
_HISTORY = TypeAdapter(list[tuple[str, str]] | None)
_TURNS = TypeAdapter(Annotated[list[Any], MinLen(1)])


class _Row:
    """One row, read through its dataset's entry."""

    def __init__(self, row: Mapping[str, Any], entry: DatasetEntry) -> None:
        self._row = row
        self._entry = entry
        self._answer_kind = (
            "preference" if entry.ranking else "kto" if "kto_tag" in entry.columns else None
        )

    def alpaca(self) -> dict[str, Any]:
        """The fields of the record in an alpaca row."""
        prompt, query = self._text("prompt"), self._text("query")
        text = "\n".join(filter(None, (prompt, query)))
        if self._answer_kind is None and "response" not in self._entry.columns:
            return {"kind": "text", "text": text}
        system, history, tools = self._text("system"), self._history(), self._tools()
        turns = [*(turn for pair in history for turn in pair), text]
        if tools:
            messages = _messages([*turns, self._text("response", needed=True)])
            return {"kind": "chat", "messages": messages, "system": system, "tools": tools}
        values: dict[str, Any] = {"system": system}
        if self._answer_kind == "preference" and not text:  # such as a tool's empty result
            values["messages"] = _messages(turns)
        else:
            values |= {"instruction": prompt or query, "input": query if prompt else ""}
            values["history"] = history
        if self._answer_kind == "preference":
            values |= {side: self._answer(side) for side in ("chosen", "rejected")}
        else:
            values["output"] = self._text("response", needed=True)
        return values | self._kind()

    def turns(self) -> dict[str, Any]:
        """The fields of the record in a sharegpt or openai row."""
        column, turns = self._typed("messages", _TURNS)
        messages = [
            parse_turn(turn, self._entry.tags, f"column {column!r}, turn {i}")
            for i, turn in enumerate(turns)
        ]
        leads = messages[0]["role"] == "system"
        system = messages.pop(0)["content"] if leads else self._text("system")
        tools = self._tools()
        if self._answer_kind is None:
            chat = {"kind": "chat", "messages": messages, "system": system, "tools": tools}
            return chat | self._weights(turns)
        answers: dict[str, Any] = {}
        if self._answer_kind == "kto":
            answers["output"] = self._plain(messages[-1:], column, first="assistant")[0]
            messages = messages[:-1]
        else:
            for side in ("chosen", "rejected"):
                name, turn = self._column(side)
                if isinstance(turn, list):
                    answers[side] = self._answer(side)
                    continue
                answer = parse_turn(turn, self._entry.tags, f"column {name!r}")
                answers[side] = self._plain([answer], name, first="assistant")[0]
        texts = self._plain(messages, column, first="user")
        if not len(texts) % 2:
            raise DatasetFormatError(
                f"column {column!r} has {len(texts)} turns before the answer, expected an odd "
                "number that ends with the user's"
            )
        history = list(zip(texts[::2], texts[1::2], strict=False))
        values = {"instruction": texts[-1], "system": system, "history": history}
        return values | answers | self._kind()

    def _weights(self, turns: list[Any]) -> dict[str, Any]:
        """Kind and weights of a scored record; empty if there are no weights."""
        if "weights" not in self._entry.columns:
            tags = self._entry.tags
            replies = [tags.get("assistant_tag"), tags.get("function_tag")]
            scores = [t.get("score") for t in turns if t.get(tags.get("role_tag")) in replies]
            try:
                weights = [None if score is None else float(score) for score in scores]
            except (ValueError, TypeError):
                raise DatasetFormatError(
                    f"scores of turns are {shorten(repr(scores))}, expected numbers"
                ) from None
            is_scored = any(weight is not None for weight in weights)
            return {"kind": "scored", "weights": weights} if is_scored else {}
        return {"kind": "scored", "weights": self._column("weights")[1]}

    def _kind(self) -> dict[str, Any]:
        if self._answer_kind != "kto":
            return {"kind": self._answer_kind or "supervised"}
        return {"kind": "kto", "desirable": self._column("kto_tag")[1]}

    def _plain(self, messages: list[dict[str, Any]], column: str, *, first: str) -> list[str]:
        """The texts of messages that must alternate and call no tools, beginning with `first`."""
        roles = ("user", "assistant") if first == "user" else ("assistant", "user")
        for i, message in enumerate(messages):
            wanted = roles[i % 2]
            if message["role"] != wanted or message.get("tool_calls"):
                raise _unlike(column, message, f"role {wanted!r}, without calls")
        return [message["content"] for message in messages]

    def _column(self, name: str) -> tuple[str, Any]:
        """The column's name in the file, and its value; None if there is no such column."""
        column = self._entry.columns.get(name)
        return (column, self._row.get(column)) if column else (name, None)

    def _typed(self, name: str, of: TypeAdapter[Any]) -> tuple[str, Any]:
        """The column's name in the file, and its value of that type."""
        column, value = self._column(name)
        try:
            return column, of.validate_python(value)
        except ValidationError as error:
            held = f"column {column!r} holds {shorten(repr(value))}"
            raise DatasetFormatError(f"{held}: {first_fault(error)}") from None

    def _text(self, name: str, *, needed: bool = False) -> str:
        return self._typed(name, _TEXT if needed else _TEXT_OR_NONE)[1] or ""

    def _answer(self, side: str) -> str | list[dict[str, Any]]:
        """A text, or the turns of a segment."""
        column, value = self._column(side)
        if not isinstance(value, list):
            return self._text(side, needed=True)
        return [
            parse_turn(turn, self._entry.tags, f"column {column!r}, turn {i}")
            for i, turn in enumerate(value)
        ]

    def _history(self) -> list[tuple[str, str]]:
        return self._typed("history", _HISTORY)[1] or []

    def _tools(self) -> list[Any]:
        column, tools = self._column("tools")
        if isinstance(tools, str):
            tools = loads(tools or "[]", f"column {column!r}")
        if tools and self._answer_kind:
            raise _unlike(column, tools, "none: preference and KTO records have no tools")
        if not isinstance(tools, list | None):
            raise _unlike(column, tools, "a list")
        return [_tool(tool) for tool in tools or ()]


def _unlike(column: str, value: Any, expected: str) -> DatasetFormatError:
    return DatasetFormatError(
        f"column {column!r} holds {shorten(repr(value))}, expected {expected}"
    )


def _messages(turns: list[str]) -> list[dict[str, str]]:
    """Turns of user and assistant, as mappings that `Message` takes."""
    return [
        {"role": "assistant" if i % 2 else "user", "content": turn} for i, turn in enumerate(turns)
    ]


def _tool(tool: Any) -> Any:
    """The fields of a tool that LLaMA-Factory's default format uses; others are dropped."""
    if not isinstance(tool, Mapping):
        return tool
    inner = tool.get("function") if tool.get("type") == "function" else tool
    if not isinstance(inner, Mapping):
        return tool
    return {key: inner[key] for key in Tool.model_fields if inner.get(key) is not None}
