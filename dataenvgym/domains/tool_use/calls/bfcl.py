"""Makes problems of the files of the Berkeley Function Calling Leaderboard (BFCL v3 and v4).

    BFCL_v4_multiple.json                    {"id", "question": [[{role, content}]], "function"}
    possible_answer/BFCL_v4_multiple.json    {"id", "ground_truth": [{name: {argument: [...]}}]}

One JSON object per line. Two kinds of files have no answers: in irrelevance no tool fits, and none
should be called; in relevance any call is right. The subset is both the skill and the category. The
files for Java and JavaScript are not read: their values are source text of these languages.

A few published rows cannot be judged: no answer can satisfy their gold calls, or they declare no
tool. `RowSource` leaves such rows out and names them, and rows that repeat an id.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

from pydantic import Field, ValidationError

from dataenvgym.domains.tool_use.calls.problem import CallsProblem, files_in
from dataenvgym.domains.tool_use.matching import KINDS, OMITTED, GoldCall
from dataenvgym.errors import ConfigurationError, first_fault
from dataenvgym.records import Message, TaskInstance, Tool
from dataenvgym.records.model import Json, Model, Text
from dataenvgym.tasks.rows import HubDataset, SourceRow, UnfitRowError, parsed, rows_of_lines

Subset = Literal[
    "simple",
    "multiple",
    "parallel",
    "parallel_multiple",
    "irrelevance",
    "live_simple",
    "live_multiple",
    "live_parallel",
    "live_parallel_multiple",
    "live_irrelevance",
    "live_relevance",
    "all",
]
_SUBSETS = get_args(Subset)[:-1]
_FILE = re.compile(rf"BFCL_v\d+_({'|'.join(_SUBSETS)})(?:_python)?\.jsonl?$")
_JSON_TYPES = {"dict": "object", "float": "number", "tuple": "array", "any": "string"}
"""BFCL's own names of types; it reads "any" as a string, too."""
_WITHOUT_ANSWERS = ("irrelevance", "live_irrelevance", "live_relevance")
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
    """The problems in a folder of BFCL's files, or in one file, each with the row of its answer.

    Raises:
        ConfigurationError: if the subset or the file does not exist.
        InvalidInstanceError: if a line is not a JSON object.
    """
    first: dict[str, str] = {}  # the place of each id
    for path, name in _files(place, subset):
        answers: defaultdict[str, list[SourceRow]] = defaultdict(list)
        if name not in _WITHOUT_ANSWERS:
            file = path.parent / "possible_answer" / path.name
            if not file.is_file():
                raise ConfigurationError(
                    f"there is no file {str(file)!r} with the answers to {path.name}"
                )
            found = rows_of_lines(file, file.stem, str(file))
            for row in found:
                answers[str(row.values.get("id"))].append(row)
        for row in rows_of_lines(path, path.stem, str(path)):
            id = str(row.values.get("id"))
            values = {
                "row": row,
                "answers": answers[id],
                "subset": name,
                "first": first.setdefault(id, row.where),
            }
            yield SourceRow(row.id, row.where, values)


def bfcl_instance(row: SourceRow, *, task: str, plain_names: bool = False) -> TaskInstance:
    """The problem in a row of `bfcl_rows`.

    Args:
        plain_names: write dots in the names of tools as underscores.

    Raises:
        UnfitRowError: if the row is not in the format, or no answer can satisfy its gold calls,
            naming file, line and field.
    """
    subset, answers = row.values["subset"], row.values["answers"]
    question = parsed(_Question, row.values["row"].values, row.where, UnfitRowError)
    field = f"{row.where}, field 'id': {question.id!r}"
    if (first := row.values["first"]) != row.where:
        raise UnfitRowError(f"{field} is also that of {first}")
    if len(answers) > 1:
        places = " and ".join(each.where for each in answers)
        raise UnfitRowError(f"{field} has several possible answers: {places}")
    answer = next(iter(answers), None)
    if answer is None and subset not in _WITHOUT_ANSWERS:
        raise UnfitRowError(f"{field} has no possible_answer")
    tools = tuple(_tool(function, i, row) for i, function in enumerate(question.function))
    gold = () if answer is None else _gold(answer, {tool.name: tool for tool in tools})
    if plain_names:
        tools, gold = _plainly_named(tools), _plainly_named(gold)
    values = {
        "tools": tools,
        "messages": tuple(Message(role=m.role, content=m.content) for m in question.question[0]),
        "gold": gold,
        "any_call": subset == "live_relevance",
    }
    where = row.where if answer is None else answer.where
    problem = parsed(CallsProblem, values, where, UnfitRowError)
    return problem.instance(id=question.id, task=task, skill=subset, category=subset)


