"""Finds the functions, classes and imports that a piece of code needs from the rest of a reply.

Some replies give a helper in one fence and the function that calls it in the next.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Sequence

from dataenvgym.tasks.code.syntax import behind_future_imports, names_bound, names_read, parsed

_DEFINES = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom


def with_helpers(code: str, others: Sequence[str]) -> str:
    """The code, with the definitions that it lacks from the other pieces put before it.

    Its `__future__` imports stay first, as Python requires. If two pieces define a name, the later
    one is used. Only definitions are taken: no calls that show how to use them.
    """
    if (tree := parsed(code)) is None or not others:
        return code
    own = names_bound(tree)
    lacking = names_read(tree) - own - set(dir(builtins))
    if not lacking:
        return code
    nodes = [
        (node, lines)
        for piece in others
        if piece != code and (other := parsed(piece)) is not None
        for lines in [piece.split("\n")]
        for node in other.body
        if _is_definition(node)
    ]
    definers = {name: at for at, (node, _) in enumerate(nodes) for name in _names_of(node)}
    taken: set[int] = set()
    while lacking:
        found = {definers[name] for name in lacking if name in definers} - taken
        taken |= found
        read = set().union(*(names_read(nodes[at][0]) for at in found))
        lacking = read - own
    helpers = "".join(_source(*nodes[at]) for at in sorted(taken))
    return behind_future_imports(code, helpers)


def _is_definition(node: ast.stmt) -> bool:
    """Whether it defines something, or a constant, and does nothing else."""
    if isinstance(node, ast.Assign) or (isinstance(node, ast.AnnAssign) and node.value is not None):
        return not any(isinstance(inner, ast.Call) for inner in ast.walk(node))
    return isinstance(node, _DEFINES)


def _names_of(node: ast.stmt) -> set[str]:
    """The names that it defines for others."""
    if isinstance(node, ast.Assign | ast.AnnAssign | ast.Import | ast.ImportFrom):
        return names_bound(node)
    name = getattr(node, "name", None)
    return {name} if isinstance(name, str) else set()


def _source(node: ast.stmt, lines: list[str]) -> str:
    first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
    return "\n".join(lines[first - 1 : node.end_lineno]) + "\n"
