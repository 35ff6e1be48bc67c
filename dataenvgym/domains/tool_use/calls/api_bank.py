"""Makes problems of API-Bank's dialogues: one for each turn of the assistant.

    AddAlarm-level-1-1.jsonl    {"role": "User" or "AI", "text"}
                                {"role": "API", "api_name", "param_dict", "result"}

A line is one turn. The AI's words and the call that follows are one message of the student. The
gold call has the arguments that the API received (`result.input`), with their types. The API's name
is the skill of a call, and the level is the category.

    level-3.json         [{"requirement", "apis": [{"api_name", "input", "output"}], "response"}]
    lv1-api-train.json   [{"instruction", "input", "output"}]

The requirements of level 3 are dialogues too: a request, then calls. A row of the training files is
one turn, with its own tools (see `api_bank_text`).

The dialogues do not describe the APIs, so descriptions are derived from the calls in all dialogues:
arguments, types, date formats. A checkout of API-Bank, or a file with tools (`apis`), replaces
them.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from pydantic import ConfigDict, Field

from dataenvgym.domains.tool_use.calls.api_bank_apis import ApiBankApis, CheckedCall, Library
from dataenvgym.domains.tool_use.calls.api_bank_text import derived_tools, messages_in, tools_in
from dataenvgym.domains.tool_use.calls.problem import CallsProblem, files_in
from dataenvgym.domains.tool_use.calls.search import TOOL_SEARCHER
from dataenvgym.domains.tool_use.matching import GoldCall
from dataenvgym.errors import ConfigurationError, InvalidInstanceError
from dataenvgym.events import warn_run
from dataenvgym.records import Message, TaskInstance, Tool, ToolCall
from dataenvgym.records.model import Json, Model, Text
from dataenvgym.storage import read_model
from dataenvgym.tasks.rows import (
    HubDataset,
    SourceRow,
    UnfitRowError,
    parsed,
    read_rows,
    rows_of_lines,
)

Turns = Literal["calls", "replies", "all"]
REPLY = "reply to the user"
"""The skill of turns in which the assistant makes no call."""
_FILE = re.compile(r"(?P<apis>.+?)-level-(?P<level>\d+)-\d+$")
_LEVEL = re.compile(r"(?:lv|level-)(\d)")


class _Result(Model):
    api_name: str | None = None
    input: dict[str, Json] | None
    output: Json
    exception: Text | None


class _Spoken(Model):
    role: Literal["User", "AI"]
    text: Text


class _Called(Model):
    role: Literal["API"]
    api_name: str = Field(min_length=1)
    param_dict: dict[str, Json]
    result: _Result

    @property
    def call(self) -> ToolCall:
        """The call, with the types that the API received."""
        taken = self.result.input
        if taken is None or taken.keys() != self.param_dict.keys():
            taken = self.param_dict
        return ToolCall(name=self.api_name, arguments=taken)

    @property
    def said(self) -> str:
        """The API's answer."""
        if self.result.exception is not None:
            return f"Error: {self.result.exception}"
        output = self.result.output
        return output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)


_Line = _Spoken | _Called


class _PlannedCall(Model):
    api_name: str = Field(min_length=1)
    input: dict[str, Json]
    output: Json = None


class _Plan(Model):
    requirement: Text
    apis: list[_PlannedCall] = Field(min_length=1)
    response: Text = ""


def _line(values: Mapping[str, Any], where: str) -> tuple[_Line, str]:
    kind: type[_Line] = _Called if values.get("role") == "API" else _Spoken
    return parsed(kind, values, where), where


