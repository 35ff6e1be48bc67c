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
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import ConfigDict, Field, ValidationError

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


class _Said(Model):
    role: Literal["system", "user", "assistant"]
    content: Text


class Function(Model):
    """A tool as BFCL's files describe it."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    name: Text = Field(min_length=1)
    description: Text = ""
    parameters: dict[str, Json]

    @property
    def tool(self) -> Tool:
        """The tool, with a JSON schema (see `json_schema_of`)."""
        parameters = json_schema_of(self.parameters)
        return Tool(name=self.name, description=self.description, parameters=parameters)


class _Question(Model):
    id: str = Field(min_length=1)
    question: list[list[_Said]] = Field(min_length=1, max_length=1)
    function: list[Function] = Field(min_length=1)


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
            (file,) = files_in(path.parent / "possible_answer" / path.name, "BFCL")
            for row in rows_of_lines(file, file.stem, str(file)):
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
    first, n_wanted = row.values["first"], int(subset not in _WITHOUT_ANSWERS)
    if first != row.where or len(answers) != n_wanted:
        places = ", ".join([first, *(each.where for each in answers)])
        raise UnfitRowError(
            f"{row.where}, field 'id': {question.id!r} is in {places}, expected one problem and "
            f"{n_wanted} possible_answer"
        )
    where = row.where
    try:
        tools = tuple(function.tool for function in question.function)
        gold: tuple[GoldCall, ...] = ()
        for answer in answers:
            where = answer.where
            gold = _gold(answer, {tool.name: tool for tool in tools})
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        why = first_fault(error) if isinstance(error, ValidationError) else error
        raise UnfitRowError(f"{where}: {why}") from None
    if plain_names:
        tools = tuple(t.model_copy(update={"name": t.name.replace(".", "_")}) for t in tools)
        gold = tuple(g.model_copy(update={"name": g.name.replace(".", "_")}) for g in gold)
    values = {
        "tools": tools,
        "messages": tuple(Message(role=m.role, content=m.content) for m in question.question[0]),
        "gold": gold,
        "any_call": subset == "live_relevance",
    }
    problem = parsed(CallsProblem, values, where, UnfitRowError)
    return problem.instance(id=question.id, task=task, skill=subset, category=subset)


def _files(place: Path | HubDataset, subset: Subset) -> list[tuple[Path, str]]:
    """The files of the subset, each with the name of its own subset."""
    paths = files_in(place, "BFCL")
    named = [(path, found[1]) for path in paths if (found := _FILE.fullmatch(path.name))]
    chosen = [(path, name) for path, name in named if subset in (name, "all")]
    if not chosen or len({name for _, name in chosen}) < len(chosen):
        there = ", ".join(path.name for path, _ in named) or "none of BFCL's files"
        raise ConfigurationError(
            f"{str(place)!r} has {there}, expected one file of subset {subset!r} (or of each, for "
            "'all'), such as BFCL_v4_multiple.json"
        )
    chosen.sort(key=lambda file: _SUBSETS.index(file[1]))
    return chosen


def json_schema_of(declared: Mapping[str, Any], place: str = "parameters") -> dict[str, Any]:
    """BFCL's declaration of a type as a JSON schema.

    Raises:
        AttributeError, ValueError: for another form, and for a type that is neither JSON's nor
            BFCL's for Python.
    """
    schema = {name: value for name, value in declared.items() if name != "optional"}
    given, required = schema.get("type"), schema.get("required")
    schema["type"] = _JSON_TYPES.get(str(given), given)
    if schema["type"] not in KINDS.values() or not isinstance(required, list | None):
        raise ValueError(f"{place} has type {given!r} and required {required!r:.80}")
    if "items" in schema:
        schema["items"] = json_schema_of(schema["items"], f"{place}.items")
    if "properties" in schema:
        schema["properties"] = {
            name: json_schema_of(value, f"{place}.{name}")
            for name, value in schema["properties"].items()
        }
    return schema


def _gold(row: SourceRow, tools: dict[str, Tool]) -> tuple[GoldCall, ...]:
    """The gold calls; checks that a call of the declared tools can satisfy them."""
    calls = []
    for call in parsed(_Answer, row.values, row.where, UnfitRowError).ground_truth:
        ((name, arguments),) = call.items()
        if name not in tools:
            raise ValueError(f"{name!r} is not declared: the tools are {', '.join(tools)}")
        schema: Any = tools[name].parameters
        declared = schema.get("properties") or {}
        needed = [n for n, values in arguments.items() if OMITTED not in values]
        lacking = [
            n
            for n in schema.get("required") or ()
            if not any(v != OMITTED for v in arguments.get(str(n), ()))
        ]
        if wrong := [*(n for n in needed if n not in declared), *lacking]:
            raise ValueError(
                f"argument {wrong[0]!r} of {name} is required or has a value, and is not declared "
                f"or has none: the tool takes {', '.join(declared)}"
            )
        taken: dict[str, Any] = {n: values for n, values in arguments.items() if n in declared}
        calls.append(GoldCall(name=name, arguments=taken, listed=True))
    return tuple(calls)
