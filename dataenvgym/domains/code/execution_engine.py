"""A teacher writes problems, solutions and tests; records whose solution passes are kept.

An answer has `{"records": [{"instruction", "output", "tests"}]}`: the problem, its solution as
Python code, and asserts that call it. The tests of a program that reads stdin are texts instead:
"Input:", its input, "Output:", its output. The record is kept if the solution passes all its tests
in the task's sandbox, and the same code with an empty body fails one, which shows that the tests
check something. The solution runs twice, because it may pass once by chance. Tests are trusted as
little as the code: each one runs on its own. Everything else is as in `LLMEngine`.
"""

from __future__ import annotations

import logging
from dataclasses import KW_ONLY, dataclass
from typing import Any

from pydantic import PositiveInt, ValidationError

from dataenvgym.agents.engines.llm.engine import LLMEngine
from dataenvgym.agents.engines.llm.records import items_in, record_of, records_schema
from dataenvgym.domains.code.domain import CodeDomain
from dataenvgym.domains.code.problem import CodeProblem, ProgramTest, StdioTest
from dataenvgym.domains.code.sandboxed_tests import judge
from dataenvgym.domains.code.static_analysis import called_function, emptied
from dataenvgym.errors import ConfigurationError, EvaluationError, SandboxError
from dataenvgym.interfaces import Reply
from dataenvgym.records import Provenance, SupervisedDatum
from dataenvgym.tasks.scoring.code.extraction import extract_code
from dataenvgym.teachers.prompts import PromptLike
from dataenvgym.teachers.structured import Schema

_log = logging.getLogger(__name__)
_LISTS = ("tests",)
_SHOWN = "Your code should pass these tests:"
_SHOWN_TESTS = 3
_INPUT, _OUTPUT = "Input:", "\nOutput:"


@dataclass(eq=False)
class ExecutionEngine(LLMEngine):
    """Supervised records of code that passed its own tests.

    The instruction ends with some of the tests, so that the quality check `wrong_answer` can judge
    the record again. The output is the solution in a code fence.

    Args:
        teacher: the model that writes the records.
        task: a task with code, whose sandbox and limits are used.
        prompt: as for `LLMEngine`; see `configs/prompt/code_records.yaml`.
        batch_size: the most records that one request asks for; code records are long.

    Attributes:
        dropped: also counts "wrong" (the solution fails a test in one of two runs), "vacuous" (an
            empty body passes all tests) and "not judged" (the sandbox failed).
    """

    prompt: PromptLike = "code_records"
    _: KW_ONLY
    batch_size: PositiveInt = 5

    def __post_init__(self) -> None:
        domain = self.task.domain if self.task else None
        if not isinstance(domain, CodeDomain):
            raise ConfigurationError(
                f"the execution engine runs code in the task's sandbox, and task "
                f"{self.task and self.task.name!r} has none: choose a task with code, or "
                "agent/engine=llm"
            )
        self._runs = domain
        super().__post_init__()

    def schema(self, count: int | None) -> Schema:
        return records_schema(count, self.max_length, lists=_LISTS, fields=self.fields)

    def read(self, reply: Reply, provenance: Provenance) -> tuple[list[SupervisedDatum], int]:
        written, malformed = items_in(reply, records_schema(lists=_LISTS), _written)
        records = []
        for each in filter(self._passes, written):
            shown = "\n".join(each.tests[:_SHOWN_TESTS])
            asked = f"{each.instruction}\n\n{_SHOWN}\n\n{shown}" if shown else each.instruction
            output = f"```python\n{each.solution.strip()}\n```"
            record = SupervisedDatum(instruction=asked, output=output, provenance=provenance)
            records.append(record)
        return records, malformed

    def _passes(self, written: _Written) -> bool:
        """True if the solution passes the tests and an empty body fails; if not, counts why."""

        def passes(code: str) -> bool:
            box = self._runs.sandbox.box()
            return judge(code, written.problem, box, limits=self._runs.limits).passed

        try:
            if not passes(written.solution):
                self.dropped["wrong"] += 1
            elif passes(written.empty):
                self.dropped["vacuous"] += 1
            elif not passes(written.solution):
                self.dropped["wrong"] += 1
            else:
                return True
        except EvaluationError:  # a test that cannot be run, whatever the solution
            self.dropped["wrong"] += 1
        except SandboxError as error:
            _log.warning("a record's code was not run: %s", error)
            self.dropped["not judged"] += 1
        return False


@dataclass(frozen=True)
class _Written:
    """The parsed parts of a problem that the teacher wrote; nothing has been run yet."""

    instruction: str
    solution: str
    empty: str
    tests: tuple[str, ...]
    problem: CodeProblem


def _written(item: Any) -> _Written | None:
    """The parts of a record, or None if it is malformed."""
    datum = record_of(item, Provenance())
    tests = item.get("tests") if isinstance(item, dict) else None
    if datum is None or not isinstance(tests, list) or not all(isinstance(t, str) for t in tests):
        return None
    tests = [test.strip() for test in tests if test.strip()]
    if all(test.startswith(_INPUT) and _OUTPUT in test for test in tests):
        return _program(datum, tests)
    demand = "\n".join(tests)
    solution = extract_code(datum.output, called_function(demand)) or datum.output
    entry_point = called_function(demand, solution)
    empty = emptied(solution, entry_point) if entry_point else None
    if empty is None:
        return None
    try:
        hidden = tuple(ProgramTest(code=test) for test in tests)
        problem = CodeProblem(entry_point=entry_point, hidden=hidden)
    except ValidationError:
        return None
    return _Written(datum.instruction, solution, empty, tuple(tests), problem)


def _program(datum: SupervisedDatum, tests: list[str]) -> _Written | None:
    """The parts of a record whose solution reads stdin; its empty form prints nothing."""
    pairs = (test.removeprefix(_INPUT).partition(_OUTPUT) for test in tests)
    hidden = tuple(StdioTest(input=i.strip("\n"), output=o.strip()) for i, _, o in pairs)
    solution = extract_code(datum.output, None)
    if solution is None or not hidden:
        return None
    return _Written(datum.instruction, solution, "pass", tuple(tests), CodeProblem(hidden=hidden))