@dataclass(frozen=True)
class Dialogue:
    """The turns of one file, or of one requirement of level 3.

    Attributes:
        lines: each with the place where it was found.
        level: such as "1", or None if the file's name does not contain it.
        named: the names of the APIs that its file is named after.
        library: the folder of a checkout that has these APIs.
    """

    name: str
    lines: list[tuple[_Line, str]]
    level: str | None
    named: Sequence[str] = ()
    library: Library = "apis"

    @property
    def apis(self) -> set[str]:
        """The names of the APIs that it calls, or that its file is named after."""
        called = {line.api_name for line, _ in self.lines if isinstance(line, _Called)}
        return called | set(self.named)

    @classmethod
    def of_file(cls, path: Path) -> Dialogue:
        """The dialogue in a file with one turn a line."""
        rows = rows_of_lines(path, path.stem, str(path))
        lines = [_line(row.values, row.where) for row in rows]
        named = _FILE.fullmatch(path.stem)
        apis = named["apis"].split("-") if named else ()
        return cls(path.stem, lines, named["level"] if named else None, apis)

    @classmethod
    def of_plan(cls, row: SourceRow) -> Dialogue:
        """The dialogue of a requirement of level 3: the request, the calls, and the response."""
        plan = parsed(_Plan, row.values, row.where)
        turns: list[dict[str, Any]] = [{"role": "User", "text": plan.requirement}]
        for call in plan.apis:
            result = call.output
            if not (isinstance(result, dict) and {"input", "output", "exception"} <= result.keys()):
                result = {"input": call.input, "output": result, "exception": None}
            values = {"role": "API", "api_name": call.api_name, "param_dict": call.input}
            turns.append({**values, "result": result})
        turns += [{"role": "AI", "text": plan.response}] if plan.response else []
        lines = [_line(values, row.where) for values in turns]
        return cls(row.id, lines, "3", library="lv3_apis")


def _read(place: Path | HubDataset) -> tuple[list[Dialogue], list[SourceRow]]:
    """The dialogues in a place, and the rows of training files."""
    paths = files_in(place, "API-Bank")
    paths = [p for p in paths if p.suffix == ".jsonl"] or [p for p in paths if p.suffix == ".json"]
    if not paths:
        raise ConfigurationError(f"{str(place)!r} holds no .jsonl file, and no .json file")
    found: list[Dialogue] = []
    training: list[SourceRow] = []
    for path in paths:
        rows = list(read_rows(path)) if path.suffix == ".json" else []
        if rows and "requirement" in rows[0].values:
            found += map(Dialogue.of_plan, rows)
        elif rows:
            training += rows
        else:
            found.append(Dialogue.of_file(path))
    if empty := [dialogue.name for dialogue in found if not dialogue.lines]:
        warn_run(
            f"{place}: {len(empty)} of {len(found)} dialogues are empty files, and have no "
            f"problems: {', '.join(empty)}"
        )
    return found, training


