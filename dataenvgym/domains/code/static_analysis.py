"""Parses code and questions, without running them, for their definitions, calls and tests."""

from __future__ import annotations

import ast
import builtins
import re
import sys
from collections import Counter

from dataenvgym.domains.code.problem import CodeProblem, DoctestTest, ProgramTest, Test
from dataenvgym.tasks.scoring.code.extraction import extract_code
from dataenvgym.tasks.scoring.code.syntax import names_bound, names_read, parsed, tree_of

_ASSERT = re.compile(r"^[ \t>]*(assert\b.*)$")
_NO_CODE = re.compile(r"^[ \t]*(?:`{3,}.*|~{3,}.*|\"{3}|'{3})[ \t]*$", re.MULTILINE)
_EXAMPLE = re.compile(r"^[ \t]*(?:>>>|\.\.\.) (.*)$", re.MULTILINE)
_MOST_LINES = 20  # of one assert
_MOST_PARSED = 300_000  # characters of one text that are parsed in search of asserts
_KEPT = ast.Import | ast.ImportFrom | ast.FunctionDef | ast.ClassDef | ast.Assign | ast.AnnAssign


def problem_in(question: str) -> CodeProblem | None:
    """The problem in a question, with the tests that the question contains; None without tests.

    Tests are lines that begin with `assert`, or else examples behind `>>>`; all of them count as
    public. If the question contains the beginning of a function, that is the starter code.
    """
    asserts = _asserts_in(question)
    tests: list[Test] = [ProgramTest(code=code) for code in asserts]
    if not tests and ">>>" in question:
        tests = [DoctestTest(text=_NO_CODE.sub("", question))]
    if not tests:
        return None
    demand = "\n".join(asserts) or "\n".join(
        re.findall(r"^[ \t]*>>> (.*)$", question, re.MULTILINE)
    )
    entry_point = called_function(demand)
    starter = (extract_code(question, entry_point) if entry_point else None) or ""
    if not any(
        isinstance(n, ast.FunctionDef) and n.name == entry_point for n in tree_of(starter).body
    ):
        starter = ""
    return CodeProblem(
        entry_point=entry_point,
        starter=starter,
        preamble=surroundings(starter, entry_point) if starter and entry_point else "",
        public=tuple(tests),
    )


def with_known_names(problem: CodeProblem, code: str) -> CodeProblem | None:
    """The problem with only those tests that can judge this code; None if no test is left.

    A test that uses a name that neither the code nor Python defines would fail any code. A test
    that uses nothing that the code defines would pass any code. The entry point becomes the
    function that the code defines and the tests call, if there is one.
    """
    demand = "\n".join(test.code for test in problem.public if isinstance(test, ProgramTest))
    defined = names_bound(tree_of(code))
    entry_point = problem.entry_point
    if entry_point not in defined:
        entry_point = called_function(demand, code) or entry_point
    known = {entry_point, *defined, *names_bound(tree_of(problem.preamble))}
    known |= {*dir(builtins), *sys.stdlib_module_names}
    asked = {entry_point, *_offered(code)}

    def tells(test: Test) -> bool:
        if isinstance(test, ProgramTest):
            tree = tree_of(test.code)
            names = names_read(tree) - names_bound(tree)
            return names <= known and not names.isdisjoint(asked)
        lines = _EXAMPLE.findall(test.text) if isinstance(test, DoctestTest) else []
        return not asked.isdisjoint(re.findall(r"\w+", " ".join(lines)))

    tests = [test for test in problem.public if tells(test)]
    if not tests:
        return None
    return problem.model_copy(update={"entry_point": entry_point, "public": tuple(tests)})


def called_function(tests: str, solution: str | None = None) -> str | None:
    """The function that the tests check, or None if they call none.

    With a solution, it is the last function that the solution defines and the tests call. Without
    one, it is the function called most often, not counting builtins and methods.
    """
    called = Counter(re.findall(r"(?<![\w.])([A-Za-z_]\w*)\s*\(", tests))
    if solution is not None:
        defined = [n.name for n in tree_of(solution).body if isinstance(n, ast.FunctionDef)]
        return next((name for name in reversed(defined) if name in called), None)
    own = [name for name, _ in called.most_common() if not hasattr(builtins, name)]
    return next((name for name in own if name not in ("assert", "not", "in", "and", "or")), None)


def surroundings(code: str, entry_point: str) -> str:
    """The definitions of the code other than the entry point: imports, helpers, constants."""
    nodes = [node for node in tree_of(code).body if isinstance(node, _KEPT)]
    return "\n".join(ast.unparse(n) for n in nodes if getattr(n, "name", None) != entry_point)


def emptied(code: str, entry_point: str) -> str | None:
    """The code with `pass` as the body of its entry point; None if it does not define one."""
    tree = tree_of(code)
    found = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == entry_point]
    for function in found:
        function.body = [ast.Pass()]
    return ast.unparse(ast.fix_missing_locations(tree)) if found else None


def normalized(code: str) -> str:
    """Code without comments, docstrings and layout; unchanged if it is not Python."""
    if (tree := parsed(code)) is None:
        return code.strip()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module):
            node.body = node.body[ast.get_docstring(node, clean=False) is not None :] or [
                ast.Pass()
            ]
    try:
        return ast.dump(tree)
    except RecursionError:
        return code.strip()


def _asserts_in(text: str) -> list[str]:
    """The complete assert statements that begin at the start of a line."""
    lines = text.splitlines()
    found = []
    left = _MOST_PARSED
    for place, line in enumerate(lines):
        if (begun := _ASSERT.match(line)) is None or left <= 0:
            continue
        statement = begun[1]
        for following in [*lines[place + 1 : place + _MOST_LINES], ""]:
            left -= len(statement)
            if parsed(statement) is not None:
                found.append(statement)
                break
            statement += f"\n{following}"
    return found


def _offered(code: str) -> set[str]:
    """The names that code defines for others: functions, classes, variables of the module."""
    nodes = tree_of(code).body
    found = {name for node in nodes if (name := getattr(node, "name", None))}
    assigned = [node for node in nodes if isinstance(node, ast.Assign | ast.AnnAssign)]
    inner = (name for node in assigned for name in ast.walk(node) if isinstance(name, ast.Name))
    return found | {name.id for name in inner if isinstance(name.ctx, ast.Store)}


def makes_objects(tests: str, solution: str) -> bool:
    """Whether the tests create instances of classes that the solution defines."""
    names = [n.name for n in tree_of(solution).body if isinstance(n, ast.ClassDef)]
    return any(re.search(rf"(?<![\w.]){re.escape(name)}\s*\(", tests) for name in names)
