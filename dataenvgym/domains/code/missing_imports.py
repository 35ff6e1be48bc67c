"""Whether a test's own imports fail, which is our error and not a wrong answer.

A test may end in a ModuleNotFoundError because of its own imports, or because the student's code
raised one, under any name, to have its problem left out. So the imports in the test are tried again
in a run without the student's code.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from contextlib import suppress

from dataenvgym.domains.code.harness.candidate import MODULE
from dataenvgym.domains.code.problem import CodeProblem, DoctestTest, ProgramTest
from dataenvgym.sandbox.interface import Limits, Sandbox
from dataenvgym.scoring.code.syntax import tree_of

_TRY = """
import json, sys
missing = []
for statement in json.loads({statements!r}):
    try:
        exec(statement, {{}})
    except ModuleNotFoundError as error:
        missing.append(error.name)
    except BaseException:
        pass
sys.__stdout__.write(json.dumps(missing))
"""


def is_missing(
    module: str, test: ProgramTest | DoctestTest, problem: CodeProblem, box: Sandbox, limits: Limits
) -> bool:
    """Whether an import of the test or the problem's preamble fails for want of that module.

    Some imports do not count: those in a `try` may fail, those in an `if` may never be reached
    (`TYPE_CHECKING`), and the student's own module exists when the test shares its process.

    Raises:
        SandboxError: if the sandbox failed.
    """
    code = test.code if isinstance(test, ProgramTest) else ""
    if isinstance(test, DoctestTest):
        from dataenvgym.domains.code.harness.doctests import source_of  # slow to import

        with suppress(ValueError):
            code = source_of(test.text)
    statements = [
        ast.unparse(node) for text in (problem.preamble, code) for node in _imports(tree_of(text))
    ]
    is_students = problem.tests_share_process and module.partition(".")[0] == MODULE
    if not statements or is_students:
        return False
    run = box.run(
        _TRY.format(statements=json.dumps(statements)),
        files=problem.files if problem.tests_share_process else {},  # others see no files
        limits=limits,
    )
    try:
        return module in json.loads(run.text)
    except ValueError:
        return False


def _imports(tree: ast.AST) -> Iterator[ast.stmt]:
    left = [tree]
    while left:
        for node in ast.iter_child_nodes(left.pop()):
            if isinstance(node, ast.Import | ast.ImportFrom):
                yield node
            elif not isinstance(node, ast.Try | ast.TryStar | ast.If):
                left.append(node)
