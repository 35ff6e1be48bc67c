"""A dataset's entry in `dataset_info.json`: writing ours, and reading others."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from dataenvgym import exact_json
from dataenvgym.errors import DatasetFormatError, shorten
from dataenvgym.storage import encoding_fault

Stage = Literal["sft", "dpo", "kto", "pt", "scored"]
Formatting = Literal["alpaca", "sharegpt"]

DATASET_INFO = "dataset_info.json"

# The columns of an entry without `columns`; one with `columns` has only those that it names.
_COLUMNS = {
    "prompt": "instruction",
    "query": "input",
    "response": "output",
    "messages": "conversations",
}
# Further keys of an entry that we do not support: they are refused, never ignored.
_ELSEWHERE = ("hf_hub_url", "ms_hub_url", "om_hub_url", "script_url", "cloud_file_name")
_SELECTIONS = ("subset", "folder", "num_samples")
_MEDIA = ("images", "videos", "audios")


def read_info(folder: Path) -> dict[str, Any]:
    """The entries in a folder's `dataset_info.json`.

    Raises:
        DatasetFormatError: if there is no such file, or not an object in it.
    """
    path = folder / DATASET_INFO
    if not path.is_file():
        raise DatasetFormatError(f"{path}: no such file, expected the datasets' entries")
    info = loads(path.read_bytes(), f"{path}")
    if not isinstance(info, dict):
        raise DatasetFormatError(
            f"{path}: found {shorten(repr(info))}, expected an object of entries"
        )
    return info


def loads(text: bytes, where: str) -> Any:
    """The JSON of a file or of its line `where`, with numbers as they are written.

    Raises:
        DatasetFormatError: with `where`, and why it is not JSON.
    """
    try:
        return exact_json.loads(text)
    except ValueError as error:
        why = encoding_fault(text) or error
        raise DatasetFormatError(f"{where}: {why}, expected JSON") from None


def dataset_info_entry(stage: Stage, formatting: Formatting, file_name: str) -> dict[str, Any]:
    """The entry in `dataset_info.json` for a file of rows that `formats` made."""
    if stage == "pt":
        return {"file_name": file_name, "columns": {"prompt": "text"}}
    columns = (
        {"prompt": "instruction", "query": "input", "system": "system", "history": "history"}
        if formatting == "alpaca"
        else {"messages": "conversations", "system": "system", "tools": "tools"}
    )
    if stage == "dpo":
        columns |= {"chosen": "chosen", "rejected": "rejected"}
    elif formatting == "alpaca":
        columns["response"] = "output"
    if stage == "scored":
        columns["weights"] = "weights"
    if stage == "kto":
        columns["kto_tag"] = "kto_tag"
    entry: dict[str, Any] = {"file_name": file_name, "formatting": formatting, "columns": columns}
    return entry | {"ranking": True} if stage == "dpo" else entry


@dataclass(frozen=True)
class DatasetEntry:
    """An entry, with LLaMA-Factory's defaults filled in.

    Attributes:
        file_name: of the file (or folder of files) with the rows.
        formatting: "alpaca", "sharegpt" or "openai" (turns that may have `tool_calls`).
        ranking: whether each row has a chosen and a rejected answer.
        columns: LLaMA-Factory's name of a column -> its name in the file.
        tags: LLaMA-Factory's name of a tag -> its value in the file.
    """

    file_name: str
    formatting: str
    ranking: bool
    columns: Mapping[str, str]
    tags: Mapping[str, str]

    @classmethod
    def parse(cls, entry: Any) -> DatasetEntry:
        """Parse an entry of `dataset_info.json`.

        Raises:
            DatasetFormatError: with the value found and the one expected.
        """
        if not isinstance(entry, Mapping):
            raise DatasetFormatError(f"the entry is {shorten(repr(entry))}, expected an object")
        for key in _ELSEWHERE:
            if entry.get(key):
                raise DatasetFormatError(
                    f"the entry has {key!r} ({entry[key]!r}), expected 'file_name': only files "
                    "beside dataset_info.json are read"
                )
        for key in _SELECTIONS:
            if entry.get(key) is not None:
                raise DatasetFormatError(f"the entry has {key!r}, expected none: all rows are read")
        if entry.get("split", "train") not in ("train", None):
            raise DatasetFormatError(f"'split' is {entry['split']!r}, expected 'train'")
        file_name = entry.get("file_name")
        if not isinstance(file_name, str) or not file_name:
            raise DatasetFormatError(
                f"'file_name' is {shorten(repr(file_name))}, expected a file's name"
            )
        formatting = entry.get("formatting") or "alpaca"
        if formatting not in ("alpaca", "sharegpt", "openai"):
            raise DatasetFormatError(
                f"'formatting' is {formatting!r}, expected 'alpaca', 'sharegpt' or 'openai'"
            )
        columns = _names(entry, "columns", _COLUMNS)
        if media := [name for name in _MEDIA if name in columns]:
            raise DatasetFormatError(f"'columns' has {media}, expected text only")
        tags = _names(entry, "tags", OPENAI_TAGS if formatting == "openai" else TAGS)
        return cls(
            file_name=file_name,
            formatting=formatting,
            ranking=bool(entry.get("ranking", False)),
            columns=columns,
            tags=tags | {"calls_tag": "tool_calls"} if formatting == "openai" else tags,
        )


def _names(entry: Mapping[str, Any], key: str, defaults: Mapping[str, str]) -> dict[str, str]:
    names = entry.get(key, defaults)
    if not isinstance(names, Mapping) or not all(isinstance(v, str | None) for v in names.values()):
        raise DatasetFormatError(f"{key!r} is {shorten(repr(names))}, expected an object of names")
    return {name: value for name, value in names.items() if value}


TAGS: Mapping[str, str] = {
    "role_tag": "from",
    "content_tag": "value",
    "user_tag": "human",
    "assistant_tag": "gpt",
    "observation_tag": "observation",
    "function_tag": "function_call",
    "system_tag": "system",
}
_OPENAI = ("role", "content", "user", "assistant", "tool", "function_call", "system")
OPENAI_TAGS = {**dict(zip(TAGS, _OPENAI, strict=True)), "calls_tag": "tool_calls"}  # the last: ours
_ROLES = {
    "user_tag": "user",
    "assistant_tag": "assistant",
    "observation_tag": "tool",
    "function_tag": "assistant",
    "system_tag": "system",
}


def parse_turn(turn: Any, tags: Mapping[str, str], where: str) -> dict[str, Any]:
    """The message of a turn, as a mapping for `Message`.

    Raises:
        DatasetFormatError: with `where` and the key, the value found and the one expected.
    """
    if not isinstance(turn, Mapping):
        raise DatasetFormatError(f"{where} is {shorten(repr(turn))}, expected an object")
    if tags == OPENAI_TAGS and "from" in turn:  # LLaMA-Factory's own tags, also there
        tags = {**OPENAI_TAGS, **TAGS}
    tag_of = {tags[tag]: tag for tag in _ROLES if tag in tags}
    role_key, content_key = tags.get("role_tag", ""), tags.get("content_tag", "")
    role, content = turn.get(role_key), turn.get(content_key)
    if not isinstance(role, str) or role not in tag_of:
        raise DatasetFormatError(
            f"{where}, key {role_key!r} is {shorten(repr(role))}, expected one of {sorted(tag_of)}"
        )
    listed = turn.get(tags.get("calls_tag")) if _ROLES[tag_of[role]] == "assistant" else None
    content = "" if content is None and listed else content
    if not isinstance(content, str):
        raise DatasetFormatError(
            f"{where}, key {content_key!r} is {shorten(repr(content))}, expected a string"
        )
    if listed:
        return {"role": "assistant", "content": content, "tool_calls": _calls(listed, where)}
    if tag_of[role] == "function_tag":
        return {"role": "assistant", **_parse_calls(content, where)}
    return {"role": _ROLES[tag_of[role]], "content": content}


def _parse_calls(value: str, where: str) -> dict[str, Any]:
    """Text and tool calls of a function_call turn, separated as in LLaMA-Factory."""
    text, source = "", value
    # not one in an argument of the call
    has_thought = "<think>\n" in value or value.lstrip().startswith("<think>")
    if (inner := _between(value, "<tool_call>", "</tool_call>")) is not None:
        text, source = value.replace(f"<tool_call>{inner}</tool_call>", ""), inner
    elif has_thought and (inner := _between(value, "<think>", "</think>")) is not None:
        source = value.replace(f"<think>{inner}</think>", "")
        text = f"<think>{inner}</think>" + source[: -len(source.lstrip())]
    calls = from_json(source, f"{where}, the function call")
    return {"content": text, "tool_calls": _calls(calls, where)}


def _calls(calls: Any, where: str) -> list[dict[str, Any]]:
    """The calls in a list, or one; in OpenAI's form, too, whose arguments are JSON text."""
    found = []
    for call in calls if isinstance(calls, list) else [calls]:
        call = call.get("function", call) if isinstance(call, Mapping) else call
        if not isinstance(call, Mapping) or not {"name", "arguments"} <= call.keys():
            raise DatasetFormatError(
                f"{where}, the function call is {shorten(repr(call))}, expected an object with "
                "'name' "
                "and 'arguments'"
            )
        arguments = call["arguments"]
        if isinstance(arguments, str):
            arguments = from_json(arguments or "{}", f"{where}, the arguments of the call")
        found.append({"name": call["name"], "arguments": arguments})
    return found


def _between(text: str, start: str, end: str) -> str | None:
    inner, ended, _ = text.partition(start)[2].partition(end)
    return inner if ended else None


def from_json(text: str, where: str) -> Any:
    """Parse JSON text.

    Raises:
        DatasetFormatError: with `where`, the text found and why it is not JSON.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:  # ValueError: also numbers of too many digits
        why = str(error).partition("; ")[0]
        raise DatasetFormatError(
            f"{where} is {shorten(repr(text))}, expected JSON ({why})"
        ) from None