class ApiBank:
    """The dialogues in some places, each read once, and their tools.

    Args:
        turns: which turns of the assistant become problems: those with calls, the others, or all.
        apis: a JSON file with a list of tools in the form of OpenAI's API; None derives them.
        own: API-Bank's own APIs; if there is a checkout, they describe the tools, and judge.
    """

    def __init__(self, turns: Turns, apis: str | Path | None, own: ApiBankApis) -> None:
        self.turns = turns
        self._apis = None if apis is None else Path(apis).expanduser()
        self._own = own
        self._read = cache(_read)

    def rows(self, place: Path | HubDataset) -> Iterator[SourceRow]:
        """The chosen turns in a folder of dialogues, or in one file.

        Raises:
            ConfigurationError: if the place does not exist.
            InvalidInstanceError: for a line that is not in the format, naming file, line and field.
        """
        dialogues, training = self._read(place)
        libraries = dict.fromkeys(dialogue.library for dialogue in dialogues)
        tools = {known: self._tools_of(known, [place]) for known in libraries}
        for dialogue in dialogues:
            named = {tool.name: tool for tool in tools[dialogue.library]}
            yield from self._turns_of(dialogue, named)
        for row in training:
            is_call = "API-Request:" in str(row.values.get("output"))
            if self.turns == "all" or (self.turns == "calls") == is_call:
                yield row

    def tools(self, places: Sequence[Path | HubDataset]) -> tuple[Tool, ...]:
        """The tools in these places, sorted by name."""
        dialogues = [dialogue for place in places for dialogue in self._read(place)[0]]
        libraries = sorted({dialogue.library for dialogue in dialogues})
        found = {tool.name: tool for known in libraries for tool in self._tools_of(known, places)}
        return tuple(found[name] for name in sorted(found))

    def _tools_of(self, library: Library, places: Sequence[Path | HubDataset]) -> tuple[Tool, ...]:
        if self._apis is not None:
            form = "expected a JSON list of tools"
            tools = read_model(self._apis, list[Tool], form, ConfigurationError)
            return tuple(sorted(tools, key=lambda tool: tool.name))
        if self._own.are_there:
            return self._own.tools(library)
        calls: defaultdict[str, list[Mapping[str, Any]]] = defaultdict(list)
        for place in dict.fromkeys(places):
            for dialogue in self._read(place)[0]:
                for line, _ in dialogue.lines:
                    if isinstance(line, _Called) and dialogue.library == library:
                        calls[line.api_name].append(line.call.arguments)
        return derived_tools(calls)

    def _turns_of(self, dialogue: Dialogue, tools: Mapping[str, Tool]) -> Iterator[SourceRow]:
        declared = tuple(tools[name] for name in sorted(dialogue.apis & tools.keys()))
        messages: list[Message] = []
        texts: list[str] = []
        lines = dialogue.lines
        for number, (line, where) in enumerate(lines):
            following = lines[number + 1][0] if number + 1 < len(lines) else None
            if isinstance(line, _Spoken) and line.role == "User":
                messages.append(Message(role="user", content=line.text))
                continue
            if not messages:
                raise InvalidInstanceError(
                    f"{where}, field 'role': the dialogue begins with {line.role!r}, expected "
                    "'User'"
                )
            if isinstance(line, _Spoken):
                texts.append(line.text)
                if following is not None and following.role != "User":
                    continue  # the turn continues with more words or a call
            reply = "\n".join(texts)
            texts.clear()
            calls: tuple[ToolCall, ...] = ()
            checked = None
            if isinstance(line, _Called):
                if line.api_name not in tools:
                    raise InvalidInstanceError(
                        f"{where}, field 'api_name': calls {line.api_name!r}, which is not "
                        f"declared: the tools are {', '.join(sorted(tools))}"
                    )
                calls = (line.call,)
                if self._own.are_there or line.api_name == TOOL_SEARCHER.name:
                    result = line.result.model_dump(mode="json", exclude_unset=True)
                    checked = CheckedCall(apis=dialogue.library, name=line.api_name, result=result)
            if self.turns == "all" or (self.turns == "calls") == bool(calls):
                yield SourceRow(
                    f"{dialogue.name}-{number + 1}",
                    where,
                    {
                        "messages": tuple(messages),
                        "tools": declared,
                        "gold": tuple(map(GoldCall.of, calls)),
                        "reply": reply,
                        "checked": checked,
                        "skill": calls[0].name if calls else REPLY,
                        "category": f"level {dialogue.level}" if dialogue.level else None,
                    },
                )
            messages.append(Message(role="assistant", content=reply, tool_calls=calls))
            if isinstance(line, _Called):
                messages.append(Message(role="tool", content=line.said))


def api_bank_instance(row: SourceRow, *, task: str) -> TaskInstance:
    """The problem in a row of `ApiBank.rows`.

    Raises:
        InvalidInstanceError: if the row is invalid, naming file, line and field.
        UnfitRowError: for a row of a training file that is not in API-Bank's notation.
    """
    values = dict(row.values)
    if "messages" not in values:
        return _training_instance(row, task)
    labels = {name: values.pop(name) for name in ("skill", "category")}
    problem = parsed(CallsProblem, values, row.where)
    return problem.instance(id=row.id, task=task, **labels)


class _TrainingRow(Model):
    model_config = ConfigDict(frozen=True, extra="ignore")

    instruction: Text
    input: Text
    output: Text = ""
    expected_output: Text = ""


def _training_instance(row: SourceRow, task: str) -> TaskInstance:
    """The turn in a row of a training file; other fields, such as the dialogue's id, are ignored.

    A call that the row does not describe makes it unfit, as it has then no tool to call.
    """
    turn = parsed(_TrainingRow, row.values, row.where, UnfitRowError)
    try:
        tools = tools_in(turn.instruction)
        (said,) = messages_in(turn.expected_output or turn.output)
        values = {
            "tools": tools,
            "messages": messages_in(turn.input),
            "gold": tuple(map(GoldCall.of, said.tool_calls)),
            "reply": said.content,
        }
    except (AttributeError, ValueError) as error:
        raise UnfitRowError(f"{row.where}: {error}") from None
    problem = parsed(CallsProblem, values, row.where, UnfitRowError)
    level = _LEVEL.search(row.id)
    skill = said.tool_calls[0].name if said.tool_calls else REPLY
    category = f"level {level[1]}" if level else None
    return problem.instance(id=row.id, task=task, skill=skill, category=category)
