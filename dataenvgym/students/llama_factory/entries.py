"""A dataset's entry in `dataset_info.json`: writing ours, and reading others."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, Field, model_validator

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
_REFUSED = (
    *("hf_hub_url", "ms_hub_url", "om_hub_url", "script_url", "cloud_file_name"),
    *("subset", "folder", "num_samples"),
)
_MEDIA = ("images", "videos", "audios")


def read_info(folder: Path) -> dict[str, Any]:
    """The entries in a folder's `dataset_info.json`.

    Raises:
        DatasetFormatError: if there is no such file, or not an object in it.
    """
    path = folder / DATASET_INFO
    info = loads(path.read_bytes(), f"{path}") if path.is_file() else None
    if not isinstance(info, dict):
        raise DatasetFormatError(
            f"{path}: found {shorten(repr(info))}, expected a file with an object of entries"
        )
    return info


def loads(text: bytes | str, where: str) -> Any:
    """The JSON of a file, of its line `where`, or of a text in it.

    Raises:
        DatasetFormatError: with `where`, and why it is not JSON.
    """
    try:
        return exact_json.loads(text)
    except ValueError as error:
        why = (encoding_fault(text) if isinstance(text, bytes) else None) or error
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


class DatasetEntry(BaseModel):
    """An entry, with LLaMA-Factory's defaults filled in.

    Attributes:
        file_name: of the file (or folder of files) with the rows.
        formatting: "alpaca", "sharegpt" or "openai" (turns that may have `tool_calls`).
        ranking: whether each row has a chosen and a rejected answer.
        columns: LLaMA-Factory's name of a column -> its name in the file.
        tags: LLaMA-Factory's name of a tag -> its value in the file.
    """

    file_name: str = Field(min_length=1)
    split: Literal["train"] = "train"
    formatting: Literal["alpaca", "sharegpt", "openai"] = "alpaca"
    ranking: bool = False
    columns: dict[str, str | None] = {**_COLUMNS}
    tags: dict[str, str | None] = {}

    @model_validator(mode="before")
    @classmethod
    def _supported(cls, entry: Any) -> Any:
        if not isinstance(entry, Mapping):
            return entry
        given = {key: value for key, value in entry.items() if value or key == "file_name"}
        names = {*_REFUSED} & {*given}
        if isinstance(columns := given.get("columns"), Mapping):
            given["columns"] = {name: own for name, own in columns.items() if own}
            names |= {*_MEDIA} & {*given["columns"]}
        if names:
            raise ValueError(f"it has {sorted(names)}, expected all rows of a text file beside it")
        tags = given.get("tags", OPENAI_TAGS)
        if given.get("formatting") == "openai" and isinstance(tags, Mapping):
            return {**given, "tags": {**tags, "calls_tag": "tool_calls"}}
        return {"tags": TAGS, **given}


def parse_turn(turn: Any, tags: Mapping[str, str | None], where: str) -> dict[str, Any]:
    """The message of a turn, as a mapping for `Message`.

    Raises:
        DatasetFormatError: with `where` and the key, the value found and the one expected.
    """
    if not isinstance(turn, Mapping):
        raise DatasetFormatError(f"{where} is {shorten(repr(turn))}, expected an object")
    if tags == OPENAI_TAGS and "from" in turn:  # LLaMA-Factory's own tags, also there
        tags = {**OPENAI_TAGS, **TAGS}
    tag_of = {own: tag for tag in _ROLES if (own := tags.get(tag))}
    role_key, content_key = tags.get("role_tag", ""), tags.get("content_tag", "")
    role, content = turn.get(role_key), turn.get(content_key)
    if not isinstance(role, str) or role not in tag_of:
        raise DatasetFormatError(
            f"{where}, key {role_key!r} is {shorten(repr(role))}, expected one of {sorted(tag_of)}"
        )
    listed = turn.get(tags.get("calls_tag")) if _ROLES[tag_of[role]] == "assistant" else None
    if listed:
        said = "" if content is None else content
        return {"role": "assistant", "content": said, "tool_calls": _calls(listed, where)}
    if tag_of[role] == "function_tag" and isinstance(content, str):
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
    calls = loads(source, f"{where}, the function call")
    return {"content": text, "tool_calls": _calls(calls, where)}


def _calls(calls: Any, where: str) -> list[dict[str, Any]]:
    """The calls in a list, or one; in OpenAI's form, too, whose arguments are JSON text."""
    found = []
    for call in calls if isinstance(calls, list) else [calls]:
        call = call.get("function", call) if isinstance(call, Mapping) else {}
        call = call if isinstance(call, Mapping) else {}
        arguments = call.get("arguments")
        if isinstance(arguments, str):
            arguments = loads(arguments or "{}", f"{where}, the arguments of the call")
        found.append({"name": call.get("name"), "arguments": arguments})
    return found


def _between(text: str, start: str, end: str) -> str | None:
    inner, ended, _ = text.partition(start)[2].partition(end)
    return inner if ended else None
