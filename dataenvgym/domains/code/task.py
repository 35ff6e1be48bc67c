"""Code problems from files or named data sets, by split.

A row is in one of these formats:

    own            {"instruction", "tests": [...] or "public"/"hidden", "entry_point", ...}: the
                   fields of `CodeProblem` ("tests" are hidden ones), "id", "skill", "category"
    humaneval      {"task_id", "prompt", "entry_point", "canonical_solution", "test"}
    mbpp           {"task_id", "text" or "prompt", "code", "test_list", ...}; the listed tests
                   are in the question, as usual, and public; a "test", as in MBPP+, is a hidden
                   program with asserts
    apps           {"problem_id", "question", "input_output", ...}        (see `contests`)
    livecodebench  {"question_id", "question_content", "public_test_cases", ...}   (see `contests`)

If the row has a right solution, it becomes the gold answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from dataenvgym.domains.code.contests import apps_parts, livecodebench_parts
from dataenvgym.domains.code.domain import CodeDomain
from dataenvgym.domains.code.environment import CodeOptions
from dataenvgym.domains.code.problem import CodeProblem, Parts, Row
from dataenvgym.domains.code.static_analysis import called_function, makes_objects, surroundings
from dataenvgym.errors import InvalidInstanceError
from dataenvgym.options import takes
from dataenvgym.records import TaskInstance, Text
from dataenvgym.tasks.base import Task, training_problems
from dataenvgym.tasks.options import FileOptions, TaskOptions
from dataenvgym.tasks.rows import SourceRow, parsed

Format = Literal["auto", "own", "humaneval", "mbpp", "apps", "livecodebench"]

_FIELDS: Mapping[str, tuple[str, ...]] = {
    "humaneval": ("prompt", "entry_point", "test"),
    "mbpp": ("test_list",),
    "apps": ("question", "input_output"),
    "livecodebench": ("question_content", "public_test_cases"),
    "own": ("instruction",),
}


@dataclass(frozen=True, kw_only=True)
class CodeTaskOptions(TaskOptions, FileOptions, CodeOptions):
    """Options of `CodeTask`.

    Attributes:
        format: "own", "humaneval", "mbpp", "apps", "livecodebench", or "auto" to tell from each
            row's fields.
    """

    name: str = "code"
    format: Format = "auto"


class CodeTask(Task):
    """Your own code problems, or rows of the known data sets: task.sources=problems.jsonl.

    Code problems in HumanEval's, MBPP's, APPS's, LiveCodeBench's or our own format.

    CodeTask({"test": "HumanEval.jsonl.gz"}, split="test")
    """

    @takes(CodeTaskOptions)
    def __init__(self, options: CodeTaskOptions) -> None:
        domain = CodeDomain(partial(training_problems, self), options)
        read = partial(to_instance, task=options.name, format=options.format)
        self.set_up_rows(domain, options, read)


def to_instance(row: SourceRow, *, task: str, format: Format = "auto") -> TaskInstance:
    """The task instance in a row.

    Raises:
        UnfitRowError: for a row of APPS without tests.
        InvalidInstanceError: if the row is not in the format, naming the place and the fault.
        ConfigurationError: if there is no such format.
    """
    detected = _detect(row) if format == "auto" else format
    parts = _READERS[detected](row)
    problem = parsed(CodeProblem, parts.problem, row.where)
    own_id = row.values.get(parts.id_field)
    return TaskInstance(
        id=row.id if own_id in (None, "") else str(own_id),
        task=task,
        instruction=parts.instruction,
        answer=problem.solution or None,
        skill=parts.skill,
        category=parts.category,
        data=problem.data(),
    )


def _detect(row: SourceRow) -> str:
    for name, fields in _FIELDS.items():
        if all(field in row.values for field in fields):
            return name
    raise InvalidInstanceError(
        f"{row.where}: the fields are {', '.join(row.values) or 'none'}, expected those of one of: "
        + "; ".join(f"{name} ({', '.join(fields)})" for name, fields in _FIELDS.items())
    )


class _Own(Row):
    instruction: Text
    skill: Any = None
    category: Any = None
    hidden: list[Any] = []
    tests: list[Any] = []


def _own(row: SourceRow) -> Parts:
    given, outer = _Own.of(row), ("id", "instruction", "skill", "category", "tests", "hidden")
    problem = {name: value for name, value in row.values.items() if name not in outer}
    return Parts(
        instruction=given.instruction,
        problem=problem | {"hidden": [*given.hidden, *given.tests]},
        id_field="id",
        skill=str(given.skill or "").strip() or None,
        category=str(given.category or "").strip() or None,
    )


class _HumanEval(Row):
    prompt: Text
    entry_point: Text
    test: Text
    canonical_solution: Text = ""


def _humaneval(row: SourceRow) -> Parts:
    given = _HumanEval.of(row)
    prompt, solution = given.prompt, given.canonical_solution
    problem = {
        "entry_point": given.entry_point,
        "starter": prompt,
        "preamble": surroundings(prompt, given.entry_point),
        "hidden": [
            {"kind": "program", "code": f"{given.test}\n\ncheck({given.entry_point})\n"},
        ],
        "solution": f"{prompt}{solution}" if solution else "",
    }
    return Parts(instruction=prompt, problem=problem, id_field="task_id")


class _Mbpp(Row):
    text: Text = ""
    prompt: Text = ""
    code: Text = ""
    test: Text = ""
    test_list: tuple[Text, ...] = ()
    challenge_test_list: tuple[Text, ...] = ()
    test_imports: tuple[Text, ...] = ()
    test_setup_code: Text = ""


def _mbpp(row: SourceRow) -> Parts:
    given = _Mbpp.of(row)
    tests, solution = given.test_list, given.code
    setup = "\n".join([*given.test_imports, given.test_setup_code]).strip()
    more = [*given.challenge_test_list, given.test]
    problem = {
        "entry_point": called_function("\n".join(tests), solution),
        "public": [_program(setup, test) for test in tests],
        "hidden": [_program(setup, test) for test in more if test.strip()],
        "solution": solution.replace("\r\n", "\n"),
        "tests_share_process": makes_objects("\n".join([setup, *tests, *more]), solution),
    }
    question = (given.text or given.prompt).strip()
    instruction = "\n".join([question, "Your code should pass these tests:", "", *tests])
    return Parts(instruction=instruction, problem=problem, id_field="task_id")


def _program(setup: str, test: str) -> dict[str, str]:
    return {"kind": "program", "code": f"{setup}\n{test}".strip() + "\n"}


_READERS: Mapping[str, Callable[[SourceRow], Parts]] = {
    "own": _own,
    "humaneval": _humaneval,
    "mbpp": _mbpp,
    "apps": apps_parts,
    "livecodebench": livecodebench_parts,
}
