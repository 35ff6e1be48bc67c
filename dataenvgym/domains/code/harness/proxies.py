"""The names that a test can use: those of the preamble, and proxies of the student's functions."""

from __future__ import annotations

import _ast as ast  # importing `ast` takes longer than all of our modules
import builtins
import importlib
import reprlib
import sys
from collections.abc import Iterator
from typing import Any

from dataenvgym.domains.code.harness import in_place
from dataenvgym.domains.code.harness.link import Candidate, GoneError, UnfitError

_LONGEST = 300  # characters of a value that a message shows
_SHORT = reprlib.Repr()
_SHORT.maxlevel = 8
_SHORT.maxlist = _SHORT.maxtuple = _SHORT.maxdict = _SHORT.maxset = 50
_SHORT.maxstring = _SHORT.maxlong = _SHORT.maxother = _LONGEST


class Proxies:
    """Makes functions that ask the candidate.

    Attributes:
        last_call: the last call and its answer, for messages.
        got_no_data: whether any result was not plain data.
    """

    def __init__(self, candidate: Candidate):
        self._candidate = candidate
        self.last_call = ""
        self.got_no_data = False

    def namespace(self, code: str, kind: str, preamble: str, entry_point: str) -> dict[str, Any]:
        """The names for a test: the preamble's, and a proxy for each name that is missing.

        A missing name becomes a module of the standard library if it is one and is used like one.

        Raises:
            UnfitError: if the test is not valid Python.
            Exception: if the preamble raises it.
        """
        namespace: dict[str, Any] = {"__name__": "__main__"}
        exec(compile(preamble, "<preamble>", "exec", dont_inherit=True), namespace)
        missing, modules = _missing_names(code, kind)
        for name in missing - namespace.keys():
            is_module = name in modules and name in sys.stdlib_module_names
            namespace[name] = importlib.import_module(name) if is_module else self._proxy(name)
        if entry_point:
            namespace[entry_point] = self._proxy(entry_point)
        return namespace

    def _proxy(self, name: str) -> Any:
        """A function that calls the student's function of that name."""

        def call(*args: Any, **kwargs: Any) -> Any:
            shown = [*map(_short, args), *(f"{k}={_short(v)}" for k, v in kwargs.items())]
            self.last_call = f"{name}({', '.join(shown)})"
            answer = self._candidate.call(name, list(args), kwargs)
            sys.stdout.write(answer.printed)
            try:
                if answer.changed:
                    in_place.put_back([list(args), kwargs], answer.changed)
            except Exception:  # the changes do not fit these arguments
                raise self._candidate.troubled(GoneError("it sent no answer")) from None
            if answer.no_data is not None:
                self.got_no_data = True
                raise TypeError(f"it returned {answer.no_data}")
            if answer.raised is not None:
                self.last_call += f" raised {answer.raised.in_words()}"
                raise answer.raised.again()
            self.last_call += f" gave {_short(answer.value)}"
            return answer.value

        call.__name__ = call.__qualname__ = name
        return call


def _missing_names(code: str, kind: str) -> tuple[set[str], set[str]]:
    """Names that the code reads but never binds, and those with an attribute, as modules have.

    Raises:
        UnfitError: if it does not parse.
    """
    try:
        if kind == "doctest":
            from dataenvgym.domains.code.harness.doctests import source_of

            code = source_of(code)
        tree = compile(code, "<tests>", "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
        nodes = list(_nodes_of(tree))
    except (SyntaxError, ValueError) as error:
        raise UnfitError(f"it is not Python: {error}") from None
    names = [node for node in nodes if isinstance(node, ast.Name)]
    bound = {n.id for n in names if not isinstance(n.ctx, ast.Load)} | set(dir(builtins))
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            bound.add(node.name)
        elif isinstance(node, ast.alias):
            bound.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            bound.add(node.name)
    attributes = [n.value for n in nodes if isinstance(n, ast.Attribute)]
    owners = {value.id for value in attributes if isinstance(value, ast.Name)}
    return {node.id for node in names} - bound, owners


def _nodes_of(tree: ast.AST) -> Iterator[ast.AST]:
    left: list[Any] = [tree]
    while left:
        node = left.pop()
        if isinstance(node, list):
            left += node
        elif isinstance(node, ast.AST):
            yield node
            left += [getattr(node, name, None) for name in node._fields]


def _short(value: Any) -> str:
    try:
        text = _SHORT.repr(value)
    except ValueError:  # a number with more digits than Python prints
        return "..."
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
