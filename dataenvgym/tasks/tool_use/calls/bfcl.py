"""Makes problems of the files of the Berkeley Function Calling Leaderboard (BFCL v3 and v4).

    BFCL_v4_multiple.json                    {"id", "question": [[{role, content}]], "function"}
    possible_answer/BFCL_v4_multiple.json    {"id", "ground_truth": [{name: {argument: [...]}}]}

One JSON object per line. Irrelevance has no answers: no tool fits, and none should be called. The
subset is both the skill and the category.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

from pydantic import Field, ValidationError

from dataenvgym.errors import ConfigurationError, InvalidInstanceError, did_you_mean
from dataenvgym.records import Message, TaskInstance, Tool
from dataenvgym.records.model import Json, Model, Text
from dataenvgym.tasks.rows import HubDataset, SourceRow, rows_of_lines
from dataenvgym.tasks.tool_use.calls.problem import CallsProblem, first_complaint
from dataenvgym.tasks.tool_use.calls.schemas import json_schema
from dataenvgym.tasks.tool_use.matching import GoldCall

Subset = Literal["simple", "multiple", "parallel", "irrelevance", "all"]
_SUBSETS = tuple(name for name in get_args(Subset) if name != "all")
_FILE = re.compile(rf"BFCL_v\d+_({'|'.join(_SUBSETS)})(?:_python)?\.jsonl?$")
_WITHOUT_ANSWERS = "irrelevance"
ModelT = TypeVar("ModelT", bound=Model)
NamedT = TypeVar("NamedT", Tool, GoldCall)


class _Said(Model):
    role: Literal["system", "user", "assistant"]
    content: Text


class _Function(Model):
    name: Text = Field(min_length=1)
    description: Text = ""
    parameters: dict[str, Json]


class _Question(Model):
    id: str = Field(min_length=1)
    question: list[list[_Said]] = Field(min_length=1, max_length=1)
    function: list[_Function] = Field(min_length=1)


class _Answer(Model):
    id: str
    ground_truth: list[dict[str, dict[str, list[Json]]]] = Field(min_length=1)


def bfcl_rows(place: Path | HubDataset, *, subset: Subset = "all") -> Iterator[SourceRow]:
    """The problems in a folder of BFCL's files, or in one file, each with its answer.

    Raises:
        ConfigurationError: if the subset or the file does not exist.
        InvalidInstanceError: for a row that is not in the format, naming file, line and field.
    """
    for path, name in _files(place, subset):
        answers = {} if name == _WITHOUT_ANSWERS else _answers(path)
        for row in rows_of_lines(path, path.stem, str(path)):
            found = _parsed(_Question, row)
            if name != _WITHOUT_ANSWERS and found.id not in answers:
                raise InvalidInstanceError(
                    f"{row.where}, field 'id': {found.id!r} has no answer in {_answers_path(path)}"
                )
            values = {"question": found, "answer": answers.get(found.id), "subset": name}
            yield SourceRow(found.id, row.where, values)


def bfcl_instance(row: SourceRow, *, task: str, plain_names: bool = False) -> TaskInstance:
    """The problem in a row of `bfcl_rows`.

    Args:
        plain_names: write dots in the names of tools as underscores.

    Raises:
        InvalidInstanceError: if the gold calls do not fit the tools, naming file, line and field.
    """
    question: _Question = row.values["question"]
    subset = row.values["subset"]
    tools = tuple(_tool(function, i, row) for i, function in enumerate(question.function))
    where = row.where
    gold: tuple[GoldCall, ...] = ()
    if (answer := row.values["answer"]) is not None:
        where, gold = answer.where, _gold(answer, {tool.name: tool for tool in tools})
    messages = (Message(role=m.role, content=m.content) for m in question.question[0])
    if plain_names:
        tools, gold = _plainly_named(tools), _plainly_named(gold)
    try:
        problem = CallsProblem(tools=tools, messages=tuple(messages), gold=gold)
    except ValidationError as error:
        raise InvalidInstanceError(f"{where}, {first_complaint(error)}") from None
    return problem.instance(id=question.id, task=task, skill=subset, category=subset)


def _files(place: Path | HubDataset, subset: Subset) -> list[tuple[Path, str]]:
    """The files of the subset, each with the name of its own subset."""
    if subset not in (*_SUBSETS, "all"):
        raise ConfigurationError(
            f"subset is {subset!r}, expected one of {', '.join((*_SUBSETS, 'all'))}."
            f"{did_you_mean(str(subset), (*_SUBSETS, 'all'))}"
        )
    if isinstance(place, HubDataset):
        raise ConfigurationError(
            f"BFCL is read from its files, found the dataset {place.dataset!r}: give the path of a "
            "folder with them"
        )
    if not place.exists():
        raise ConfigurationError(f"there is no file or folder {str(place)!r}")
    paths = sorted(place.iterdir()) if place.is_dir() else [place]
    named = [(path, found[1]) for path in paths if (found := _FILE.fullmatch(path.name))]
    chosen = [(path, name) for path, name in named if subset in (name, "all")]
    if not chosen:
        there = ", ".join(path.name for path, _ in named) or "none of BFCL's files"
        raise ConfigurationError(
            f"{str(place)!r} has no problems of subset {subset!r}, expected files such as "
            f"BFCL_v4_multiple.json; it has: {there}"
        )
    chosen.sort(key=lambda file: _SUBSETS.index(file[1]))
    if len({name for _, name in chosen}) < len(chosen):
        raise ConfigurationError(
            f"{str(place)!r} has several files of one subset "
            f"({', '.join(path.name for path, _ in chosen)}): give a folder with one version"
        )
    return chosen


def _answers_path(path: Path) -> Path:
    return path.parent / "possible_answer" / path.name


def _answers(path: Path) -> dict[str, SourceRow]:
    """The rows with the gold calls, by the problem's id."""
    file = _answers_path(path)
    if not file.is_file():
        raise ConfigurationError(f"there is no file {str(file)!r} with the answers to {path.name}")
    rows = rows_of_lines(file, file.stem, str(file))
    found = [(_parsed(_Answer, row), row.where) for row in rows]
    return {answer.id: SourceRow(answer.id, where, {"calls": answer}) for answer, where in found}