def _files(place: Path | HubDataset, subset: Subset) -> list[tuple[Path, str]]:
    """The files of the subset, each with the name of its own subset."""
    paths = files_in(place, "BFCL")
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


def _tool(function: _Function, number: int, row: SourceRow) -> Tool:
    try:
        parameters = json_schema_of(function.parameters)
        return Tool(name=function.name, description=function.description, parameters=parameters)
    except ValueError as error:
        field = f"field 'function.{number}.parameters'"
        raise UnfitRowError(f"{row.where}, {field}: {error}") from None


def json_schema_of(declared: Any, place: str = "") -> dict[str, Any]:
    """BFCL's declaration of a type as a JSON schema.

    Raises:
        ValueError: for a type that is neither JSON's nor BFCL's for Python, naming the place.
    """
    if not isinstance(declared, dict):
        raise ValueError(f"{place[:-1]} is {declared!r}, expected an object")
    schema = {name: value for name, value in declared.items() if name != "optional"}
    given = schema.get("type")
    schema["type"] = _JSON_TYPES.get(str(given), given)
    if not isinstance(given, str) or schema["type"] not in KINDS.values():
        known = ", ".join([*KINDS.values(), *_JSON_TYPES])
        raise ValueError(f"{place}type is {given!r}, expected {known}")
    if not isinstance(schema.get("required"), list | None):
        raise ValueError(f"{place}required is {schema['required']!r}, expected a list of names")
    if "items" in schema:
        schema["items"] = json_schema_of(schema["items"], f"{place}items.")
    if "properties" in schema:
        properties = schema["properties"]
        if not isinstance(properties, dict):
            raise ValueError(f"{place}properties is {properties!r}, expected an object")
        schema["properties"] = {
            name: json_schema_of(value, f"{place}properties.{name}.")
            for name, value in properties.items()
        }
    return schema


def _gold(row: SourceRow, tools: dict[str, Tool]) -> tuple[GoldCall, ...]:
    """The gold calls; checks that a call of the declared tools can satisfy them."""
    calls = []
    for i, call in enumerate(parsed(_Answer, row.values, row.where, UnfitRowError).ground_truth):
        field = f"{row.where}, field 'ground_truth.{i}"
        if len(call) != 1:
            raise UnfitRowError(f"{field}': {len(call)} names, expected that of one tool")
        ((name, arguments),) = call.items()
        if name not in tools:
            raise UnfitRowError(
                f"{field}': calls {name!r}, which is not declared: the tools are {', '.join(tools)}"
            )
        declared: Any = tools[name].parameters.get("properties") or {}
        if undeclared := _undeclared(arguments, declared, tools[name].parameters.get("required")):
            raise UnfitRowError(f"{field}.{name}': {undeclared}")
        taken: dict[str, Any] = {n: values for n, values in arguments.items() if n in declared}
        try:
            calls.append(GoldCall(name=name, arguments=taken, listed=True))
        except ValidationError as error:
            raise UnfitRowError(f"{field}.{name}': {first_fault(error)}") from None
    return tuple(calls)


def _plainly_named(named: tuple[NamedT, ...]) -> tuple[NamedT, ...]:
    return tuple(one.model_copy(update={"name": one.name.replace(".", "_")}) for one in named)


def _undeclared(
    arguments: Mapping[str, Sequence[Any]], declared: Mapping[str, Any], required: Any
) -> str | None:
    """Why no call can have these arguments; an undeclared one may be optional."""
    needed = (name for name, values in arguments.items() if OMITTED not in values)
    if unknown := next((name for name in needed if name not in declared), None):
        return f"argument {unknown!r} is not declared: the tool takes {', '.join(declared)}"
    names = map(str, required if isinstance(required, list) else ())
    lacking = (name for name in names if not any(v != OMITTED for v in arguments.get(name, ())))
    if (name := next(lacking, None)) is not None:
        return f"the required argument {name!r} has no acceptable value but the empty text"
    return None
