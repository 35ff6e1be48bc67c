"""A plan as a small Python program: `output0 = tool(argument="value")`, one line for each step.

The program is parsed and never run. Every call of a plain name is a step, in the order in which
Python would make the calls; calls of builtins and of functions that the program defines do not
count. Loops and branches count once. Only keyword arguments count. A variable that holds the result
of a step refers to it: `output0['text']` and `output0.text` are `<node-0>.text`, in f-strings too.
"""

from __future__ import annotations

import ast
import builtins
import keyword
import re
from collections.abc import Collection, Sequence
from functools import partial

from pydantic import JsonValue

from dataenvgym.domains.tool_use.plans.plan import (
    REFERENCE,
    Form,
    Plan,
    PlanError,
    Reading,
    Step,
    clean,
)
from dataenvgym.tasks.scoring.code.extraction import extract_code
from dataenvgym.tasks.scoring.code.syntax import parsed

HOW_TO_WRITE = """\
Reply with the plan as a Python program in one code block, one line for each step, in the order in \
which they run:

```python
output0 = TOOL(ARGUMENT="VALUE")
output1 = TOOL(ARGUMENT=output0['NAME'])
```

All arguments are keyword arguments, and a value is text. It refers to the result of an earlier \
step by its variable: output0['text'] is the result `text` of the first step. Use as few tools as \
possible."""

_BUILTINS = frozenset(dir(builtins))
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def read(reply: str, tools: Collection[str]) -> Reading:
    """Parse the plan in a reply, in time proportional to its length; raises nothing.

    Args:
        tools: names that are tools even if they are builtins, or defined by the program.
    """
    code = extract_code(reply)
    tree = None if code is None else parsed(code)
    if tree is None:
        return Reading((), "there is no Python code" if code is None else "the code is not Python")
    program = _Program(tree, tools)
    try:
        program.visit(tree)
    except PlanError as error:
        return Reading((), str(error))
    except RecursionError:
        return Reading((), "the code is nested too deeply")
    return Reading(tuple(program.steps), None if program.steps else "the code calls no tool")


class _Program:
    """The steps of a program, collected as its syntax tree is visited in order."""

    def __init__(self, tree: ast.Module, tools: Collection[str]) -> None:
        self.steps: list[Step] = []
        own = {node.name for node in ast.walk(tree) if isinstance(node, _DEFINITIONS)}
        self._no_tools = (_BUILTINS | own) - set(tools)
        self._places: dict[int, int] = {}
        self._results: dict[int, str] = {}  # of calls that were made, by the node's id()
        self._variables: dict[str, str] = {}  # those that hold a result, as references

    def visit(self, node: ast.AST) -> None:
        match node:
            case ast.Assign(targets=targets, value=value):
                self._assign(targets, value)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self._assign([target], value)
            case ast.expr():
                self._value(node)
            case _:
                for child in ast.iter_child_nodes(node):
                    self.visit(child)

    def _assign(self, targets: Sequence[ast.expr], node: ast.expr) -> None:
        value = self._value(node)
        is_result = not isinstance(node, ast.Constant) and _is_reference(value)
        for target in targets:
            if isinstance(target, ast.Name):
                self._variables.pop(target.id, None)
                if is_result:
                    self._variables[target.id] = str(value)

    def _value(self, node: ast.expr) -> JsonValue:
        """The value of an expression, after its calls; other expressions become their text."""
        match node:
            case ast.Constant(value=None | str() | int() | float() as constant):
                return constant
            case ast.Name(id=name) if name in self._variables:
                return self._variables[name]
            case ast.Subscript(value=whole, slice=ast.Constant(value=str() as key)):
                return self._part(node, whole, key)
            case ast.Attribute(value=whole, attr=key):
                return self._part(node, whole, key)
            case ast.Call(func=ast.Name(id=name)) if name not in self._no_tools:
                return self._call(node, name)
            case ast.JoinedStr(values=parts):
                return "".join(str(self._value(part)) for part in parts)
            case ast.FormattedValue(value=inner):
                return self._value(inner)
            case ast.List(elts=items) | ast.Tuple(elts=items):
                return [self._value(item) for item in items]
            case ast.Dict(keys=keys, values=values):
                return {
                    "" if key is None else str(self._value(key)): self._value(value)
                    for key, value in zip(keys, values, strict=True)
                }
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
                return -number
        self._make_calls(node)
        return ast.unparse(node)

    def _part(self, node: ast.expr, whole: ast.expr, key: str) -> JsonValue:
        base = self._value(whole)
        part = f"{base}.{key}"
        return part if _is_reference(base) and _is_reference(part) else ast.unparse(node)

    def _call(self, node: ast.Call, name: str) -> str:
        if (done := self._results.get(id(node))) is not None:
            return done
        for argument in node.args:
            self._value(argument)
        args: dict[str, JsonValue] = {}
        for given in node.keywords:
            value = self._value(given.value)
            if given.arg is not None:
                where = f"{name}(), argument {given.arg!r}"
                args[given.arg] = clean(value, self._places, where)
        place = len(self.steps)
        self.steps.append(Step(name, args))
        self._places[place] = place
        self._results[id(node)] = f"<node-{place}>"
        return self._results[id(node)]

    def _make_calls(self, node: ast.expr) -> None:
        """Make the calls within another expression, the inner ones first."""
        calls = [n for n in ast.walk(node) if isinstance(n, ast.Call) and n is not node]
        for call in sorted(calls, key=lambda n: (n.end_lineno or 0, n.end_col_offset or 0)):
            if isinstance(call.func, ast.Name) and call.func.id not in self._no_tools:
                self._call(call, call.func.id)


def _is_reference(value: JsonValue) -> bool:
    return isinstance(value, str) and REFERENCE.fullmatch(value) is not None


# --- writing ------------------------------------------------------------------------------------


def write(plan: Plan) -> str:
    """The plan as a program, one line for each step.

    Raises:
        PlanError: for a tool or an argument that is not a valid name in Python.
    """
    lines = []
    for place, step in enumerate(plan):
        for name in (step.name, *step.args):
            if not name.isidentifier() or keyword.iskeyword(name):
                raise PlanError(f"{name!r} is not a name in Python: choose task.form=json")
        args = ", ".join(f"{name}={_expression(value)}" for name, value in step.args.items())
        lines.append(f"output{place} = {step.name}({args})")
    return "\n".join(lines)


def _expression(value: JsonValue) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_expression, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{k!r}: {_expression(v)}' for k, v in value.items())}}}"
    if not isinstance(value, str) or not REFERENCE.search(value):
        return _quoted(value) if isinstance(value, str) else repr(value)
    if whole := REFERENCE.fullmatch(value):
        return _variable(whole, "'")
    text = _quoted(value.replace("{", "{{").replace("}", "}}"))
    other = "'" if text[0] == '"' else '"'
    return "f" + REFERENCE.sub(lambda found: f"{{{_variable(found, other)}}}", text)


def _variable(found: re.Match[str], quote: str) -> str:
    key = f"[{quote}{found['key']}{quote}]" if found["key"] else ""
    return f"output{int(found['id'])}{key}"


def _quoted(text: str) -> str:
    """The text as a literal, in double quotes if it contains none."""
    shown = repr(text)
    return shown if '"' in text or shown[0] == '"' else f'"{shown[1:-1]}"'


def form(tools: Collection[str]) -> Form:
    """The form, for these tools."""
    return Form("code", HOW_TO_WRITE, partial(read, tools=frozenset(tools)), write)