def _tool(function: _Function, number: int, row: SourceRow) -> Tool:
    try:
        parameters = json_schema(function.parameters)
    except ValueError as error:
        raise InvalidInstanceError(
            f"{row.where}, field 'function.{number}.parameters': {error}"
        ) from None
    return Tool(name=function.name, description=function.description, parameters=parameters)


def _gold(answer: SourceRow, tools: dict[str, Tool]) -> tuple[GoldCall, ...]:
    """The gold calls; checks that all tools and arguments are declared."""
    calls = []
    for i, call in enumerate(answer.values["calls"].ground_truth):
        field = f"{answer.where}, field 'ground_truth.{i}"
        if len(call) != 1:
            raise InvalidInstanceError(f"{field}': {len(call)} names, expected that of one tool")
        ((name, arguments),) = call.items()
        if name not in tools:
            raise InvalidInstanceError(
                f"{field}': calls {name!r}, which is not declared: the tools are {', '.join(tools)}"
            )
        if complaint := _undeclared(arguments, tools[name]):
            raise InvalidInstanceError(f"{field}.{name}': {complaint}")
        try:
            calls.append(GoldCall(name=name, arguments=dict(arguments), listed=True))
        except ValidationError as error:
            raise InvalidInstanceError(f"{field}.{name}': {first_complaint(error)}") from None
    return tuple(calls)


def _plainly_named(named: tuple[NamedT, ...]) -> tuple[NamedT, ...]:
    return tuple(one.model_copy(update={"name": one.name.replace(".", "_")}) for one in named)


def _undeclared(arguments: dict[str, Any], tool: Tool) -> str | None:
    declared = tool.parameters.get("properties") or {}
    required = tool.parameters.get("required") or []
    assert isinstance(declared, dict)
    if unknown := next((name for name in arguments if name not in declared), None):
        return f"argument {unknown!r} is not declared: the tool takes {', '.join(declared)}"
    names = required if isinstance(required, list) else []
    if lacking := next((name for name in names if name not in arguments), None):
        return f"the required argument {lacking!r} has no acceptable value"
    return None


def _parsed(model: type[ModelT], row: SourceRow) -> ModelT:
    try:
        return model.model_validate(row.values)
    except ValidationError as error:
        raise InvalidInstanceError(f"{row.where}, {first_complaint(error)}") from None
