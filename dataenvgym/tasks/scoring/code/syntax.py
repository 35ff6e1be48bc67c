"""Python syntax trees, and the names in them."""

from __future__ import annotations

import ast
import builtins
import threading
from collections.abc import Callable, Sequence

_PARSING = threading.RLock()


def parse(code: str) -> ast.Module:
    """`ast.parse`, in one thread at a time.

    CPython counts the depth of a tree for all threads together, and raises SystemError at random
    where another one parses meanwhile (https://github.com/python/cpython/issues/106905).
    """
    with _PARSING:
        return ast.parse(code)  # noqa: TID251


def parse_expression(code: str) -> ast.Expression:
    """The same for an expression."""
    with _PARSING:
        return ast.parse(code, mode="eval")  # noqa: TID251


def parsed(code: str) -> ast.Module | None:
    """The code's syntax tree, or None if it is not Python."""
    try:
        return parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def tree_of(code: str) -> ast.Module:
    """The code's syntax tree, without statements if it is not Python."""
    return parsed(code) or ast.Module(body=[], type_ignores=[])


def names_read(tree: ast.AST) -> set[str]:
    """The names that code reads."""
    return {
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }


def names_bound(tree: ast.AST) -> set[str]:
    """The names that code binds, in any way and at any place."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, ast.alias):
            found.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            found.add(node.name)
    return found


def behind_future_imports(code: str, text: str) -> str:
    """The code with the text inserted behind its `__future__` imports, which must come first."""
    at = 0
    for node in tree_of(code).body:
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            at = node.end_lineno or at
    lines = code.split("\n")
    return "\n".join([*lines[:at], *([text.removesuffix("\n")] if text else []), *lines[at:]])


_NAMED = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_DEFINES = _NAMED | ast.Import | ast.ImportFrom


def with_helpers(
    code: str, others: Sequence[str], parse: Callable[[str], ast.Module | None] = parsed
) -> str:
    """The code, with the definitions that it lacks from the other pieces put before it.

    Its `__future__` imports stay first, as Python requires. If two pieces define a name, the later
    one is used. Only definitions are taken: no calls that show how to use them.

    Args:
        parse: the syntax tree of a piece; None if it is not Python.
    """
    if (tree := parse(code)) is None or not others:
        return code
    own = names_bound(tree)
    lacking = names_read(tree) - own - set(dir(builtins))
    if not lacking:
        return code
    definitions: list[tuple[ast.stmt, str]] = []
    definers: dict[str, int] = {}  # the place of the definition of each name
    for piece in others:
        lines = piece.split("\n")
        tree = parse(piece) if piece != code else None
        for node in tree.body if tree is not None else []:
            if not _is_definition(node):
                continue
            first = node.lineno
            if isinstance(node, _NAMED):
                first = min([first, *(decorator.lineno for decorator in node.decorator_list)])
            names = {node.name} if isinstance(node, _NAMED) else names_bound(node)
            definers |= dict.fromkeys(names, len(definitions))
            definitions.append((node, "\n".join(lines[first - 1 : node.end_lineno]) + "\n"))
    taken: set[int] = set()
    while lacking:
        found = {definers[name] for name in lacking if name in definers} - taken
        taken |= found
        read = set().union(*(names_read(definitions[at][0]) for at in found))
        lacking = read - own
    helpers = "".join(definitions[at][1] for at in sorted(taken))
    return behind_future_imports(code, helpers)


def _is_definition(node: ast.stmt) -> bool:
    """Whether it defines something, or a constant, and does nothing else."""
    if isinstance(node, ast.Assign) or (isinstance(node, ast.AnnAssign) and node.value is not None):
        return not any(isinstance(inner, ast.Call) for inner in ast.walk(node))
    return isinstance(node, _DEFINES)
