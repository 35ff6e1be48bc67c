"""A code problem: the task of the student's program, and the tests that check it.

It is in `TaskInstance.data`, as JSON. Tests are of four kinds:

    CallTest     the entry point, called with arguments, returns the expected value
    ProgramTest  a program with asserts (HumanEval's `check(candidate)`, MBPP's `test_list`)
    DoctestTest  an interactive session, as it is in a docstring
    StdioTest    the whole program reads stdin and writes stdout (APPS, LiveCodeBench)

Public tests may be shown to the student, hidden tests never are; both count.

Rows of all data sets of code have a common form, before they become instances.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from dataenvgym.errors import InvalidInstanceError, shorten
from dataenvgym.records import Json, Model, Text
from dataenvgym.tasks.rows import SourceRow, parsed

_LONGEST_INT = 4000  # digits; `int` refuses more than 4,300


@dataclass(frozen=True)
class Parts:
    """The parts of the instance that a row describes.

    Attributes:
        problem: the fields of `CodeProblem`, not yet checked.
        id_field: the field with the row's own id, if it has one.
    """

    instruction: str
    problem: dict[str, Any]
    id_field: str
    skill: str | None = None
    category: str | None = None


class Row(Model, extra="ignore"):
    """The fields of a format; a field that is null is as if it were absent."""

    @classmethod
    def of(cls, row: SourceRow) -> Self:
        """Those of a row."""
        return parsed(cls, {k: v for k, v in row.values.items() if v is not None}, row.where)


def unjsoned(kind: Callable[[], Any], value: Any) -> Any:
    """A value that may be a JSON text; an empty one, if the text is blank."""
    if isinstance(value, str):
        value = json_of(value) if value.strip() else None
    return kind() if value is None else value


JsonList = Annotated[list[Any], BeforeValidator(partial(unjsoned, list))]
JsonObject = Annotated[dict[str, Any], BeforeValidator(partial(unjsoned, dict))]


def json_of(text: str, where: str = "") -> Any:
    """Parse a JSON text; integers may have any number of digits."""
    try:
        return json.loads(text, parse_int=_whole)  # orjson turns long integers into floats
    except (ValueError, RecursionError) as error:
        raise InvalidInstanceError(f"{where}not JSON: {error}: {shorten(text)!r}") from None


def _whole(text: str) -> int:
    if len(text) <= _LONGEST_INT:
        return int(text)
    if text.startswith("-"):
        return -_whole(text[1:])
    low = len(text) // 2
    power: int = 10**low
    return _whole(text[:-low]) * power + _whole(text[-low:])


class CallTest(Model):
    """A call of the entry point with JSON values; also read from `[args, kwargs, expected]`.

    The result is compared as JSON: a tuple is a list, the keys of a dict are texts.

    Attributes:
        accepts: other correct results.
    """

    kind: Literal["call"] = "call"
    args: tuple[Json, ...] = ()
    kwargs: dict[str, Json] = {}
    expected: Json
    accepts: tuple[Json, ...] = ()


class ProgramTest(Model):
    """A program that calls the solution by its name; it raises nothing if the solution is right."""

    kind: Literal["program"] = "program"
    code: Text = Field(min_length=1)


class DoctestTest(Model):
    """A text with `>>>` examples; the text between them is ignored."""

    kind: Literal["doctest"] = "doctest"
    text: Text = Field(min_length=1)


class StdioTest(Model):
    """The program's input, and the expected output."""

    kind: Literal["stdio"] = "stdio"
    input: Text = ""
    output: Text


def _spelled_out(value: Any) -> Any:
    """`[args, kwargs, expected]` as the fields of the call."""
    if isinstance(value, list | tuple):
        call = zip(("args", "kwargs", "expected"), value, strict=True)
        return {"kind": "call", **dict(call)}
    return value


Test = Annotated[
    Annotated[CallTest | ProgramTest | DoctestTest | StdioTest, Field(discriminator="kind")],
    BeforeValidator(_spelled_out),
]


class CodeProblem(Model):
    """The data needed to judge a solution.

    Attributes:
        entry_point: the function that tests call, or None for whole programs. A method of a class
            `Solution` (made without arguments) is called `name` or `Solution.name`; it takes
            precedence over a function `name`.
        starter: code that the student completes; a reply that is only a body is put behind it.
        preamble: code that runs before the student's, in the same module: imports, helpers. Tests
            see its names, too.
        files: further files of the working folder, by relative path; modules can be imported.
            The student's code can change them, so tests do not see them unless they share its
            process; a test whose imports are missing cannot be run.
        public, hidden: the tests; there is at least one.
        tolerance: relative error allowed where the expected number is not an integer; with 0,
            empty lines of outputs count, too.
        integers_by_value: whether an output "7" is right where "007" is expected, as in APPS and
            LiveCodeBench; otherwise numbers are compared by value only if one of the two has a
            point or an exponent.
        tests_share_process: run asserts and doctests in the process of the student's code. Needed
            if objects other than plain data (instances of the student's classes, functions) pass
            between them; a determined program can then pretend that it passed.
        solution: a right solution, or "". Never shown to the student.
    """

    entry_point: str | None = None
    starter: Text = ""
    preamble: Text = ""
    files: dict[str, Text] = {}
    public: tuple[Test, ...] = ()
    hidden: tuple[Test, ...] = ()
    tolerance: float = Field(default=1e-9, ge=0, allow_inf_nan=False)
    integers_by_value: bool = False
    tests_share_process: bool = False
    solution: Text = ""

    @model_validator(mode="after")
    def _can_be_judged(self) -> Self:
        if not self.tests:
            raise ValueError("no tests, expected at least one in public or hidden")
        if self.entry_point is None and any(isinstance(test, CallTest) for test in self.tests):
            raise ValueError("a test of kind 'call' needs an entry_point")
        return self

    @property
    def tests(self) -> tuple[Test, ...]:
        """All tests, the public ones first."""
        return (*self.public, *self.hidden)

    def data(self) -> dict[str, Any]:
        """The problem as `TaskInstance.data`."""
        return self.model_dump(mode="json", exclude_defaults=True, exclude={"public", "hidden"}) | {
            name: [test.model_dump(mode="json") for test in getattr(self, name)]
            for name in ("public", "hidden")
        }
